package notifications

import (
	"ledge/domain"
)

// channelShape shows host and port of every channel, as EdgeX does even for e-mail, and the rest where it is used.
type channelShape struct {
	Type           string   `json:"type"`
	Scheme         string   `json:"scheme,omitempty"`
	Host           string   `json:"host"`
	Port           int      `json:"port"`
	Path           string   `json:"path,omitempty"`
	HTTPMethod     string   `json:"httpMethod,omitempty"`
	Topic          string   `json:"topic,omitempty"`
	Publisher      string   `json:"publisher,omitempty"`
	QoS            int      `json:"qos,omitempty"`
	KeepAlive      int      `json:"keepAlive,omitempty"`
	Retained       bool     `json:"retained,omitempty"`
	AutoReconnect  bool     `json:"autoReconnect,omitempty"`
	ConnectTimeout int      `json:"connectTimeout,omitempty"`
	Recipients     []string `json:"recipients,omitempty"`
	SecretPath     string   `json:"secretPath,omitempty"`
	AuthMode       string   `json:"authMode,omitempty"`
	SkipCertVerify bool     `json:"skipCertVerify,omitempty"`
	Allow          []string `json:"allow,omitempty"`
	ClientKeys     []string `json:"clientKeys,omitempty"`
	// ServerKey is in answers only. A request may have it, so that what was read can be sent back.
	ServerKey string `json:"serverKey,omitempty"`
}

func (s channelShape) channel() domain.Channel {
	return domain.Channel{
		Type: s.Type, Scheme: s.Scheme, Host: s.Host, Port: s.Port, Path: s.Path, HTTPMethod: s.HTTPMethod, Topic: s.Topic, Publisher: s.Publisher,
		QoS: s.QoS, KeepAlive: s.KeepAlive, Retained: s.Retained, AutoReconnect: s.AutoReconnect, ConnectTimeout: s.ConnectTimeout,
		Recipients: s.Recipients, SecretPath: s.SecretPath, AuthMode: s.AuthMode, SkipCertVerify: s.SkipCertVerify,
		Allow: s.Allow, ClientKeys: s.ClientKeys,
	}
}

func shapeChannel(c domain.Channel) channelShape {
	return channelShape{
		Type: c.Type, Scheme: c.Scheme, Host: c.Host, Port: c.Port, Path: c.Path, HTTPMethod: c.HTTPMethod, Topic: c.Topic, Publisher: c.Publisher,
		QoS: c.QoS, KeepAlive: c.KeepAlive, Retained: c.Retained, AutoReconnect: c.AutoReconnect, ConnectTimeout: c.ConnectTimeout,
		Recipients: c.Recipients, SecretPath: c.SecretPath, AuthMode: c.AuthMode, SkipCertVerify: c.SkipCertVerify,
		Allow: c.Allow, ClientKeys: c.ClientKeys,
	}
}

// channels keeps the difference between none given and an empty list, which matters to a patch.
func channels(shapes []channelShape) []domain.Channel {
	if shapes == nil {
		return nil
	}
	list := make([]domain.Channel, len(shapes))
	for i, s := range shapes {
		list[i] = s.channel().Trim()
	}
	return list
}

// shapeChannels adds the server's key of CURVE where subscribers need it.
func shapeChannels(list []domain.Channel, serverKey string) []channelShape {
	shapes := make([]channelShape, len(list))
	for i, c := range list {
		if shapes[i] = shapeChannel(c); len(c.ClientKeys) > 0 {
			shapes[i].ServerKey = serverKey
		}
	}
	return shapes
}

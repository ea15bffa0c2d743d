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
}

// channels keeps the difference between none given and an empty list, which matters to a patch.
func channels(shapes []channelShape) []domain.Channel {
	if shapes == nil {
		return nil
	}
	list := make([]domain.Channel, len(shapes))
	for i, s := range shapes {
		list[i] = domain.Channel(s).Trim()
	}
	return list
}

func shapeChannels(list []domain.Channel) []channelShape {
	shapes := make([]channelShape, len(list))
	for i, c := range list {
		shapes[i] = channelShape(c)
	}
	return shapes
}

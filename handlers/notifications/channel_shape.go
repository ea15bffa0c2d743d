package notifications

import "ledge/domain"

// channelShape is a channel in requests and answers.
type channelShape struct {
	ChannelFields
	// ServerKey is in answers only. A request may have it, so that what was read can be sent back.
	ServerKey string `json:"serverKey,omitempty"`
}

// ChannelFields are those of a [domain.Channel], of which it is a conversion. It shows host and port of every channel, as EdgeX does even for
// e-mail, and the rest where it is used.
type ChannelFields struct {
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
}

// channels keeps the difference between none given and an empty list, which matters to a patch.
func channels(shapes []channelShape) []domain.Channel {
	if shapes == nil {
		return nil
	}
	list := make([]domain.Channel, len(shapes))
	for i, s := range shapes {
		list[i] = domain.Channel(s.ChannelFields).Trim()
	}
	return list
}

// shapeChannels adds the server's key of CURVE where subscribers need it.
func shapeChannels(list []domain.Channel, serverKey string) []channelShape {
	shapes := make([]channelShape, len(list))
	for i, c := range list {
		if shapes[i].ChannelFields = ChannelFields(c); len(c.ClientKeys) > 0 {
			shapes[i].ServerKey = serverKey
		}
	}
	return shapes
}

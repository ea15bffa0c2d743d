package domain

import (
	"reflect"
	"slices"
	"strings"
)

// ChannelKind is one row of the table of channel kinds. The checks, the forms, the metrics and the tests of the documents read the table. The
// sender of a kind is a row of cmd/internal/channels/kinds.go.
type ChannelKind struct {
	Type string
	// Fields are the JSON names of the fields that the kind uses beside type. Channel.Trim drops the others.
	Fields []string
	// Schemes are those that Scheme may have, the default first; none if the kind has no Scheme.
	Schemes []string

	check func(Channel, *Problems)
	// where is what the name of a target has behind its endpoint; nil for nothing.
	where func(Channel) string
}

var channelKinds = []ChannelKind{
	{
		Type: ChannelREST, Fields: []string{"scheme", "host", "port", "path", "httpMethod"}, Schemes: []string{"http", "https"},
		check: Channel.checkREST, where: func(c Channel) string { return strings.TrimPrefix(c.Path, "/") },
	},
	{
		Type: ChannelEmail, Fields: []string{"recipients"},
		check: Channel.checkEmail, where: func(c Channel) string { return strings.Join(c.Recipients[:min(len(c.Recipients), 1)], "") },
	},
	{
		Type: ChannelMQTT, Fields: []string{
			"scheme", "host", "port", "topic", "publisher", "qos", "keepAlive", "retained", "autoReconnect", "connectTimeout", "secretPath", "authMode", "skipCertVerify",
		}, Schemes: []string{"tcp", "mqtt", "ssl", "tls", "mqtts"},
		check: Channel.checkMQTT, where: func(c Channel) string { return c.Topic },
	},
	{
		Type: ChannelZeroMQ, Fields: []string{"host", "port", "topic", "publisher", "allow", "clientKeys"},
		check: Channel.checkZeroMQ,
	},
}

// ChannelKinds returns the table of channel kinds.
func ChannelKinds() []ChannelKind { return slices.Clone(channelKinds) }

// ChannelTypes returns the types of channels.
func ChannelTypes() (types []string) {
	for _, k := range channelKinds {
		types = append(types, k.Type)
	}
	return types
}

// Kind returns the row of the channel's type; ok is false for an unknown type.
func (c Channel) Kind() (k ChannelKind, ok bool) {
	i := slices.IndexFunc(channelKinds, func(k ChannelKind) bool { return k.Type == c.Type })
	if i < 0 {
		return k, false
	}
	return channelKinds[i], true
}

// Trim returns c without what its Type does not use: EdgeX drops that too. A channel of an unknown type stays as it is, so that the refusal
// names it.
func (c Channel) Trim() Channel {
	k, ok := c.Kind()
	if !ok {
		return c
	}
	v := reflect.ValueOf(&c).Elem()
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if name != "type" && !slices.Contains(k.Fields, name) {
			v.Field(i).SetZero()
		}
	}
	return c
}

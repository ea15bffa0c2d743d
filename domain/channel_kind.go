package domain

import (
	"cmp"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// ChannelKind is one row of the table of channel kinds. Each kind is a file of this package that adds its row. The checks, the forms, the
// metrics and the tests of the documents read the table. The sender of a kind is a row of cmd/internal/channels/kinds.go.
type ChannelKind struct {
	Type string
	// Place is the position of the kind in lists for people: 1 is first.
	Place int
	// Fields are the fields that the kind uses beside type, in the order of its form. Channel.Trim clears the others.
	Fields []ChannelField
	// UsesSecret says that a channel may log in with a secret.
	UsesSecret bool
	// Binds says that Host and Port are those of a socket that Ledge binds. Other kinds connect to them.
	Binds bool

	// check notes the problems of all fields but Scheme.
	check func(Channel, *Problems)
	// secure are the Schemes with TLS.
	secure []string
	// path returns the part of a target's name behind the endpoint; nil: there is none.
	path func(Channel) string
	// personal says that path is the address of a person.
	personal bool
}

// ChannelField is a field of a kind of channel, and describes its input in a form.
type ChannelField struct {
	// Name is the JSON name of a field of Channel.
	Name string
	// Label and Hint are for people. A form keeps a field without a label and does not show it.
	Label, Hint string
	// Default is the text in the form of a new channel.
	Default string
	// Choices are the values to choose from; none for any value.
	Choices  []string
	Required bool
	// Advanced says that the form shows the field on demand.
	Advanced bool
}

// channelKinds is the table, in the order of the places.
var channelKinds []ChannelKind

func addChannelKind(k ChannelKind) {
	channelKinds = append(channelKinds, k)
	slices.SortFunc(channelKinds, func(a, b ChannelKind) int { return cmp.Compare(a.Place, b.Place) })
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

// Layout returns the types that rows of state may have. See schema.go of projections/fold.
func (Channel) Layout() string { return strings.Join(ChannelTypes(), " ") }

// ChannelKindOf returns the row of a type; ok is false for an unknown type.
func ChannelKindOf(channelType string) (k ChannelKind, ok bool) {
	i := slices.IndexFunc(channelKinds, func(k ChannelKind) bool { return k.Type == channelType })
	if i < 0 {
		return k, false
	}
	return channelKinds[i], true
}

// Kind returns the row of the channel's type; ok is false for an unknown type.
func (c Channel) Kind() (k ChannelKind, ok bool) { return ChannelKindOf(c.Type) }

// Field returns the field of a JSON name; ok is false if the kind does not use it.
func (k ChannelKind) Field(name string) (f ChannelField, ok bool) {
	i := slices.IndexFunc(k.Fields, func(f ChannelField) bool { return f.Name == name })
	if i < 0 {
		return f, false
	}
	return k.Fields[i], true
}

// Trim returns c without the fields that its Type does not use, which EdgeX drops too, and with the scheme of its host in Scheme. A channel
// of an unknown type stays as it is, so that the refusal names it.
func (c Channel) Trim() Channel {
	k, ok := c.Kind()
	if !ok {
		return c
	}
	trimmed := Channel{Type: c.Type}
	for _, f := range k.Fields {
		trimmed.field(f.Name).Set(c.field(f.Name))
	}
	return trimmed.splitHost(k)
}

// splitHost returns c with the parts of a host such as http://till or http://till:8080/in in Scheme, Host, Port and Path. EdgeX 2.3 accepts
// such a host, and delivers nothing to it. If a part contradicts its field, or the kind has no such field, the host stays as it is.
func (c Channel) splitHost(k ChannelKind) Channel {
	f, _ := k.Field("scheme")
	u, err := url.Parse(c.Host)
	if err != nil || !slices.Contains(f.Choices, u.Scheme) || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return c
	}
	split := c
	split.Scheme, split.Host = u.Scheme, u.Hostname()
	if text := u.Port(); text != "" {
		split.Port, _ = strconv.Atoi(text) // if it is too large, check refuses it
	}
	if path := u.RequestURI(); path != "/" {
		split.Path = path
	}
	_, hasPath := k.Field("path")
	if c.Scheme != "" && c.Scheme != split.Scheme || c.Port != 0 && c.Port != split.Port ||
		c.Path != split.Path && (c.Path != "" || !hasPath) {
		return c
	}
	return split
}

// field returns the field of a JSON name, which must exist.
func (c *Channel) field(name string) reflect.Value {
	f, _ := fieldOf(reflect.TypeFor[Channel](), name)
	return reflect.ValueOf(c).Elem().FieldByIndex(f.Index)
}

// Value returns the value of the field of a JSON name, which must exist: a string, an int, a bool or a []string.
func (c Channel) Value(name string) any { return c.field(name).Interface() }

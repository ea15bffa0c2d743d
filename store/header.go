package store

import (
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
)

// Header has the headers of a stored message, each name once. It is a slice because a search through a dozen fields is faster
// than building a map for each event that is read.
type Header []Field

// Field is one header.
type Field struct{ Name, Value string }

// Get returns a header's value, or "" where it is missing.
func (h Header) Get(name string) string {
	for i := range h {
		if h[i].Name == name {
			return h[i].Value
		}
	}
	return ""
}

func (h Header) has(name string) bool {
	return slices.ContainsFunc(h, func(f Field) bool { return f.Name == name })
}

// set adds a field that has a value.
func (h *Header) set(name, value string) {
	if value != "" {
		*h = append(*h, Field{name, value})
	}
}

// remove takes a field out.
func (h *Header) remove(name string) {
	*h = slices.DeleteFunc(*h, func(f Field) bool { return f.Name == name })
}

// extensions returns the CloudEvents extension attributes, by name.
func (h Header) extensions() []Field {
	var list []Field
	for _, f := range h {
		if isExtension(f.Name) {
			list = append(list, f)
		}
	}
	slices.SortFunc(list, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// letter is a message to publish one event after another in: the client encodes it before it returns.
type letter struct {
	nats.Msg
	values []string
}

// of returns the message; it holds until the next call.
func (l *letter) of(subject string, h Header, data []byte) *nats.Msg {
	if l.Header == nil {
		l.Header = nats.Header{}
	}
	clear(l.Header)
	l.values = l.values[:0]
	for i, f := range h {
		l.values = append(l.values, f.Value)
		l.Header[f.Name] = l.values[i : i+1 : i+1]
	}
	l.Subject, l.Reply, l.Data = subject, "", data
	return &l.Msg
}

// serversOwn begins the names of the headers that are the server's.
const serversOwn = "Nats-"

// sort puts the fields in the order of their names, which is that of a stored message.
func (h Header) sort() {
	slices.SortFunc(h, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
}

package store

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"ledge/domain"
)

// The headers of a stored event: CloudEvents 1.0 in binary mode, and Ledge's own.
const (
	attributePrefix   = "ce-"
	headerSpec        = "ce-specversion"
	headerID          = "ce-id"
	headerType        = "ce-type"
	headerSource      = "ce-source"
	headerTime        = "ce-time"
	headerSubject     = "ce-subject"
	headerContentType = "content-type"
	headerActor       = "Ledge-Actor"
	headerOrigin      = "Ledge-Origin"
	headerCorrelation = "Ledge-Correlation-Id"
	headerChain       = "Ledge-Chain"
	// headerKey is an extension attribute, and so in the chain as it was laid out before there were keys.
	headerKey = attributePrefix + "idempotency"

	specVersion = "1.0"
	source      = "ledge"
)

func isExtension(name string) bool {
	if !strings.HasPrefix(name, attributePrefix) {
		return false
	}
	switch name {
	case headerSpec, headerID, headerType, headerSource, headerTime, headerSubject:
		return false
	}
	return true
}

// eventHeader returns the headers of an event, all but its chain. Every value passes through escape, so that none can
// begin a header of its own.
func eventHeader(st domain.Stamp, w domain.Wire) (Header, error) {
	const usual = 12 // these, the chain and the fence
	h := make(Header, 0, usual)
	h.set(headerSpec, specVersion)
	h.set(headerID, escape(st.EventID, false))
	h.set(headerType, escape(w.Type, false))
	h.set(headerSource, source)
	h.set(headerTime, st.At.UTC().Format(time.RFC3339Nano))
	h.set(headerSubject, strings.Join(w.Subject, "/"))
	h.set(headerContentType, escape(w.ContentType, true))
	h.set(headerActor, escape(st.Actor, false))
	h.set(headerOrigin, escape(st.Origin, false))
	h.set(headerCorrelation, escape(st.CorrelationID, false))
	if st.Key != nil {
		h.set(headerKey, escape(st.Key.String(), false))
	}
	for name, value := range w.Ext {
		if !isAttribute(name) || !isExtension(attributePrefix+name) || attributePrefix+name == headerKey {
			return nil, fmt.Errorf("event type %s: extension attribute %q: lower-case letters and digits only, and none of CloudEvents' own or the stamp's", w.Type, name)
		}
		h.set(attributePrefix+name, escape(value, false))
	}
	for _, f := range h {
		if len(f.Value) > domain.MaxHeader {
			return nil, domain.Errorf(domain.TooLarge, "%s: %d bytes in a header are over the limit of %d", f.Name, len(f.Value), domain.MaxHeader)
		}
	}
	return h, nil
}

func isAttribute(name string) bool {
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// escape percent-encodes what the CloudEvents HTTP and NATS bindings want encoded in a header: everything but
// printable ASCII, the space, the double quote and the percent sign. A media type keeps its inner spaces and quotes.
func escape(s string, mediaType bool) string {
	plain := func(i int) bool {
		c := s[i]
		inner := mediaType && i > 0 && i < len(s)-1
		return domain.IsHeaderByte(c) || inner && (c == ' ' || c == '"')
	}
	n := 0
	for i := range len(s) {
		if !plain(i) {
			n++
		}
	}
	if n == 0 {
		return s
	}
	const digits = "0123456789ABCDEF"
	b := make([]byte, 0, len(s)+2*n)
	for i := range len(s) {
		if c := s[i]; plain(i) {
			b = append(b, c)
		} else {
			b = append(b, '%', digits[c>>4], digits[c&15])
		}
	}
	return string(b)
}

// unescape is the inverse of escape.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := hex.DecodeString(s[i+1 : i+3]); err == nil {
				b = append(b, c[0])
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

// stampOf reads the Stamp back from the headers.
func stampOf(h Header) (domain.Stamp, error) {
	at, err := time.Parse(time.RFC3339Nano, h.Get(headerTime))
	if err != nil {
		return domain.Stamp{}, fmt.Errorf("header %s: %w", headerTime, err)
	}
	st := domain.Stamp{
		EventID: unescape(h.Get(headerID)), At: at.UTC(), Actor: unescape(h.Get(headerActor)),
		Origin: unescape(h.Get(headerOrigin)), CorrelationID: unescape(h.Get(headerCorrelation)),
	}
	if text := h.Get(headerKey); text != "" {
		key, err := domain.ParseKey(unescape(text))
		if err != nil {
			return domain.Stamp{}, fmt.Errorf("header %s: %w", headerKey, err)
		}
		st.Key = &key
	}
	return st, nil
}

// wireOf reads the Wire back from the headers and the payload.
func wireOf(h Header, data []byte) domain.Wire {
	w := domain.Wire{Type: unescape(h.Get(headerType)), ContentType: unescape(h.Get(headerContentType)), Data: data}
	if s := h.Get(headerSubject); s != "" {
		w.Subject = strings.Split(s, "/")
	}
	for _, f := range h {
		if isExtension(f.Name) && f.Name != headerKey {
			if w.Ext == nil {
				w.Ext = map[string]string{}
			}
			w.Ext[f.Name[len(attributePrefix):]] = unescape(f.Value)
		}
	}
	return w
}

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

// serversOwn begins the names of the headers that are the server's.
const serversOwn = "Nats-"

// sort puts the fields in the order of their names, which is that of a stored message.
func (h Header) sort() {
	slices.SortFunc(h, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
}

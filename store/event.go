package store

import (
	"fmt"
	"strings"
	"time"

	"ledge/domain"

	"github.com/nats-io/nats.go"
)

// Message is an event as the stream stores it.
type Message struct {
	Seq uint64
	// At is when the server stored it.
	At      time.Time
	Subject string
	Header  Header
	Data    []byte
}

// Stamp returns when, by whom and as part of what the event was recorded; zeros where the message does not say.
func (m Message) Stamp() domain.Stamp {
	st, _ := stampOf(m.Header)
	return st
}

// Wire returns the event in the form in which domain.Decode takes it.
func (m Message) Wire() domain.Wire { return wireOf(m.Header, m.Data) }

// entry is one event of a group that is being appended.
type entry struct {
	domain.Recorded
	subject string // what it is about, as the last tokens of its public subject
	header  Header
	data    []byte
	size    int // of the message, in bytes
	effort  int // to decide on it, in bytes that had to be looked at; at least size
}

// isToken reports whether s can be one token of a subject.
func isToken(s string) bool {
	for _, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && strings.IndexByte("-_~:;=", c) < 0 {
			return false
		}
	}
	return s != ""
}

// entry encodes an event as the successor of prev.
func (s *stream) entry(st domain.Stamp, e domain.Event, seq uint64, prev Chain) (entry, error) {
	effort, _ := e.(interface{ Effort() int })
	w, e, err := domain.Record(e)
	if err != nil {
		return entry{}, err
	}
	sealed, err := s.seal(st, e, w, seq, prev)
	if sealed.effort = sealed.size; effort != nil {
		sealed.effort = max(sealed.size, effort.Effort())
	}
	return sealed, err
}

// seal makes the message of an event that is encoded as w.
func (s *stream) seal(st domain.Stamp, e domain.Event, w domain.Wire, seq uint64, prev Chain) (entry, error) {
	if len(w.Subject) == 0 {
		return entry{}, fmt.Errorf("event type %s has no subject", w.Type)
	}
	for _, t := range w.Subject {
		if !isToken(t) {
			return entry{}, domain.Errorf(domain.Invalid, "%.80q cannot be a part of a subject: use one or more of a-z A-Z 0-9 - _ ~ : ; =", t)
		}
	}
	st.At, st.By = st.At.UTC().Round(0), nil // as it will be read back
	h, err := eventHeader(st, w)
	if err != nil {
		return entry{}, err
	}
	chain, short := NextChain(prev, seq, h, w.Data), false
	if s.forever {
		h, short = shortHeader(h)
	}
	h.set(headerChain, chainText(chain, short))
	size := sizeOfMessage(s.ingest+storedToken, h, w.Data)
	if size > maxPayload {
		return entry{}, domain.Errorf(domain.TooLarge, "event of %d bytes: a message on the log holds %d at most", size, maxPayload)
	}
	recorded := domain.Recorded{Stamp: st, Seq: seq, Chain: chain, Event: e}
	return entry{Recorded: recorded, subject: strings.Join(w.Subject, "."), header: h, data: w.Data, size: size}, nil
}

// sizeOfMessage is what Size of nats.Msg says, without encoding the header for it.
func sizeOfMessage(subject string, h Header, data []byte) int {
	const line, end = len("NATS/1.0\r\n"), len("\r\n")
	n := len(subject) + len(data) + line + end
	for _, f := range h {
		n += len(f.Name) + len(": \r\n") + len(f.Value)
	}
	return n
}

// MessageBuffer is a message that is used for one event after another: the client encodes it before it returns.
type MessageBuffer struct {
	message nats.Msg
	values  []string
}

// Of returns the message; it holds until the next call.
func (b *MessageBuffer) Of(subject string, h Header, data []byte) *nats.Msg {
	if b.message.Header == nil {
		b.message.Header = nats.Header{}
	}
	clear(b.message.Header)
	b.values = b.values[:0]
	for i, f := range h {
		b.values = append(b.values, f.Value)
		b.message.Header[f.Name] = b.values[i : i+1 : i+1]
	}
	b.message.Subject, b.message.Reply, b.message.Data = subject, "", data
	return &b.message
}

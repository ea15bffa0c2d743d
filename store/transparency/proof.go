package transparency

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/tlog"

	"ledge/domain"
	"ledge/store"
)

const proofFormat = "ledge.proof/1"

// MostProven bounds the bytes of the events in one proof.
const MostProven = 64 << 20

// Proof proves that events, in a row, are on the log of a checkpoint. The chain binds each event to the one before it, so the inclusion of
// the last one proves all.
type Proof struct {
	Format string `json:"format"`
	Stream string `json:"stream"`
	// Before is the chain hash of the event before the first, in hex; zeros for event 1.
	Before string  `json:"before"`
	Events []Event `json:"events"`
	// Inclusion is the inclusion proof of the last event's leaf, of RFC 6962, from the leaf up.
	Inclusion tlog.RecordProof `json:"inclusion"`
	// Checkpoint is the signed checkpoint.
	Checkpoint string `json:"checkpoint"`
}

// Event is an event with all that its chain hash covers, and nothing else. Data is the payload if that is UTF-8, and otherwise Data64.
type Event struct {
	Seq     uint64            `json:"seq"`
	Headers map[string]string `json:"headers"`
	Data    string            `json:"data,omitempty"`
	Data64  []byte            `json:"data64,omitempty"`
}

func eventOf(m store.Message) Event {
	e := Event{Seq: m.Seq, Headers: map[string]string{}}
	for _, f := range m.Header.Chained() {
		e.Headers[f.Name] = f.Value
	}
	if utf8.Valid(m.Data) {
		e.Data = string(m.Data)
	} else {
		e.Data64 = m.Data
	}
	return e
}

// Message returns the event as the log has it, but for its time of storage, which is not proven.
func (e Event) Message() store.Message {
	subject := "ledge.event." + strings.ReplaceAll(e.Headers["ce-subject"], "/", ".")
	m := store.Message{Seq: e.Seq, Subject: subject, Data: e.Data64}
	if m.Data == nil {
		m.Data = []byte(e.Data)
	}
	for name, value := range e.Headers {
		m.Header = append(m.Header, store.Field{Name: name, Value: value})
	}
	return m
}

// Prove returns the proof that the events from one sequence to another, both included, are on the log of a signed checkpoint.
func (t *Tree) Prove(ctx context.Context, from, to uint64, checkpoint string) (*Proof, error) {
	c, err := ParseCheckpoint(checkpoint)
	if err != nil {
		return nil, err
	}
	if from == 0 || to < from || int64(to) > c.Size {
		return nil, domain.Errorf(domain.Invalid, "events %d to %d are not in the checkpoint, which has 1 to %d", from, to, c.Size)
	}
	p := &Proof{Format: proofFormat, Stream: t.log.Name(), Checkpoint: checkpoint}
	bytes := 0
	for e, err := range t.log.Linked(ctx, from, to) {
		if err != nil {
			return nil, err
		}
		if len(p.Events) == 0 {
			p.Before = hex.EncodeToString(e.Before[:])
		}
		if bytes += len(e.Data); bytes > MostProven {
			return nil, domain.Errorf(domain.TooLarge, "events %d to %d have more than %d bytes; export fewer events", from, to, MostProven)
		}
		p.Events = append(p.Events, eventOf(e.Message))
	}
	p.Inclusion, err = tlog.ProveRecord(c.Size, int64(to)-1, t.reader(ctx, c.Size))
	return p, err
}

// ReadProof reads a proof, which is not checked yet.
func ReadProof(text []byte) (*Proof, error) {
	p := &Proof{}
	if err := json.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("proof: it is not JSON of `ledge prove`: %w", err)
	}
	if p.Format != proofFormat {
		return nil, fmt.Errorf("proof: its format is %.80q, and this program reads %s", p.Format, proofFormat)
	}
	return p, nil
}

// ErrNotProven is in the chain of errors for a proof that does not hold.
var ErrNotProven = errors.New("not proven")

// Check checks a proof against the verifier key of its node, with nothing else. The error has ErrNotProven in its chain.
func (p *Proof) Check(verifierKey string) (Checkpoint, error) {
	c, err := OpenCheckpoint(p.Checkpoint, verifierKey)
	if err != nil {
		return c, fmt.Errorf("%w: %w", ErrNotProven, err)
	}
	text, err := hex.DecodeString(p.Before)
	if err != nil || len(text) != tlog.HashSize || len(p.Events) == 0 {
		return c, fmt.Errorf("%w: it has no event, or no chain hash before the first one", ErrNotProven)
	}
	chain, last := store.Chain(text), uint64(0)
	for _, e := range p.Events {
		m := e.Message()
		if len(m.Header.Chained()) < len(m.Header) {
			return c, fmt.Errorf("%w: event %d has headers that no chain hash covers", ErrNotProven, e.Seq)
		}
		chain, last = store.NextChain(chain, m.Seq, m.Header, m.Data), m.Seq // which the hash covers
	}
	if last == 0 || last > uint64(c.Size) {
		return c, fmt.Errorf("%w: event %d is not in the checkpoint, which has 1 to %d", ErrNotProven, last, c.Size)
	}
	if err := tlog.CheckRecord(p.Inclusion, c.Size, c.Root, int64(last)-1, tlog.RecordHash(chain[:])); err != nil {
		return c, fmt.Errorf("%w: event %d, or one before it, differs from the log of the checkpoint: %w", ErrNotProven, last, err)
	}
	return c, nil
}

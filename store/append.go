package store

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"ledge/domain"

	"github.com/nats-io/nats.go"
)

const (
	// groupEvents and groupBytes bound what is published before its one fsync, and so the bytes in flight.
	groupEvents = 1000
	groupBytes  = 8 << 20
	// recordOverhead is what the server writes around a message, at the least; a lower bound.
	recordOverhead = 30
)

const headerFence = "Nats-Expected-Last-Sequence"

// entry is one event of a run on its way to the log.
type entry struct {
	domain.Recorded
	message *nats.Msg
	size    int // bytes
}

var token = regexp.MustCompile(`^[a-zA-Z0-9\-_~:;=]+$`)

// entry encodes an event as the successor of prev.
func (l *Log) entry(st domain.Stamp, e domain.Event, seq uint64, prev Chain) (entry, error) {
	w, err := domain.Encode(e)
	if err != nil {
		return entry{}, err
	}
	if len(w.Subject) == 0 {
		return entry{}, fmt.Errorf("event type %s has no subject", w.Type)
	}
	for _, t := range w.Subject {
		if !token.MatchString(t) {
			return entry{}, domain.Errorf(domain.Invalid, "%q cannot be a part of a subject: use one or more of a-z A-Z 0-9 - _ ~ : ; =", t)
		}
	}
	st.At = st.At.UTC().Round(0) // as it will be read back
	h, err := eventHeader(st, w)
	if err != nil {
		return entry{}, err
	}
	chain := nextChain(prev, seq, h, w.Data)
	h[headerChain] = []string{hex.EncodeToString(chain[:])}
	m := &nats.Msg{Subject: l.ingest + strings.Join(w.Subject, "."), Header: h, Data: w.Data}
	size := m.Size()
	if size > maxPayload {
		return entry{}, domain.Errorf(domain.TooLarge, "event of %d bytes: a message on the log holds %d at most", size, maxPayload)
	}
	return entry{domain.Recorded{Stamp: st, Seq: seq, Chain: chain, Event: e}, m, size}, nil
}

// acks receives the server's acknowledgements of one log's publishes.
type acks struct {
	prefix string
	in     chan *nats.Msg
	run    uint64
}

func (l *Log) listen() error {
	l.acks = &acks{prefix: nats.NewInbox() + ".", in: make(chan *nats.Msg, 2*groupEvents)}
	_, err := l.store.node.write.ChanSubscribe(l.acks.prefix+"*.*", l.acks.in)
	return err
}

// publish sends the run, each event fenced by the sequence before it, and waits for every acknowledgement. One refusal
// refuses all after it, so what lands is a prefix of the run; which one, the log itself must say after an error.
func (l *Log) publish(run []entry) error {
	a := l.acks
	a.run++
	for i, e := range run {
		e.message.Header[headerFence] = []string{strconv.FormatUint(e.Seq-1, 10)}
		e.message.Reply = a.prefix + strconv.FormatUint(a.run, 10) + "." + strconv.Itoa(i)
		if err := l.store.node.write.PublishMsg(e.message); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
	}
	return l.await(run)
}

// errNoAck says that the server keeps silent about a publish: its way to report a failed write.
var errNoAck = errors.New("no acknowledgement from the log")

func (l *Log) await(run []entry) error {
	prefix := l.acks.prefix + strconv.FormatUint(l.acks.run, 10) + "."
	look := time.NewTicker(250 * time.Millisecond)
	defer look.Stop()
	deadline := time.Now().Add(l.store.o.AckTimeout)
	for left := len(run); left > 0; {
		select {
		case m := <-l.acks.in:
			at, ok := strings.CutPrefix(m.Subject, prefix)
			if !ok {
				continue // of an earlier run, which was given up
			}
			i, err := strconv.Atoi(at)
			if err != nil || i < 0 || i >= len(run) {
				continue
			}
			if err := l.acked(m, run[i].Seq); err != nil {
				return err
			}
			left--
			deadline = time.Now().Add(l.store.o.AckTimeout)
		case now := <-look.C:
			if err := l.store.node.health(); err != nil {
				return fmt.Errorf("%w: %w", errNoAck, err)
			}
			if now.After(deadline) {
				return fmt.Errorf("%w within %s", errNoAck, l.store.o.AckTimeout)
			}
		}
	}
	return nil
}

func (l *Log) acked(m *nats.Msg, seq uint64) error {
	if v := get(m.Header, "Status"); v == "503" {
		return fmt.Errorf("%w: no stream listens", errNoAck)
	}
	if string(m.Data) == `{"stream":"`+l.name+`", "seq":`+strconv.FormatUint(seq, 10)+`}` {
		return nil // as the server writes it; anything else is looked at
	}
	var r struct {
		Error *struct {
			Code        int    `json:"err_code"`
			Description string `json:"description"`
		} `json:"error"`
		Stream string `json:"stream"`
		Seq    uint64 `json:"seq"`
	}
	if err := json.Unmarshal(m.Data, &r); err != nil {
		return fmt.Errorf("acknowledgement: %w", err)
	}
	if r.Error != nil {
		return fmt.Errorf("append refused: %s (%d)", r.Error.Description, r.Error.Code)
	}
	if r.Seq != seq || r.Stream != l.name {
		return fmt.Errorf("appended as %s %d instead of %s %d", r.Stream, r.Seq, l.name, seq)
	}
	return nil
}

// append makes a run durable: publish, acknowledgements, one fsync. It returns what is recorded of it: all, or after an
// error those that the log holds, found by their ids. Sequences and chains of the run must continue the log.
func (l *Log) append(ctx context.Context, run []entry) ([]domain.Recorded, error) {
	s := l.store
	s.gate.RLock() // no restart meanwhile
	err := l.publish(run)
	if err == nil {
		err = l.syncGroup(run)
	}
	s.gate.RUnlock()
	if err == nil {
		recorded := make([]domain.Recorded, len(run))
		for i, e := range run {
			recorded[i] = e.Recorded
		}
		end := recorded[len(recorded)-1]
		l.setLast(end.Seq, end.Chain)
		l.failures = 0
		return recorded, nil
	}
	s.o.Logger.Warn("append failed", "stream", l.name, "from", run[0].Seq, "events", len(run), "error", err)
	recorded, rerr := l.recover(ctx, err)
	if rerr != nil {
		return recorded, fmt.Errorf("%w; then: %w", err, rerr)
	}
	return recorded, err
}

func (l *Log) syncGroup(run []entry) error {
	if l.store.syncAlways.Load() {
		return nil
	}
	var least int64
	for _, e := range run {
		least += int64(e.size + recordOverhead)
	}
	return l.blocks.sync(least)
}

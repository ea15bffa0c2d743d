package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"ledge/domain"
	"ledge/store/natsblock"

	"github.com/nats-io/nats.go"
)

const (
	// groupEvents and groupBytes bound what is published before its one fsync, and so the bytes in flight.
	groupEvents = 1000
	groupBytes  = 8 << 20
	// recordOverhead is what the server writes around a message, at the least; a lower bound.
	recordOverhead = 30
	// ackEvery is after how many events of a group the server is asked for an acknowledgement, and at the last: each costs
	// as much as a tenth of an append, and says no more than that the log goes on.
	ackEvery = 16
)

const headerFence = "Nats-Expected-Last-Sequence"

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
func (l *Log) entry(st domain.Stamp, e domain.Event, seq uint64, prev Chain) (entry, error) {
	effort, _ := e.(interface{ Effort() int })
	w, e, err := domain.Record(e)
	if err != nil {
		return entry{}, err
	}
	sealed, err := l.seal(st, e, w, seq, prev)
	if sealed.effort = sealed.size; effort != nil {
		sealed.effort = max(sealed.size, effort.Effort())
	}
	return sealed, err
}

// seal makes the message of an event that is encoded as w.
func (l *Log) seal(st domain.Stamp, e domain.Event, w domain.Wire, seq uint64, prev Chain) (entry, error) {
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
	chain, short := nextChain(prev, seq, h, w.Data), false
	if l.forever {
		h, short = shortHeader(h)
	}
	h.set(headerChain, chainText(chain, short))
	size := sizeOfMessage(l.ingest+storedToken, h, w.Data)
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

// acks receives the server's acknowledgements of one log's publishes.
type acks struct {
	prefix string
	in     chan *nats.Msg
	run    uint64
}

// reply is what the subjects of the current group's acknowledgements begin with; the place in the group follows.
func (a *acks) reply() string { return a.prefix + strconv.FormatUint(a.run, 10) + "." }

func (l *Log) listen() error {
	l.acks = &acks{prefix: nats.NewInbox() + ".", in: make(chan *nats.Msg, 2*groupEvents)}
	_, err := l.store.node.write.ChanSubscribe(l.acks.prefix+"*.*", l.acks.in)
	return err
}

// group is a run of events on its way to the log: begin, send each, then end. Each event is fenced by the sequence before
// it and published while the next one is decided, so that the server writes beside that. One refusal refuses all after it,
// so what lands is a prefix of the run, and the acknowledgement of the last event is that of all; which prefix, the log
// itself must say after an error.
type group struct {
	log *Log
	run []entry
	err error
}

// begin starts a group of up to so many events; JetStream is not restarted until its end.
func (l *Log) begin(events int) *group {
	l.store.appended.Store(time.Now().UnixNano())
	l.store.restartLock.RLock()
	l.acks.run++
	return &group{log: l, run: make([]entry, 0, events)}
}

// send takes the next event, and publishes the one before it. The sequence and the chain must continue the log.
func (g *group) send(e entry) {
	if n := len(g.run); n > 0 {
		g.publish(n%ackEvery == 0)
	}
	g.run = append(g.run, e)
}

// fence is the value of the fence header: the sequence before the event. That of the first event of a group begins with a
// zero, which means the same to the server. So a reader of the block files sees where a group begins, and that all before it
// was durable: a group is published only after the fsync of the one before.
func fence(before uint64, first bool) string {
	text := strconv.FormatUint(before, 10)
	if first {
		return "0" + text
	}
	return text
}

// publish publishes the event that was taken last.
func (g *group) publish(ack bool) {
	if g.err != nil {
		return
	}
	at := len(g.run) - 1
	e := &g.run[at]
	h := e.header
	h.set(headerFence, fence(e.Seq-1, at == 0))
	m := g.log.letter.of(g.log.ingest+storedToken, h, e.data)
	if ack {
		m.Reply = g.log.acks.reply() + strconv.Itoa(at)
	}
	if err := g.log.store.node.write.PublishMsg(m); err != nil {
		g.err = fmt.Errorf("publish: %w", err)
	}
}

// bytes is how much of the log the run takes.
func (g *group) bytes() (n int) {
	for i := range g.run {
		n += g.run[i].size
	}
	return n
}

// errNoAck says that the server keeps silent about a publish: its way to report a failed write.
var errNoAck = errors.New("no acknowledgement from the log")

// await returns when the last event of a run is acknowledged. A server that is silent may have failed, which its health
// tells, or only be slow: it is waited for, up to [mostAckWaits] times AckTimeout.
func (l *Log) await(run []entry) error {
	wait, prefix := l.store.o.AckTimeout, l.acks.reply()
	look := time.NewTicker(250 * time.Millisecond)
	defer look.Stop()
	heard, warned := time.Now(), false
	for {
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
			if err := l.acked(m, run[i].Seq); err != nil || i == len(run)-1 {
				return err
			}
			heard = time.Now()
		case now := <-look.C:
			silent := now.Sub(heard)
			switch err := l.store.node.health(); {
			case err != nil:
				return fmt.Errorf("%w: %w", errNoAck, err)
			case silent > mostAckWaits*wait:
				return fmt.Errorf("%w within %s", errNoAck, mostAckWaits*wait)
			case silent > wait && !warned:
				warned = true
				l.store.o.Logger.Warn("the log is slow: no acknowledgement yet; waiting for it", "stream", l.name, "from", run[0].Seq, "silent", silent)
			}
		}
	}
}

// mostAckWaits is how many times AckTimeout a server that seems healthy may keep silent.
const mostAckWaits = 12

func (l *Log) acked(m *nats.Msg, seq uint64) error {
	if v := get(m.Header, "Status"); v == "503" {
		return fmt.Errorf("%w: no stream listens", errNoAck)
	}
	if isAck(m.Data, l.name, seq) {
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

// isAck reports whether text is {"stream":"…","seq":…} with these values and nothing else.
func isAck(text []byte, stream string, seq uint64) bool {
	var room [128]byte
	want := append(append(append(room[:0], `{"stream":"`...), stream...), `","seq":`...)
	want = append(strconv.AppendUint(want, seq, 10), '}')
	return bytes.Equal(text, want)
}

// end makes the group durable: the last acknowledgement, one fsync. It returns what is recorded of it: all, or after an error
// those that the log holds, found by their ids.
func (g *group) end(ctx context.Context) ([]domain.Recorded, error) {
	l := g.log
	if len(g.run) == 0 {
		l.store.restartLock.RUnlock()
		return nil, nil
	}
	g.publish(true)
	err := g.err
	if err == nil {
		err = l.await(g.run)
	}
	block := l.blocks.LastBlock()
	if err == nil {
		err = l.syncGroup(g.run)
	}
	l.store.restartLock.RUnlock()
	if err == nil {
		recorded := make([]domain.Recorded, len(g.run))
		for i, e := range g.run {
			recorded[i] = e.Recorded
		}
		end := recorded[len(recorded)-1]
		l.setLast(end.Seq, end.Chain)
		l.failures = 0
		if l.blocks.LastBlock() != block {
			l.store.blockFilled()
		}
		return recorded, nil
	}
	l.store.o.Logger.Warn("append failed", "stream", l.name, "from", g.run[0].Seq, "events", len(g.run), "error", err)
	if l.final(err) {
		return nil, l.err()
	}
	recorded, rerr := l.recover(ctx, err)
	if rerr != nil {
		return recorded, fmt.Errorf("%w; then: %w", err, rerr)
	}
	return recorded, err
}

func (l *Log) syncGroup(run []entry) error {
	var least int64
	for _, e := range run {
		least += int64(e.size + recordOverhead)
	}
	began := time.Now()
	err := l.blocks.SyncGroup(least)
	l.observeSync(began)
	if err == nil || errors.Is(err, natsblock.ErrLayout) {
		return err
	}
	return &SyncError{l.name, err}
}

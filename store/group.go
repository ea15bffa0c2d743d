package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"ledge/domain"
	"ledge/store/natsblock"

	"github.com/nats-io/nats.go"
)

// writer publishes groups of events to the stream's server, and makes them durable. One group is under way at a time.
type writer struct {
	log      *Log
	message  MessageBuffer
	conn     *nats.Conn // of this log alone: another log's large message does not hold it up
	inbox    string     // what the subjects of acknowledgements begin with
	acks     chan *nats.Msg
	groups   uint64        // since the start; in the subjects of the current group's acknowledgements
	failures int           // groups in a row that failed
	refusals atomic.Uint64 // of requests, for want of disk space
}

// listen connects to the server, and subscribes to its acknowledgements.
func (w *writer) listen() (err error) {
	if w.conn, err = w.log.store.node.connect("append-" + w.log.name); err != nil {
		return err
	}
	w.inbox, w.acks = nats.NewInbox()+".", make(chan *nats.Msg, 2*groupEvents)
	_, err = w.conn.ChanSubscribe(w.inbox+"*.*", w.acks)
	return err
}

// reply is what the subjects of the current group's acknowledgements begin with; the place in the group follows.
func (w *writer) reply() string { return w.inbox + strconv.FormatUint(w.groups, 10) + "." }

// group is events on their way to the log: begin, send each, then end. Each event is fenced by the sequence before
// it and published while the next one is decided, so that the server writes beside that. One refusal refuses all after it,
// so what lands is a prefix of the group, and the acknowledgement of the last event is that of all; which prefix, the log
// itself must say after an error.
type group struct {
	*writer
	run []entry
	err error
}

// begin starts a group of up to so many events; JetStream is not restarted until its end.
func (w *writer) begin(events int) *group {
	w.log.store.appended.Store(new(time.Now()))
	w.log.store.restartLock.RLock()
	w.groups++
	return &group{writer: w, run: make([]entry, 0, events)}
}

// send takes the next event, and publishes the one before it. The sequence and the chain must continue the log.
func (g *group) send(e entry) {
	if n := len(g.run); n > 0 {
		g.publish(n%ackEvery == 0)
	}
	g.run = append(g.run, e)
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
	m := g.message.Of(g.log.ingest+storedToken, h, e.data)
	if ack {
		m.Reply = g.reply() + strconv.Itoa(at)
	}
	if err := g.conn.PublishMsg(m); err != nil {
		g.err = fmt.Errorf("publish: %w", err)
	}
}

// bytes is how much of the log the group takes.
func (g *group) bytes() (n int) {
	for i := range g.run {
		n += g.run[i].size
	}
	return n
}

// end makes the group durable: the last acknowledgement, one fsync. It returns what is recorded of it: all, or after an error
// what the log has behind its last known end. Some of that may be of an earlier group; [Appender.correct] compares ids.
func (g *group) end() ([]domain.Recorded, error) {
	l := g.log
	if len(g.run) == 0 {
		l.store.restartLock.RUnlock()
		return nil, nil
	}
	g.publish(true)
	err := g.err
	if err == nil {
		err = g.await()
	}
	block := l.blocks.LastBlock()
	if err == nil {
		err = g.sync()
	}
	filled := l.blocks.LastBlock() != block
	l.store.restartLock.RUnlock()
	if err == nil {
		recorded := make([]domain.Recorded, len(g.run))
		for i, e := range g.run {
			recorded[i] = e.Recorded
		}
		end := recorded[len(recorded)-1]
		l.setLast(end.Seq, end.Chain)
		g.failures = 0
		if filled {
			l.store.blockFilled()
		}
		return recorded, nil
	}
	l.store.o.Logger.Warn("append failed", "stream", l.name, "from", g.run[0].Seq, "events", len(g.run), "error", err)
	if l.final(err) {
		return nil, l.err()
	}
	recorded, rerr := g.reopen(err)
	if rerr != nil {
		return recorded, fmt.Errorf("%w; then: %w", err, rerr)
	}
	return recorded, err
}

// errNoAck says that the server keeps silent about a publish: its way to report a failed write.
var errNoAck = errors.New("no acknowledgement from the log")

// await returns when the group's last event is acknowledged. A server that is silent may have failed, which its health
// tells, or only be slow: it is waited for, up to [mostAckWaits] times AckTimeout.
func (g *group) await() error {
	l, wait, prefix := g.log, g.log.store.o.AckTimeout, g.reply()
	look := time.NewTicker(250 * time.Millisecond)
	defer look.Stop()
	heard, warned := time.Now(), false
	for {
		select {
		case m := <-g.acks:
			at, ok := strings.CutPrefix(m.Subject, prefix)
			if !ok {
				continue // of an earlier group, which was given up
			}
			i, err := strconv.Atoi(at)
			if err != nil || i < 0 || i >= len(g.run) {
				continue
			}
			if err := acked(m, l.name, g.run[i].Seq); err != nil || i == len(g.run)-1 {
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
				l.store.o.Logger.Warn("the log is slow: no acknowledgement yet; waiting for it", "stream", l.name, "from", g.run[0].Seq, "silent", silent)
			}
		}
	}
}

// acked returns nil if a message acknowledges the event at a sequence of a stream.
func acked(m *nats.Msg, stream string, seq uint64) error {
	if v := m.Header.Get("Status"); v == "503" {
		return fmt.Errorf("%w: no stream listens", errNoAck)
	}
	if isAck(m.Data, stream, seq) {
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
	if r.Seq != seq || r.Stream != stream {
		return fmt.Errorf("appended as %s %d instead of %s %d", r.Stream, r.Seq, stream, seq)
	}
	return nil
}

// isAck reports whether text is {"stream":"…","seq":…} with these values and nothing else.
func isAck(text []byte, stream string, seq uint64) bool {
	var array [128]byte
	want := append(append(append(array[:0], `{"stream":"`...), stream...), `","seq":`...)
	want = append(strconv.AppendUint(want, seq, 10), '}')
	return bytes.Equal(text, want)
}

// sync has the group on the disk, with one fsync.
func (g *group) sync() error {
	least := g.bytes() + len(g.run)*natsblock.Overhead
	began := time.Now()
	err := g.log.blocks.SyncGroup(int64(least))
	if o := g.log.store.observer.Load(); o != nil {
		(*o).Synced(g.log.name, time.Since(began))
	}
	return g.log.syncError(err)
}

const headerFence = "Nats-Expected-Last-Sequence"

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

// groupMark is how the fence of a group's first event begins, see [fence]; a digit follows.
const groupMark = "\r\n" + headerFence + ": 0"

// beginsGroup reports whether a record is the first of a group.
func beginsGroup(r natsblock.Record) bool {
	_, headers, _ := r.Parts()
	i := bytes.Index(headers, []byte(groupMark))
	return i >= 0 && headers[i+len(groupMark)] != '\r'
}

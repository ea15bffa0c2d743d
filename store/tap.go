package store

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
)

// Tap reads the log of a running server through its tap listener, as Ledge's own commands do. It may change nothing either.
type Tap struct {
	live *nats.Conn
	logs []*Log
}

// OpenTap connects to [Store.LocalURL], with the login of Ledge's own commands in it.
func OpenTap(ctx context.Context, address string) (*Tap, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("tap: the address of the running server is not a URL")
	}
	live, err := nats.Connect(u.String(), nats.Name("ledge-tap"), nats.NoReconnect(), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		return nil, fmt.Errorf("tap %s: %w", u.Redacted(), err)
	}
	read, err := nats.Connect(u.String(), nats.Name("ledge-history"))
	if err != nil {
		live.Close()
		return nil, fmt.Errorf("tap %s: %w", u.Redacted(), err)
	}
	s := &Store{o: Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}, node: &node{read: read}}
	t := &Tap{live: live}
	for _, st := range streams {
		t.logs = append(t.logs, &Log{stream: st, store: s})
	}
	if err := t.Refresh(ctx); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// Logs returns the logs of events, notifications and readings, as they were when the tap was opened or refreshed.
func (t *Tap) Logs() []*Log { return t.logs }

// Close ends the connections.
func (t *Tap) Close() {
	t.live.Close()
	t.logs[0].store.node.read.Close()
}

// Refresh asks where the streams begin and end now.
func (t *Tap) Refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	all, err := askInfo(ctx, t.logs[0].store.node.read)
	if err != nil {
		return fmt.Errorf("tap: %w", err)
	}
	for _, l := range t.logs {
		var chain Chain
		if _, err := hex.Decode(chain[:], []byte(all[l.name].Chain)); err != nil {
			return fmt.Errorf("tap: answer of %s: %w", infoSubject, err)
		}
		l.setFirst(all[l.name].First)
		l.setLast(all[l.name].Last, chain)
	}
	return nil
}

// liveMessages and liveBytes bound what may wait of the live feed; what does not fit is read from history.
const (
	liveMessages = 8192
	liveBytes    = 64 << 20
)

// Lost reports whether the connection to the server is gone. A new tap goes on from there.
func (t *Tap) Lost() bool { return t.live.IsClosed() }

// Place is how far a follower has come: the last sequence of each stream, by the stream's name.
type Place map[string]uint64

// Follow calls f with what is on the log, merged by time, and then with what is recorded, until ctx ends, which is no
// error, or f fails. It begins after the place seen, which it keeps up to date, and where that is empty at a sequence of
// the event stream. Nothing of a stream is left out or comes twice, also where the next tap goes on with the same place.
func (t *Tap) Follow(ctx context.Context, from uint64, seen Place, f func(Message) error) error {
	sub, err := t.live.SubscribeSync("ledge.>")
	if err != nil {
		return fmt.Errorf("tap: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := sub.SetPendingLimits(liveMessages, liveBytes); err != nil {
		return fmt.Errorf("tap: %w", err)
	}
	if err := t.live.FlushTimeout(apiWait); err != nil {
		return fmt.Errorf("tap: %w", err)
	}
	pass := func(m Message) error {
		if err := f(m); err != nil {
			return err
		}
		seen[t.logOf(m.Subject).name] = m.Seq
		return nil
	}
	err = t.history(ctx, from, seen, pass)
	if err == nil {
		err = t.follow(ctx, sub, seen, pass)
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

func (t *Tap) history(ctx context.Context, from uint64, seen Place, f func(Message) error) (err error) {
	if err := t.Refresh(ctx); err != nil {
		return err
	}
	heads, stop, err := t.open(ctx, from, seen)
	if err != nil {
		return err
	}
	defer stop()
	merged(heads, func(m Message, failed error) bool {
		if err = failed; err == nil {
			err = f(m)
		}
		return err == nil
	})
	return err
}

// open opens the logs after the place seen. Where that is empty, it becomes the one before what is read first.
func (t *Tap) open(ctx context.Context, from uint64, seen Place) (heads []*head, stop func(), err error) {
	if len(seen) == 0 {
		heads, stop = openHeads(ctx, t.logs, from)
		if h := earliest(heads); h != nil && h.err != nil {
			stop()
			return nil, nil, h.err // seen stays empty
		}
		for i, l := range t.logs {
			if seen[l.name], _ = l.Last(); !heads[i].done {
				seen[l.name] = max(heads[i].message.Seq, 1) - 1
			}
		}
		return heads, stop, nil
	}
	starts := make([]uint64, len(t.logs))
	for i, l := range t.logs {
		if last, _ := l.Last(); last < seen[l.name] {
			return nil, nil, fmt.Errorf("tap: %s ends at %d now, and %d was there: it is not the log that was followed", l.name, last, seen[l.name])
		}
		if starts[i] = seen[l.name] + 1; l.archives == nil {
			starts[i] = max(starts[i], l.First())
		}
	}
	heads, stop = openAt(ctx, t.logs, starts)
	return heads, stop, nil
}

func (t *Tap) follow(ctx context.Context, sub *nats.Subscription, seen Place, f func(Message) error) error {
	for {
		raw, err := t.next(ctx, sub)
		if err != nil {
			return err
		}
		m, l, ok := t.liveMessage(raw)
		if !ok || m.Seq <= seen[l.name] {
			continue
		}
		if err := t.fill(ctx, l, seen[l.name], m, f); err != nil {
			return err
		}
	}
}

// next waits for a live message. That some did not fit shows in the sequence of the next.
func (t *Tap) next(ctx context.Context, sub *nats.Subscription) (*nats.Msg, error) {
	for {
		m, err := sub.NextMsgWithContext(ctx)
		switch {
		case errors.Is(err, nats.ErrSlowConsumer):
		case err != nil && ctx.Err() == nil:
			return nil, fmt.Errorf("tap: the server has closed the connection: %w", err)
		default:
			return m, err
		}
	}
}

// fill calls f with m, and before it with what the live feed has left out since seen.
func (t *Tap) fill(ctx context.Context, l *Log, seen uint64, m Message, f func(Message) error) error {
	if m.Seq > seen+1 {
		if err := t.Refresh(ctx); err != nil {
			return err
		}
		for missed, err := range l.ReadRaw(ctx, seen+1, m.Seq-1) {
			if err == nil {
				err = f(missed)
			}
			if err != nil {
				return err
			}
		}
	}
	return f(m)
}

// liveMessage reads a message of the live feed; false for one that is none of ours.
func (t *Tap) liveMessage(raw *nats.Msg) (m Message, l *Log, ok bool) {
	seq, err := strconv.ParseUint(get(raw.Header, "Nats-Sequence"), 10, 64)
	if err != nil {
		return m, nil, false
	}
	l = t.logOf(raw.Subject)
	if l == nil || l.name != get(raw.Header, "Nats-Stream") {
		return m, nil, false
	}
	return Message{Seq: seq, Subject: raw.Subject, Header: longHeader(headerOf(raw.Header), raw.Subject), Data: raw.Data}, l, true
}

// logOf returns the log that has a subject, nil where none has.
func (t *Tap) logOf(subject string) *Log {
	for _, l := range t.logs {
		if strings.HasPrefix(subject, l.public) {
			return l
		}
	}
	return nil
}

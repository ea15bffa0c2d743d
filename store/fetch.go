package store

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// fetch is a place for answers to direct gets.
type fetch struct {
	l     *Log
	inbox string
	in    chan *nats.Msg
	sub   *nats.Subscription
}

func (l *Log) newFetch() (*fetch, error) {
	f := &fetch{l: l, inbox: nats.NewInbox(), in: make(chan *nats.Msg, pageEvents+8)}
	sub, err := l.store.node.read.ChanSubscribe(f.inbox, f.in)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", l.name, err)
	}
	f.sub = sub
	return f, nil
}

func (f *fetch) close() { _ = f.sub.Unsubscribe() }

// page is [fetch.ask], again where JetStream was restarted in place meanwhile, which would look like damage, and once more
// where a tap finds damage: what it has heard may not be what the log has. No lock is held while the server is waited for: a
// restart would wait for it, and every append and look at health behind that.
func (f *fetch) page(ctx context.Context, from, to uint64) page {
	for twice := false; ; {
		before := f.l.store.restarts.Load()
		p := f.ask(ctx, from, to)
		restarted := f.l.store.restarts.Load() != before
		doubted := !twice && f.l.isTaps() && IsDamage(p.err)
		if p.err == nil || ctx.Err() != nil || !restarted && !doubted {
			return p
		}
		twice = twice || doubted
		again, err := f.l.newFetch()
		if err != nil {
			return page{err: err}
		}
		f.close() // with what is still on its way
		*f = *again
		f.l.store.awaitRestart()
	}
}

// ask asks for the events from one sequence on and checks that they follow one another. It is empty where all of
// them are gone for reasons of age or bytes.
func (f *fetch) ask(ctx context.Context, from, to uint64) page {
	n := min(to-from+1, pageEvents)
	request := fmt.Appendf(nil, `{"seq":%d,"batch":%d,"max_bytes":%d}`, from, n, pageBytes)
	if err := f.l.store.node.read.PublishRequest(directGet+f.l.name, f.inbox, request); err != nil {
		return page{err: fmt.Errorf("read %s at %d: %w", f.l.name, from, err)}
	}
	p := page{messages: make([]Message, 0, n)}
	next, end := from, false
	timeout := time.NewTimer(readWait)
	defer timeout.Stop()
	for !end {
		select {
		case m := <-f.in:
			status := get(m.Header, "Status")
			if end = len(m.Data) == 0 && status != ""; end && status == "503" {
				return page{err: fmt.Errorf("read %s at %d: the server does not serve the stream", f.l.name, next)}
			}
			if end || p.err != nil {
				continue
			}
			msg, err := f.l.message(m)
			if err == nil && msg.Seq != next {
				err = f.skipped(ctx, next, msg.Seq)
			}
			if err != nil {
				p.err = err
				continue // what is on its way of this page must not be taken for the next one
			}
			if msg.Seq > to {
				continue
			}
			p.messages = append(p.messages, msg)
			next = msg.Seq + 1
		case <-ctx.Done():
			return page{err: ctx.Err()}
		case <-timeout.C:
			return page{messages: p.messages, err: fmt.Errorf("read %s at %d: no answer within %s", f.l.name, next, readWait)}
		}
	}
	if len(p.messages) == 0 && p.err == nil {
		p.err = f.skipped(ctx, next, to+1)
	}
	return p
}

// skipped says why got came where want was next: nil where retention removed those between.
func (f *fetch) skipped(ctx context.Context, want, got uint64) error {
	first, err := f.l.askFirst(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("read %s at %d: %w", f.l.name, want, err) // no word of damage: it may be gone for reasons of age
	case got <= first && got > want:
		return nil
	case got < want:
		return f.l.damage(got, "it came after %d", want-1)
	case got == want+1:
		return f.l.damage(want, "it is missing or cannot be read")
	}
	return f.l.damage(want, "it is missing or cannot be read, and so may be those up to %d", got-1)
}

// message takes the server's own headers off an answer to a direct get.
func (l *Log) message(m *nats.Msg) (Message, error) {
	seqs := m.Header["Nats-Sequence"]
	if len(seqs) == 0 {
		return Message{}, fmt.Errorf("read %s: answer without a sequence: %v", l.name, m.Header)
	}
	// The server appends its own headers, so a stored one of the same name comes before and is not believed.
	seq, err := strconv.ParseUint(seqs[len(seqs)-1], 10, 64)
	if err != nil {
		return Message{}, fmt.Errorf("read %s: sequence: %w", l.name, err)
	}
	out := Message{Seq: seq, Subject: get(m.Header, "Nats-Subject"), Data: m.Data}
	out.Header = longHeader(headerOf(m.Header), out.Subject)
	out.Subject = publicSubject(out.Subject, out.Header.Get(headerSubject))
	out.At, _ = time.Parse(time.RFC3339Nano, get(m.Header, "Nats-Time-Stamp"))
	return out, nil
}

package node

import (
	"context"
	"encoding/hex"
	"errors"
	"iter"
	"slices"

	"ledge/domain/eventlog"
	"ledge/store"
)

// EventOf returns a message of a log for filters, without its headers. log is one of eventlog.Names.
func EventOf(log string, m store.Message) eventlog.Event {
	return eventlog.Event{Log: log, Seq: m.Seq, Stored: m.At, Subject: m.Subject, Stamp: m.Stamp(), Wire: m.Wire()}
}

// Events returns the source of pages of events.
func (n *Node) Events() eventlog.Source {
	logs := map[string]eventlog.Reader{}
	for i, p := range n.Parts() {
		name := eventlog.Names[i]
		logs[name] = eventReader{p.Log, name, name == eventlog.Changes}
	}
	return eventlog.Source{Logs: logs, State: n.Changes.View, Notified: n.Notifications.View, First: n.Changes.Log.First, Tail: n.tail}
}

// tail follows the messages of a log, for which Options.Messages is set.
func (n *Node) tail(ctx context.Context, log string, from uint64, f func([]eventlog.Event) error) error {
	i := slices.Index(eventlog.Names, log)
	return n.Parts()[i].Appender.FollowMessages(ctx, from, func(group []store.Message) error {
		events := make([]eventlog.Event, len(group))
		for i, m := range group {
			events[i] = EventOf(log, m)
		}
		return f(events)
	})
}

// eventReader reads a log for pages of events.
type eventReader struct {
	*store.Log
	name     string
	archives bool // the log may begin in archives
}

// Span implements eventlog.Reader.
func (l eventReader) Span() (first, last uint64) {
	first = 1
	if !l.archives {
		first = max(l.First(), 1)
	}
	return first, l.Visible()
}

// Read implements eventlog.Reader.
func (l eventReader) Read(ctx context.Context, from, to uint64) iter.Seq2[eventlog.Event, error] {
	return func(yield func(eventlog.Event, error) bool) {
		for m, err := range l.ReadRaw(ctx, from, to) {
			if err != nil {
				yield(eventlog.Event{}, missingOr(err))
				return
			}
			if !yield(EventOf(l.name, m), nil) {
				return
			}
		}
	}
}

// missingOr returns the error for an archive that is missing or damaged, or err with its exit code.
func missingOr(err error) error {
	if gap, ok := errors.AsType[*store.Gap](err); ok {
		return &eventlog.Missing{From: gap.First, To: gap.Last, Err: err}
	}
	return WithCode(err)
}

// At implements eventlog.Reader. An archived event takes a read of its archive up to it.
func (l eventReader) At(ctx context.Context, seq uint64) (e eventlog.Event, ok bool, err error) {
	m, ok, err := l.MessageAt(ctx, seq)
	if !ok && err == nil && l.archives && seq > 0 && seq < l.First() {
		for archived, err := range l.ReadRaw(ctx, seq, seq) {
			if IsGap(err) {
				return e, false, nil
			}
			if err != nil {
				return e, false, WithCode(err)
			}
			m, ok = archived, archived.Seq == seq
		}
	}
	if !ok || err != nil {
		return e, false, WithCode(err)
	}
	e = EventOf(l.name, m)
	for _, f := range m.Header {
		e.Headers = append(e.Headers, [2]string{f.Name, f.Value})
	}
	return e, true, ctx.Err()
}

// Chain implements eventlog.Reader.
func (l eventReader) Chain(ctx context.Context, seq uint64) (chain string) {
	for r, err := range l.Log.Read(ctx, seq, seq) {
		if err == nil && r.Seq == seq {
			chain = hex.EncodeToString(r.Chain[:])
		}
	}
	return chain
}

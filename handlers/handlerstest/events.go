package handlerstest

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"ledge/domain"
	"ledge/domain/eventlog"
)

// Events returns the source of pages of events. All logs are the same.
func (l *Log) Events() eventlog.Source {
	logs := map[string]eventlog.Reader{}
	for _, name := range eventlog.Names {
		logs[name] = storedEvents{l, name}
	}
	return eventlog.Source{Logs: logs, State: l.View, Notified: l.View, First: func() uint64 { return 1 }, Tail: l.tail}
}

// storedEvents reads a log as the log stores it.
type storedEvents struct {
	log  *Log
	name string
}

// storedEvent returns the stored form of an event.
func storedEvent(log string, r domain.Recorded) eventlog.Event {
	w, err := domain.Encode(r.Event)
	if err != nil {
		panic(err)
	}
	subject := "ledge.event." + strings.Join(w.Subject, ".")
	return eventlog.Event{Log: log, Seq: r.Seq, Stored: r.At, Subject: subject, Stamp: r.Stamp, Wire: w}
}

// Span implements eventlog.Reader.
func (s storedEvents) Span() (first, last uint64) { return 1, uint64(len(s.log.Recorded())) }

// Read implements eventlog.Reader.
func (s storedEvents) Read(_ context.Context, from, to uint64) iter.Seq2[eventlog.Event, error] {
	return func(yield func(eventlog.Event, error) bool) {
		for _, r := range s.log.Recorded() {
			if r.Seq >= from && r.Seq <= to && !yield(storedEvent(s.name, r), s.log.Fail) {
				return
			}
		}
	}
}

// At implements eventlog.Reader.
func (s storedEvents) At(ctx context.Context, seq uint64) (e eventlog.Event, ok bool, err error) {
	r, ok, err := s.log.At(ctx, seq)
	if !ok || err != nil {
		return e, false, err
	}
	e = storedEvent(s.name, r)
	e.Headers = [][2]string{{"ce-type", e.Wire.Type}}
	return e, true, nil
}

// Chain implements eventlog.Reader.
func (s storedEvents) Chain(context.Context, uint64) string { return strings.Repeat("0", 64) }

// Since implements eventlog.Reader.
func (s storedEvents) Since(_ context.Context, t time.Time) (uint64, error) {
	all := s.log.Recorded()
	i := slices.IndexFunc(all, func(r domain.Recorded) bool { return !r.At.Before(t) })
	if i < 0 {
		i = len(all)
	}
	return uint64(i) + 1, nil
}

// Begin implements eventlog.Reader.
func (s storedEvents) Begin(ctx context.Context, t time.Time) (uint64, error) { return s.Since(ctx, t) }

// tail calls f with each event from a sequence on, until ctx ends.
func (l *Log) tail(ctx context.Context, log string, from uint64, f func([]eventlog.Event) error) error {
	for {
		l.mu.Lock()
		all, more := slices.Clone(l.recorded), l.more
		l.mu.Unlock()
		var group []eventlog.Event
		for ; from <= uint64(len(all)); from++ {
			group = append(group, storedEvent(log, all[from-1]))
		}
		if len(group) > 0 {
			if err := f(group); err != nil {
				return err
			}
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

package eventlog

import (
	"cmp"
	"context"
	"iter"
	"strings"
	"time"

	"ledge/domain"
)

const (
	// mostLooks is the number of events that a page reads at most.
	mostLooks = 20_000
	// MostReadBytes is the size of the events that a page reads at most, if its query says nothing else. One event is read whatever its
	// size.
	MostReadBytes = 16 << 20
	// MostPageBytes is the size of the data of the events of a page. Data of more than MostData bytes is not counted.
	MostPageBytes = 2 << 20
	// MostData is the size of the data of one event that a page shows.
	MostData = 64 << 10
	// mostSteps is the number of events of one entity that a page follows, from each to the one before. If there are more, the page
	// reads the log.
	mostSteps = 2000
)

// Reader reads one log.
type Reader interface {
	// Span returns the first sequence that may be on the log or in an archive, and the last that queries show.
	Span() (first, last uint64)
	// Read returns the events from one sequence to another, both included, also archived ones. The error for an archive that cannot be
	// read is a [Missing].
	Read(ctx context.Context, from, to uint64) iter.Seq2[Event, error]
	// At returns one event; ok is false if it is not there any more, or if its archive is missing.
	At(ctx context.Context, seq uint64) (e Event, ok bool, err error)
	// Chain returns the chain hash of an event in hexadecimal digits; "" if it cannot be computed.
	Chain(ctx context.Context, seq uint64) string
	// Since returns the first sequence on the log itself that was stored at a time or later, or the one after the last.
	Since(ctx context.Context, t time.Time) (uint64, error)
	// Begin returns a sequence before which everything was stored before a time, in archives too.
	Begin(ctx context.Context, t time.Time) (uint64, error)
}

// Missing is the error for events in an archive that is missing or damaged.
type Missing struct {
	From, To uint64 // both included
	Err      error
}

// Error implements error.
func (m *Missing) Error() string { return m.Err.Error() }

// Unwrap returns the cause.
func (m *Missing) Unwrap() error { return m.Err }

// Source reads the logs, and the state for the last event of an entity.
type Source struct {
	// Logs has a reader of each log, by its name.
	Logs map[string]Reader
	// State returns the state of the log of changes.
	State func() (domain.View, func())
	// Notified returns the state of the log of notifications.
	Notified func() (domain.View, func())
	// First returns the first event of the log of changes that is not in an archive.
	First func() uint64
	// Tail calls f with each event of a log from a sequence on, in groups, as soon as queries show them. It returns when ctx ends, when f
	// fails, or when the log cannot be read. f does not keep the slice.
	Tail func(ctx context.Context, log string, from uint64, f func([]Event) error) error
}

// Query asks for a page of events.
type Query struct {
	Log string // one of Names
	Filter
	Limit int
	// Newest has the page begin with the newest event, which is To.
	Newest bool
	// Looks is the number of events that the page reads at most; 0 for mostLooks. Bytes is the size of them; 0 for MostReadBytes.
	Looks, Bytes int
	// Each, if it is not nil, is called for each event of the page, which then holds none of them in memory.
	Each func(Event)
}

// Page is a part of the events that a filter chooses.
type Page struct {
	Events []Event
	// Next begins the next page: with the oldest event first it is From of the query, also at the end of the log. With the newest first it
	// is To, and 0 at the beginning of the log.
	Next uint64
	// Last is the last event on the log.
	Last uint64
	// Looked is the number of events that were read.
	Looked int
	// Incomplete explains why events are missing; "" if none is.
	Incomplete string
}

// reading is a page that is being read.
type reading struct {
	Query
	Page
	log      Reader
	from, to uint64 // the first and the last sequence of the span
	behind   uint64 // Next when the span is read, with the oldest event first
	read     int    // bytes
	found    int    // events on the page
	shown    int    // bytes of data on the page
	archived int    // events that were followed into archives
}

// Read returns a page.
func (s Source) Read(ctx context.Context, q Query) (Page, error) {
	r, err := s.begin(ctx, q)
	if err != nil {
		return Page{}, err
	}
	done, err := s.followList(ctx, r)
	switch {
	case err != nil:
	case done:
	case q.Newest:
		err = r.readBack(ctx)
	default:
		err = r.readAhead(ctx)
	}
	return r.Page, err
}

// begin finds the span of a query.
func (s Source) begin(ctx context.Context, q Query) (*reading, error) {
	log, err := s.find(q.Log)
	if err != nil {
		return nil, err
	}
	q.Looks, q.Bytes = cmp.Or(q.Looks, mostLooks), cmp.Or(q.Bytes, MostReadBytes)
	r := &reading{Query: q, log: log}
	first, last := log.Span()
	r.Last = last
	r.from, r.to = max(q.From, first), last
	if q.To > 0 {
		r.to = min(r.to, q.To)
	}
	if !q.Since.IsZero() && q.From == 0 { // the next pages have both
		seq, err := log.Begin(ctx, q.Since)
		if err != nil {
			return nil, err
		}
		r.from = max(r.from, seq)
	}
	if until := q.Until; !until.IsZero() {
		if !q.Newest { // a page that begins at the end would first read what was stored too late
			until = until.Add(lateness)
		}
		seq, err := log.Since(ctx, until)
		if err != nil {
			return nil, err
		}
		r.to = min(r.to, max(seq, 1)-1)
	}
	r.behind = max(r.from, r.to+1)
	if q.To == 0 { // what follows a span of time is not chosen, now and later
		r.behind = max(r.from, last+1)
	}
	return r, nil
}

// find returns the reader of a log.
func (s Source) find(log string) (Reader, error) {
	if r := s.Logs[log]; r != nil {
		return r, nil
	}
	return nil, domain.Errorf(domain.Invalid, "log: %.80q is not a log; use one of %s", log, strings.Join(Names, ", "))
}

// Last returns the last event on a log that queries show.
func (s Source) Last(log string) (uint64, error) {
	r, err := s.find(log)
	if err != nil {
		return 0, err
	}
	_, last := r.Span()
	return last, nil
}

// Event returns one event with its headers and its chain hash.
func (s Source) Event(ctx context.Context, log string, seq uint64) (e Event, err error) {
	r, err := s.find(log)
	if err != nil {
		return e, domain.Errorf(domain.NotFound, "%s", err)
	}
	first, last := r.Span()
	if seq < first || seq > last {
		const text = "event %d is not on the log of %s, which has %d to %d; correct the sequence"
		return e, domain.Errorf(domain.NotFound, text, seq, log, first, last)
	}
	e, ok, err := r.At(ctx, seq)
	if err == nil && !ok {
		const text = "event %d is in an archive that is missing or damaged; put it into the folder of the archives"
		err = domain.Errorf(domain.NotFound, text, seq)
	}
	if err == nil {
		e.Chain = r.Chain(ctx, seq)
	}
	return e, err
}

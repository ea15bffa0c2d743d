package projections

import (
	"errors"
	"io"
	"log/slog"

	"ledge/domain"
	"ledge/projections/fold"
)

// Options says where a projection is and what it holds.
type Options struct {
	// Path is the file; its folder must exist.
	Path   string
	Tables Tables
	// Logger is slog.Default if it is nil.
	Logger *slog.Logger
	// Failed is called, once, if the file is found to be damaged or cannot be written. It then has another name, ends with ".damaged",
	// and nothing is written any more: end the process. The next Open begins with an empty file.
	Failed func(error)

	limits fold.Limits // the usual ones if they are 0
}

// fold returns the options of the file.
func (o Options) fold() fold.Options {
	return fold.Options{
		Path: o.Path, Name: o.Tables.String(), Tables: held[o.Tables], Gaps: o.Tables != Events, Logger: o.Logger,
		Failed: o.Failed, Wrap: coded, Limits: o.limits,
	}
}

// DB is the state of one stream. Its methods may be called by several goroutines at once.
type DB struct {
	*fold.DB
	tables Tables
}

// Open opens the projection at o.Path, see [fold.Open].
func Open(o Options) (*DB, error) {
	d, err := fold.Open(o.fold())
	if err != nil {
		return nil, err
	}
	return &DB{d, o.Tables}, nil
}

// Apply folds events, see [fold.DB.Apply]. Those of [Events] have no gaps. An event that is not of this file's stream is an error.
func (d *DB) Apply(events []domain.Recorded) error { return d.DB.Apply(applied{d.tables, events}) }

// applied implements [fold.Events].
type applied struct {
	tables Tables
	events []domain.Recorded
}

func (r applied) Len() int { return len(r.events) }
func (r applied) At(i int) fold.Checkpoint {
	return fold.Checkpoint{Seq: r.events[i].Seq, Chain: r.events[i].Chain}
}
func (r applied) Fold(b *fold.Batch) func(int) {
	s := state(r.tables, source{batch: b})
	s.Answers, s.AnswerOrder = answers.In(b), answerOrder.In(b)
	uses := counts{s.Uses, map[string]int{}}
	s.Uses = uses
	return func(i int) {
		if domain.Evolve(s, &r.events[i]); i == len(r.events)-1 {
			uses.end()
		}
	}
}

// counts is a table of counts that has what a batch changes until its end: nearly all of its events count at the same few names.
type counts struct {
	domain.Table[int]
	changed map[string]int
}

func (c counts) Get(name string) (int, bool) {
	if n, ok := c.changed[name]; ok {
		return n, n > 0
	}
	return c.Table.Get(name)
}

func (c counts) Put(name string, n int) { c.changed[name] = n }
func (c counts) Delete(name string)     { c.changed[name] = 0 }

func (c counts) end() {
	for name, n := range c.changed {
		if n > 0 {
			c.Table.Put(name, n)
		} else {
			c.Table.Delete(name)
		}
	}
}

// coded makes of an error of a file one with a code.
func coded(err error) error {
	code := domain.Unavailable // it is broken
	if _, ok := errors.AsType[*fold.Full](err); ok {
		code = domain.Full
	} else if _, ok := errors.AsType[*fold.OutOfRange](err); ok {
		code = domain.OutOfRange
	}
	return &codedError{domain.Errorf(code, "%v", err), err}
}

type codedError struct {
	says  *domain.Error
	cause error
}

func (e *codedError) Error() string   { return e.says.Message }
func (e *codedError) Unwrap() []error { return []error{e.says, e.cause} }

// Broken is the error of a file that cannot be used any more.
type Broken = fold.Broken

// Inspection is a file that is open for reading only.
type Inspection = fold.Inspection

// SnapshotRow is one row of a snapshot.
type SnapshotRow = fold.SnapshotRow

// Errors of package fold.
var (
	ErrClosed = fold.ErrClosed // what is called after Close returns it
	ErrUnused = fold.ErrUnused // Open would put the file aside: it is of another version
)

// Inspect opens the file at o.Path for reading only and calls f, see [fold.Inspect].
func Inspect(o Options, f func(*Inspection) error) error { return fold.Inspect(o.fold(), f) }

// Restore makes the projection at o.Path anew from a snapshot as of an event, see [fold.Restore].
func Restore(o Options, snapshot io.Reader, seq uint64, chain [32]byte) error {
	return fold.Restore(o.fold(), snapshot, seq, chain)
}

// Follows returns the last event of the log of changes that the notifications or the callbacks in a file of [Notifications] follow.
func Follows(in *Inspection) (seq uint64, err error) {
	for _, name := range []string{domain.CursorDeviceChanges, domain.CursorCallbacks} {
		at, _, err := cursors.Inspected(in, name)
		if err != nil {
			return 0, err
		}
		seq = max(seq, at)
	}
	return seq, nil
}

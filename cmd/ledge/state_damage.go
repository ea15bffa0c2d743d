package main

import (
	"errors"

	"ledge/cmd/internal/exit"
	"ledge/domain"
	"ledge/projections"
)

// stateFailed ends the program: a state file is damaged or cannot be written. The next start folds it from the log.
func (d *data) stateFailed(err error) {
	failed := exit.Error{Code: exit.State, Err: err}
	if d.why.CompareAndSwap(nil, &failed) {
		d.failed <- failed
	}
}

// isBroken reports whether err says that a state file is damaged or cannot be written.
func isBroken(err error) bool {
	_, ok := errors.AsType[*projections.Broken](err)
	return ok
}

// cause returns why the state cannot be used any more, where that is so: then err only follows from that.
func (d *data) cause(err error) error {
	if why := d.why.Load(); why != nil && err != nil {
		return *why
	}
	return err
}

// health returns why the state is not fit to serve, naming the file: it is damaged, or could not be written.
func (d *data) health() error {
	for _, db := range []*projections.DB{d.state, d.notes, d.values} {
		if err := db.Health(); err != nil {
			return err
		}
	}
	return nil
}

// whole runs f, which reads the state; where that is damaged, its error has the exit code of that.
func (d *data) whole(f func() error) error { return d.cause(tried(f)) }

// tried runs f, which reads the state, and returns the error of a state that cannot be read as any other. What runs in
// the background reads the state in this way or by whole: else a damaged row would be a panic.
func tried(f func() error) (err error) {
	if failed := domain.Try(func() { err = f() }); failed != nil {
		return failed
	}
	return err
}

package node

import (
	"errors"
	"fmt"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/domain"
	"ledge/projections"
	"ledge/store"
	"ledge/store/bus"
)

// stateFailed ends the program: a state file is damaged or cannot be written. The next start folds it from the log.
func (n *Node) stateFailed(err error) {
	failed := exit.Error{Code: exit.State, Err: err}
	if n.why.CompareAndSwap(nil, &failed) {
		n.Failed <- failed
	}
}

// isBroken reports whether a state file is damaged or cannot be written.
func isBroken(err error) bool {
	_, ok := errors.AsType[*projections.Broken](err)
	return ok
}

// FindCause returns the failure of the state or of the log if there is one, and otherwise err, which then follows from nothing else.
func (n *Node) FindCause(err error) error {
	if n.why.Load() != nil {
		return n.stateCause(err)
	}
	if isBroken(err) { // a state file, which is about to tell
		return exit.With(exit.State, err)
	}
	select {
	case failed := <-n.Store.Failed():
		if isBroken(failed) {
			return exit.With(exit.State, failed)
		}
		return exit.WithDamage(failed)
	default:
		return err
	}
}

// stateCause returns the failure of the state if there is one, and otherwise err.
func (n *Node) stateCause(err error) error {
	if why := n.why.Load(); why != nil && err != nil {
		return *why
	}
	return err
}

// Health returns an error with the name of the file if a state is damaged or could not be written.
func (n *Node) Health() error {
	for _, p := range n.Parts() {
		if err := p.State.Health(); err != nil {
			return err
		}
	}
	return nil
}

// Read has f read one consistent view of the state, which f must not keep. If the state is damaged, the error has the exit code of that.
func (p *Part) Read(f func(v *projections.View) error) error {
	return p.node.Try(func() error {
		v, done := p.State.View()
		defer done()
		return f(v)
	})
}

// Try is as the function Try. If the state is damaged, the error has the exit code of that.
func (n *Node) Try(f func() error) error { return n.stateCause(Try(f)) }

// Try runs f, which reads the state, and returns the error of a state that cannot be read as any other. Work that is not the answer to
// a request reads the state by [Part.Read] or by Try, because a damaged row would be a panic otherwise.
func Try(f func() error) (err error) {
	if failed := domain.Try(func() { err = f() }); failed != nil {
		return failed
	}
	return err
}

// WithCode gives an error of the store its exit code: of a port, a folder or damage, or none.
func WithCode(err error) error {
	switch {
	case errors.Is(err, bus.ErrListen):
		return exit.With(exit.Port, err)
	case store.IsDamage(err), IsGap(err):
		return exit.With(exit.Damaged, err)
	case isBroken(err):
		return exit.With(exit.State, err)
	case datadir.IsTrouble(err):
		return exit.With(exit.Folder, fmt.Errorf("setting data-dir: %w", err))
	default:
		return err
	}
}

// IsGap reports whether events are in an archive that is missing or damaged.
func IsGap(err error) bool {
	_, ok := errors.AsType[*store.Gap](err)
	return ok
}

// Package exit has the exit codes of the program, and what an error says about its cure.
package exit

import (
	"errors"

	"ledge/store"
)

// The exit codes.
const (
	OK      = 0
	Failure = 1 // something went wrong while running
	Usage   = 2 // an unknown command or flag, or a bad setting
	InUse   = 3 // another process has the data folder
	Port    = 4 // an address cannot be listened on
	Folder  = 5 // the data folder cannot be used
	Damaged = 6 // the log or what is folded from it is damaged
	Partial = 7 // salvage has left something out
	State   = 8 // a state file was found to be damaged, or cannot be written: the next start folds it from the log
)

// Error is an error with the code to exit with.
type Error struct {
	Code int
	Err  error
}

func (e Error) Error() string { return e.Err.Error() }

func (e Error) Unwrap() error { return e.Err }

// With gives an error the code to exit with.
func With(code int, err error) error { return Error{code, err} }

// IsInUse reports whether a process has the data folder.
func IsInUse(err error) bool {
	e, ok := errors.AsType[Error](err)
	return ok && e.Code == InUse
}

// WithDamage gives an error that names damage of the log its exit code.
func WithDamage(err error) error {
	if store.IsDamage(err) {
		return With(Damaged, err)
	}
	return err
}

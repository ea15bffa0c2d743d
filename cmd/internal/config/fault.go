package config

import "ledge/cmd/internal/exit"

// Fault is the error of one setting. A text is empty if it is unknown.
type Fault struct {
	Setting, Value string
	Source         string // in the words of [Config.Load]
	Err            error  // names the rest too
}

// Error implements error.
func (f Fault) Error() string { return f.Err.Error() }

// Unwrap returns the error that the fault describes.
func (f Fault) Unwrap() error { return f.Err }

// ListFaults returns the faults that are joined in an error. Any other error is a fault without a setting.
func ListFaults(err error) (list []Fault) {
	switch e := err.(type) { //nolint:errorlint // each error of the tree is looked at
	case nil:
	case Fault:
		list = append(list, e)
	case exit.Error:
		list = ListFaults(e.Err)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			list = append(list, ListFaults(one)...)
		}
	default:
		list = append(list, Fault{Err: err})
	}
	return list
}

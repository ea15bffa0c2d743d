package domain

import (
	"errors"
	"fmt"
	"strings"
)

// Code sorts errors by what the asker can do about them.
type Code int

// The codes; handlers maps each to one HTTP status.
const (
	Internal        Code = iota // our fault
	Invalid                     // the request contradicts itself or the rules
	NotFound                    // what the request names does not exist
	Conflict                    // a name or id is taken, or something is still in use
	Locked                      // a setting or a state forbids it
	NotAllowed                  // the resource does not offer this operation
	TooLarge                    // over a limit of size
	OutOfRange                  // a page beyond the end of a list
	Unavailable                 // not now: starting, stopping, or too much waiting
	Full                        // the disk's reserve is reached
	Stale                       // the entity is at another revision than the request rests on
	Rejected                    // a service that has a say in it says no
	Mismatch                    // an Idempotency-Key that was used for another request
	Unsupported                 // this program does not do it, whoever asks
	UnknownEncoding             // the body is compressed in a way that we do not read
	Damaged                     // what is stored is not what was stored
	Unauthenticated             // nobody knows who asks
	Forbidden                   // who asks has not the right
	TooMany                     // the client asks too often
)

// ErrExpired refuses a token whose time is over.
var ErrExpired = Errorf(Unauthenticated, "the token has expired; ask for a new one")

// Error is an error that a user reads: Message names the field, the value and the cure.
type Error struct {
	Code    Code
	Message string
	// InDoubt says that the change may be on record all the same: the log failed while it was being recorded.
	InDoubt bool
}

func (e *Error) Error() string { return e.Message }

// Errorf makes an Error.
func Errorf(c Code, format string, args ...any) *Error {
	return &Error{Code: c, Message: fmt.Sprintf(format, args...)}
}

// CodeOf returns the Code of the first Error in err's chain, Internal where there is none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}

// InDoubt reports whether the change that err refuses may be on record all the same.
func InDoubt(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.InDoubt
}

// Problems collects what is wrong with one value, each as "path: what, and what would be right".
type Problems []string

// maxProblems is how many problems are kept with their text; more are only counted. A request of a few megabytes can
// have millions of them.
const maxProblems = 1000

// Add notes a problem at path.
func (p *Problems) Add(path, format string, args ...any) {
	if len(*p) >= maxProblems {
		*p = append(*p, "")
		return
	}
	*p = append(*p, path+": "+fmt.Sprintf(format, args...))
}

// In notes every problem of inner below path.
func (p *Problems) In(path string, inner Problems) {
	for _, s := range inner {
		if len(*p) >= maxProblems {
			s = ""
		} else {
			s = path + "." + s
		}
		*p = append(*p, s)
	}
}

// Err returns nil where there are no problems, else one Invalid Error that names them all.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	const most = 20
	if more := len(p) - most; more > 0 {
		p = append(p[:most:most], fmt.Sprintf("and %d more problems", more))
	}
	return &Error{Code: Invalid, Message: strings.Join(p, "; ")}
}

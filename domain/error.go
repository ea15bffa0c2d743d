package domain

import (
	"errors"
	"fmt"
	"slices"
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
	// Problems are the fields that the error is about, the first ones of many; nil if it is about the request as a whole.
	Problems Problems
	// InDoubt says that the change may be on record all the same: the log failed while it was being recorded.
	InDoubt bool
}

func (e *Error) Error() string { return e.Message }

// Errorf makes an Error.
func Errorf(c Code, format string, args ...any) *Error {
	return &Error{Code: c, Message: fmt.Sprintf(format, args...)}
}

// FieldErrorf makes the Invalid Error of one field. The format gives the fault and the cure; the message begins with the path.
func FieldErrorf(path, format string, args ...any) *Error {
	p := Problems{newProblem(path, fmt.Sprintf(format, args...))}
	return &Error{Code: Invalid, Message: p[0].String(), Problems: p}
}

// At returns the error with the path of the field that its whole message is about.
func (e *Error) At(path string) *Error {
	e.Problems = Problems{newProblem(path, e.Message)}
	return e
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

// Problem is a fault of one field. Its text is "path: fault; cure".
type Problem struct {
	text string
	path int // the length of the path, in bytes
}

func newProblem(path, says string) Problem { return Problem{path + ": " + says, len(path)} }

// Path returns the place of the field, such as channels[0].port.
func (p Problem) Path() string { return p.text[:p.path] }

// Says returns the fault and the cure.
func (p Problem) Says() string { return strings.TrimPrefix(p.text[p.path:], ": ") }

// String returns the path, the fault and the cure.
func (p Problem) String() string { return p.text }

// Problems collects the faults of one value.
type Problems []Problem

// maxProblems is how many problems are kept with their text; more are only counted. A request of a few megabytes can
// have millions of them.
const maxProblems = 1000

// Add notes a problem at path.
func (p *Problems) Add(path, format string, args ...any) {
	if len(*p) >= maxProblems {
		*p = append(*p, Problem{})
		return
	}
	*p = append(*p, newProblem(path, fmt.Sprintf(format, args...)))
}

// In notes every problem of inner below path.
func (p *Problems) In(path string, inner Problems) {
	for _, one := range inner {
		if len(*p) >= maxProblems {
			one = Problem{}
		} else {
			one = Problem{path + "." + one.text, len(path) + len(".") + one.path}
		}
		*p = append(*p, one)
	}
}

// Err returns nil where there are no problems, else one Invalid Error that names them all.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	const most = 20
	first := p[:min(len(p), most)]
	var message strings.Builder
	for i, one := range first {
		if i > 0 {
			message.WriteString("; ")
		}
		message.WriteString(one.text)
	}
	if more := len(p) - len(first); more > 0 {
		fmt.Fprintf(&message, "; and %d more problems", more)
	}
	return &Error{Code: Invalid, Message: message.String(), Problems: slices.Clone(first)}
}

// Package outward has what the channels to the outside world share: the message that they send and the errors by which
// they tell whether another try makes sense.
//
// Each channel is a package with a Sender of its own, whose Send takes a Target of its own and a [Message]. It returns
// what the other side answered, for the record, and an error where the message was not delivered.
package outward

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Message is what is sent.
type Message struct {
	// ID is the same in every try to deliver one message on one channel, so that a receiver can recognise a repeat.
	ID string
	// NotificationID is the same on all channels. At is when the notification was raised. Sequence is that of the event which raised it; 0
	// for none. Receivers are told these as ce-id, ce-time and ce-sequence, so that they can check the order.
	NotificationID string
	At             time.Time
	Sequence       uint64
	// Sender is who raised the notification: a name, not an address.
	Sender string
	// ContentType is the media type of Body; each channel has its own meaning for none.
	ContentType string
	Body        []byte
	// CorrelationID is that of the request which set the message off, and Hops are the instances of Ledge which that has passed; both
	// are passed on where the channel can.
	CorrelationID string
	Hops          []string
}

// Dial connects to where a message goes; that of a guard.Guard is one. Its address is host:port.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Error says why a message was not delivered.
type Error struct {
	Err error
	// Final is true where another try would fail as well, unless somebody changes something.
	Final bool
	// Reply is true where the other side has answered, so that neither the connection nor the server is at fault.
	Reply bool
	// Left are the recipients to whom another try may go, where it need not go to all, and Refused those that are refused for good.
	Left, Refused []string
	// After is how long the other side asks to be left alone, 0 where it does not.
	After time.Duration
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Permanent is Final, as a method that errors of other packages may have too.
func (e *Error) Permanent() bool { return e.Final }

// Answered is Reply, likewise.
func (e *Error) Answered() bool { return e.Reply }

// RetryAfter is After, likewise.
func (e *Error) RetryAfter() time.Duration { return e.After }

// Permanent reports whether some error in the chain says that another try makes no sense. What says nothing is worth
// another try.
func Permanent(err error) bool {
	p, ok := errors.AsType[interface {
		error
		Permanent() bool
	}](err)
	return ok && p.Permanent()
}

// RetryAfter returns how long the other side asks to be left alone, 0 where no error in the chain says so.
func RetryAfter(err error) time.Duration {
	if r, ok := errors.AsType[interface {
		error
		RetryAfter() time.Duration
	}](err); ok {
		return r.RetryAfter()
	}
	return 0
}

// Answered reports whether some error in the chain says that the other side has answered.
func Answered(err error) bool {
	a, ok := errors.AsType[interface {
		error
		Answered() bool
	}](err)
	return ok && a.Answered()
}

// Recipients returns what an error says of the recipients of a message.
func Recipients(err error) (left, refused []string) {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Left, e.Refused
	}
	return nil, nil
}

// ResponseBytes is how much of a response is put on record.
const ResponseBytes = 4 << 10

// Cut makes a response fit for the record: printable UTF-8, with its lines, of at most ResponseBytes.
func Cut(response string) string {
	printable := func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' || r == '\r' || r == '\t' {
			return r
		}
		return utf8.RuneError
	}
	return CutTo(strings.Map(printable, response), ResponseBytes)
}

// CutTo shortens s to at most so many bytes, between two characters.
func CutTo(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

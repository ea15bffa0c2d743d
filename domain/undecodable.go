package domain

import (
	"errors"
	"fmt"

	"ledge/domain/fastjson"
)

// Undecodable stands for an event on the log whose type is known and whose body cannot be decoded. Versions before the
// limits of domain/jsonlimit could append one. It changes nothing: the fold goes on as if it were not there.
type Undecodable struct {
	// Type is the wire name, Reason what Decode says.
	Type, Reason string
	about        Subject
}

// Evolve changes nothing.
func (Undecodable) Evolve(State) {}

// Subject implements Event.
func (e Undecodable) Subject() Subject { return e.about }

// errUnknown says that a newer version wrote an event.
var errUnknown = errors.New("is unknown to this version of ledge")

// unknown is the error for a type, field or attribute that only a newer version knows.
func unknown(what, name string) error {
	return fmt.Errorf("%s %.80q %w: a newer version wrote it, so start that one, or restore a backup from before", what, name, errUnknown)
}

// known turns an error about a field that a type has not into that of [unknown].
func known(err error) error {
	var field fastjson.UnknownFieldError
	if errors.As(err, &field) {
		return unknown("field", field.Name)
	}
	return err
}

// DecodeStored is [Decode] for an event whose checksum and chain hash are right: where its body cannot be decoded, the
// event is an [Undecodable]. What is unknown stays an error: a newer version wrote it, and it does mean something.
func DecodeStored(w Wire) (Event, error) {
	e, err := Decode(w)
	if err == nil || errors.Is(err, errUnknown) {
		return e, err
	}
	return Undecodable{Type: w.Type, Reason: err.Error(), about: w.Subject}, nil
}

package domain

import "errors"

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

// errUnknownType says that a type is not in the table of types.go.
var errUnknownType = errors.New("is unknown to this version of ledge")

// DecodeStored is [Decode] for an event whose checksum and chain hash are right: where its body cannot be decoded, the
// event is an [Undecodable]. An unknown type stays an error: a newer version wrote it, and it does mean something.
func DecodeStored(w Wire) (Event, error) {
	e, err := Decode(w)
	if err == nil || errors.Is(err, errUnknownType) {
		return e, err
	}
	return Undecodable{Type: w.Type, Reason: err.Error(), about: w.Subject}, nil
}

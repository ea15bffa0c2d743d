package domain

import "time"

// Stamp is what the caller of a command knows and the domain must not make up: when, who, and as part of what.
type Stamp struct {
	// EventID is the id of the event that the command may make, a UUID (ce-id).
	EventID string
	// At is the time of the request, in UTC (ce-time).
	At time.Time
	// Actor is who asked: AnonymousAt an address, or "ledge" for what the program does by itself. Events of earlier versions
	// have "anonymous" without an address.
	Actor string
	// By is the identity that asks; nil for what the program does by itself and for clients without a login. It is not recorded.
	By *Identity
	// Origin is where the request came from: a network address, or "internal".
	Origin string
	// CorrelationID is the X-Correlation-ID of the request.
	CorrelationID string
	// Key is set where the request has an Idempotency-Key.
	Key *Key
}

// Request is a command with its stamp.
type Request struct {
	Stamp
	Command Command
	// Bytes is the size of the body, or the part of it, that Command was made of, about what Command takes in memory. A queue that
	// is bounded in bytes counts it. It is not recorded.
	Bytes int
	// MostAnswers is, for a request with a Key, how many answers may be kept; it is not recorded.
	MostAnswers int
}

// Recorded is an event as it stands on the log.
type Recorded struct {
	Stamp
	// Seq is the event's sequence in its stream, from 1 without gaps.
	Seq uint64
	// Chain is the SHA-256 over the event and its predecessor's Chain.
	Chain [32]byte
	Event Event
}

// Outcome is what became of one command. With Err nil and Seq 0 there was nothing to change.
type Outcome struct {
	Seq   uint64
	Event Event
	Err   error
}

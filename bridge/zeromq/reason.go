package zeromq

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
)

// Reason is why a peer was refused or disconnected, as metrics name it.
type Reason string

// The reasons.
const (
	ReasonNetwork   Reason = "network"    // no channel of the socket allows its address
	ReasonMechanism Reason = "mechanism"  // its security mechanism is not the one of the channels
	ReasonServerKey Reason = "server_key" // it has another server key
	ReasonClientKey Reason = "client_key" // no channel has its client key
	ReasonHandshake Reason = "handshake"  // its handshake is no ZMTP 3, or was not completed
	ReasonTimeout   Reason = "timeout"    // its handshake took too long
	ReasonRevoked   Reason = "revoked"    // the channels that admitted it changed
)

var reasons = []Reason{ReasonNetwork, ReasonMechanism, ReasonServerKey, ReasonClientKey, ReasonHandshake, ReasonTimeout, ReasonRevoked}

// refused is an error with its reason.
type refused struct {
	reason Reason
	error
}

func (r refused) Unwrap() error { return r.error }

func refuse(reason Reason, format string, args ...any) error {
	return refused{reason, fmt.Errorf(format, args...)}
}

// reasonOf is the reason of an error of a handshake.
func reasonOf(err error) Reason {
	if r, ok := errors.AsType[refused](err); ok {
		return r.reason
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ReasonTimeout
	}
	return ReasonHandshake
}

// reasonCounts counts refusals.
type reasonCounts map[Reason]*atomic.Uint64

func newReasonCounts() reasonCounts {
	counts := reasonCounts{}
	for _, r := range reasons {
		counts[r] = new(atomic.Uint64)
	}
	return counts
}

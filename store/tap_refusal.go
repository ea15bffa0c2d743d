package store

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"ledge/domain"
)

// The reasons for which the door refuses or ends a connection, as they are counted.
const (
	byCredentials = "credentials" // nobody is known by them
	byRole        = "role"        // the role may not read
	byDevices     = "devices"     // the device patterns cannot be held
	byRate        = "rate"        // too many failed logins
	byTLS         = "tls"         // no TLS, or a handshake that fails
	byConnections = "connections" // a limit of connections
	byLimit       = "limit"       // a limit of what a client may send
	byEnd         = "ended"       // the identity has lost its rights since
)

// violation is how NATS servers refuse a login: client libraries know these words.
const violation = "Authorization Violation"

// refusal is why a client is refused.
type refusal struct {
	reason string
	say    string // to the client; empty is nothing
	err    error  // for the log
}

func (r refusal) Error() string { return r.err.Error() }

func (r refusal) Unwrap() error { return r.err }

// refusalOf makes a refusal of what Options.Login returns.
func refusalOf(err error) refusal {
	var known *domain.Error
	if !errors.As(err, &known) {
		return refusal{byCredentials, violation, err}
	}
	switch known.Code {
	case domain.Forbidden:
		return refusal{byRole, "permissions violation: " + known.Message, err}
	case domain.TooMany:
		return refusal{byRate, known.Message, err}
	default:
		return refusal{byCredentials, violation, err}
	}
}

// refuse tells the client why, in the words that NATS clients know.
func (v *visit) refuse(why error) {
	r := refusal{byLimit, why.Error(), why}
	errors.As(why, &r)
	v.door.log.Warn("tap refused", "client", v.client, "reason", why)
	v.door.refused.add(r.reason)
	if r.say != "" {
		_ = v.write(fmt.Appendf(nil, "-ERR '%s'\r\n", oneLine.Replace(r.say)))
	}
}

// oneLine makes a text fit into a line of NATS' protocol.
var oneLine = strings.NewReplacer("\r", " ", "\n", " ", "'", `"`)

// refusals counts refused and ended connections by reason.
type refusals struct {
	mu     sync.Mutex
	counts map[string]uint64
}

func newRefusals() *refusals {
	r := &refusals{counts: map[string]uint64{}}
	for _, reason := range []string{byCredentials, byRole, byDevices, byRate, byTLS, byConnections, byLimit, byEnd} {
		r.counts[reason] = 0
	}
	return r
}

func (r *refusals) add(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[reason]++
}

package tap

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	"ledge/domain"
)

// The reasons for which the proxy refuses or ends a connection, as they are counted.
const (
	byCredentials = "credentials" // nobody is known by them
	byRole        = "role"        // the role may not read
	byRate        = "rate"        // too many failed logins
	byTLS         = "tls"         // no TLS, or a handshake that fails
	byConnections = "connections" // a limit of connections
	byLimit       = "limit"       // a limit of what a client may send
	byEnd         = "ended"       // the identity has lost its rights since
)

// How NATS servers refuse a login: client libraries know these words.
const (
	violation = "Authorization Violation"
	expired   = "User Authentication Expired"
	tooLate   = "Authentication Timeout"
)

// refusal is why a client is refused.
type refusal struct {
	reason string
	say    string // to the client; empty is nothing
	err    error  // for the log
}

func (r refusal) Error() string { return r.err.Error() }

func (r refusal) Unwrap() error { return r.err }

// refusalOf makes a refusal of what Options.Login returns, or of a login that took too long.
func refusalOf(err error) refusal {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return refusal{byCredentials, tooLate, err}
	}
	var known *domain.Error
	if !errors.As(err, &known) {
		return refusal{byCredentials, violation, err}
	}
	if errors.Is(err, domain.ErrExpired) {
		return refusal{byCredentials, expired, err}
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
func (s *session) refuse(why error) {
	r := refusal{byLimit, why.Error(), why}
	errors.As(why, &r)
	if s.proxy.refused.add(r.reason, s.client, time.Now()) {
		s.proxy.log.Warn("tap refused; more refusals of this address are not logged for a minute", "client", s.client, "reason", why)
	}
	if r.say != "" {
		s.farewell(fmt.Appendf(nil, "-ERR '%s'\r\n", oneLine.Replace(r.say)))
	}
}

// oneLine makes a text fit into a line of NATS' protocol.
var oneLine = strings.NewReplacer("\r", " ", "\n", " ", "'", `"`)

const (
	refusalLogged  = time.Minute // how often the log names one client
	refusalsLogged = 1024        // clients that the log names in that time
)

// refusals counts refused and ended connections by reason, and remembers which clients the log has named.
type refusals struct {
	mu     sync.Mutex
	counts map[string]uint64
	logged map[string]time.Time // by client
}

func newRefusals() *refusals {
	r := &refusals{counts: map[string]uint64{}, logged: map[string]time.Time{}}
	for _, reason := range []string{byCredentials, byRole, byRate, byTLS, byConnections, byLimit, byEnd} {
		r.counts[reason] = 0
	}
	return r
}

func (r *refusals) count(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[reason]++
}

// add counts a refusal and reports whether to log it.
func (r *refusals) add(reason, client string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[reason]++
	if last, ok := r.logged[client]; ok && now.Sub(last) < refusalLogged {
		return false
	}
	if len(r.logged) >= refusalsLogged {
		maps.DeleteFunc(r.logged, func(_ string, last time.Time) bool { return now.Sub(last) >= refusalLogged })
	}
	if len(r.logged) >= refusalsLogged {
		return false
	}
	r.logged[client] = now
	return true
}

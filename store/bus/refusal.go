package bus

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"ledge/domain"
)

// The reasons for which a connection is refused or ended, as they are counted.
const (
	byCredentials = "credentials" // they are unknown
	byRole        = "role"        // the role may not read
	byRate        = "rate"        // too many failed logins
	byTLS         = "tls"         // no TLS
	byConnections = "connections" // a limit of connections
	byMemory      = "memory"      // too much waits for it
	byEnd         = "ended"       // the identity has lost its rights since
	bySubject     = "subject"     // an MQTT client may not use the topic
	byRoom        = "room"        // the stream had no room for the message of an MQTT client
)

// refusal is the reason if a client is refused.
type refusal struct {
	reason string
	err    error
}

func (r refusal) Error() string { return r.err.Error() }

func (r refusal) Unwrap() error { return r.err }

// refusalOf makes a refusal of the error of Options.Login.
func refusalOf(err error) refusal {
	known, ok := errors.AsType[*domain.Error](err)
	switch {
	case ok && known.Code == domain.Forbidden:
		return refusal{byRole, err}
	case ok && known.Code == domain.TooMany:
		return refusal{byRate, err}
	default:
		return refusal{byCredentials, err}
	}
}

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
	for _, reason := range []string{byCredentials, byRole, byRate, byTLS, byConnections, byMemory, byEnd} {
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

// Refusals returns how many connections the bus has refused or ended since the start, by reason.
func (b *Bus) Refusals() map[string]uint64 {
	if b == nil {
		return nil
	}
	r := b.gate.refusals
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.counts)
}

// limited is a context that ends after a time, or when the client is gone.
func (s *session) limited(limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	stop := context.AfterFunc(s.alive, cancel)
	return ctx, func() { stop(); cancel() }
}

// pauseFor returns after d, or when end is closed.
func pauseFor(d time.Duration, end <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-end:
	}
}

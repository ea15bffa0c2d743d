package identity

import (
	"errors"
	"maps"
	"sync"
	"time"

	"ledge/domain"
)

// The reasons of refusals, as [Authenticator.Refusals] counts them.
const (
	badPassword    = "password"
	badToken       = "token"
	badLogin       = "login"
	badCertificate = "certificate"
	badJWT         = "jwt"
	expired        = "expired"
	noRole         = "role"
	tooMany        = "too-many" // after failures of the same client
	busy           = "busy"     // too many waited, or the keys of the issuer were not there
)

// logInterval is the least time between two log lines for one client.
const logInterval = time.Minute

// refusals counts refusals by reason, and logs them.
type refusals struct {
	mu     sync.Mutex
	counts map[string]uint64
	logged *recent[*logged] // by client
}

type logged struct {
	at    time.Time
	since uint64 // refusals that were not logged
}

func newRefusals() *refusals {
	counts := map[string]uint64{}
	for _, reason := range []string{badPassword, badToken, badLogin, badCertificate, badJWT, expired, noRole, tooMany, busy} {
		counts[reason] = 0
	}
	return &refusals{counts: counts, logged: newRecent[*logged](mostClients)}
}

// Refusals returns how many requests were refused since the start, by reason.
func (a *Authenticator) Refusals() map[string]uint64 {
	a.refusals.mu.Lock()
	defer a.refusals.mu.Unlock()
	return maps.Clone(a.refusals.counts)
}

// refuse counts a refusal and logs it, once in logInterval for each client. The line has no name: people type passwords
// there.
func (a *Authenticator) refuse(client, reason string, err error) error {
	now, r := a.Now(), a.refusals
	r.mu.Lock()
	r.counts[reason]++
	l, ok := r.logged.get(client)
	if ok && now.Sub(l.at) < logInterval {
		l.since++
		r.mu.Unlock()
		return err
	}
	since := uint64(0)
	if ok {
		since = l.since
	}
	r.logged.put(client, &logged{at: now})
	r.mu.Unlock()
	a.Logger.Warn("identity refused", "address", client, "reason", reason, "alsoSinceLastLine", since)
	return err
}

// retryError is an error after which the client may try again in some time.
type retryError struct {
	cause *domain.Error
	after time.Duration
}

func (e *retryError) Error() string { return e.cause.Error() }
func (e *retryError) Unwrap() error { return e.cause }

func soon(err *domain.Error, seconds int) error {
	return &retryError{err, time.Duration(seconds) * time.Second}
}

// RetryAfter returns when the client may try again, in whole seconds for the header Retry-After. ok is false for an error
// that another try does not change.
func RetryAfter(err error) (seconds int, ok bool) {
	e, ok := errors.AsType[*retryError](err)
	if !ok {
		return 0, false
	}
	return max(int((e.after+time.Second-1)/time.Second), 1), true
}

// slowDown refuses a client that has to wait.
func (a *Authenticator) slowDown(client string, wait time.Duration) error {
	seconds := max(int((wait+time.Second-1)/time.Second), 1)
	return a.refuse(client, tooMany, soon(domain.Errorf(domain.TooMany, "too many failed attempts from this address; try again in %d s", seconds), seconds))
}

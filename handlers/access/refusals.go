package access

import (
	"log/slog"
	"net/http"
	"sync"
	"time"

	"ledge/domain"
)

// Reason is why a request was refused.
type Reason string

// The reasons.
const (
	NoLogin    Reason = "no_login"     // 401: nothing says who sends it
	BadLogin   Reason = "bad_login"    // 401: a token, certificate or password that is not valid
	WrongRole  Reason = "role"         // 403
	BadDevice  Reason = "device"       // 403: a poster to a device that its patterns do not match
	TooMany    Reason = "too_many"     // 429
	mostLogged        = 1024           // clients whose refusals are remembered for the log
	logRefusal        = time.Minute    // how often the log names one client
	unknown           = "unknown path" // in the log
)

// Reasons are all reasons.
var Reasons = []Reason{NoLogin, BadLogin, WrongRole, BadDevice, TooMany}

func reasonOf(status int, err error) Reason {
	_, device := err.(forbiddenDevice) //nolint:errorlint // as mayCall returns it
	switch {
	case status == http.StatusTooManyRequests:
		return TooMany
	case device:
		return BadDevice
	case status == http.StatusForbidden:
		return WrongRole
	case err == ErrNoLogin: //nolint:errorlint // as identify returns it
		return NoLogin
	default:
		return BadLogin
	}
}

// Refusals counts the requests that were refused, and logs one of each client at most once a minute.
type Refusals struct {
	Logger *slog.Logger
	Now    func() time.Time

	mu     sync.Mutex
	counts map[refused]int
	logged map[string]time.Time // by client, of the last minute
}

type refused struct {
	service string
	reason  Reason
}

// Count returns how many requests to a service were refused since the start.
func (f *Refusals) Count(service string, reason Reason) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts[refused{service, reason}]
}

// Note counts a refusal with a status because of err, and logs it. path is that of the route, "" if it is not known.
func (f *Refusals) Note(service string, r *http.Request, path string, status int, err error) {
	reason := reasonOf(status, err)
	if f.count(service, reason, domain.ClientOf(r.RemoteAddr)) && f.Logger != nil {
		if path == "" {
			path = unknown
		}
		f.Logger.Warn("request refused; more refusals of this address are not logged for a minute", "service", service, "reason", reason,
			"method", r.Method, "route", path, "actor", Actor(r), "remote", r.RemoteAddr)
	}
}

// count reports whether the refusal is to be logged. A client that does not fit into the table is not logged.
func (f *Refusals) count(service string, reason Reason, client string) bool {
	now := time.Now()
	if f.Now != nil {
		now = f.Now()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.counts == nil {
		f.counts, f.logged = map[refused]int{}, map[string]time.Time{}
	}
	f.counts[refused{service, reason}]++
	if last, ok := f.logged[client]; ok && now.Sub(last) < logRefusal {
		return false
	}
	if len(f.logged) >= mostLogged {
		for c, last := range f.logged {
			if now.Sub(last) >= logRefusal {
				delete(f.logged, c)
			}
		}
	}
	if len(f.logged) >= mostLogged {
		return false
	}
	f.logged[client] = now
	return true
}

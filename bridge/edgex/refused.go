package edgex

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// The reasons for which an event is refused for good, as they are counted.
const (
	byEnvelope = "envelope"  // the message cannot be decoded
	byEvent    = "invalid"   // core-data refuses the event as invalid
	bySize     = "too_large" // core-data refuses the event because of a limit
	byFailure  = "failed"    // core-data failed again and again
	byOther    = "other"
)

// reasonOf returns the reason of a status with which core-data answers.
func reasonOf(status int) string {
	switch {
	case status == http.StatusBadRequest:
		return byEvent
	case status == http.StatusRequestEntityTooLarge:
		return bySize
	case status >= http.StatusInternalServerError:
		return byFailure
	}
	return byOther
}

// Refused is a message that was refused for good.
type Refused struct {
	At      time.Time
	Subject string
	Reason  string
	Message string // the error
	Begin   []byte // of the data
}

const (
	refusedKept  = 256 // messages
	refusedBegin = 200 // bytes of each that are kept
	refusedText  = 500 // bytes of the subject, and of the error
	// loggedEvery is how often the log names one source, loggedMost how many sources it names in that time.
	loggedEvery, loggedMost = time.Minute, 64
)

// refusedList counts messages that were refused, and keeps the newest.
type refusedList struct {
	lock   sync.Mutex // guards the fields below
	counts map[string]uint64
	newest []Refused
	logged map[string]time.Time // by subject
}

func newRefusedList() refusedList {
	return refusedList{
		counts: map[string]uint64{byEnvelope: 0, byEvent: 0, bySize: 0, byFailure: 0, byOther: 0}, logged: map[string]time.Time{},
	}
}

// Refused returns the newest messages that were refused, the newest first.
func (l *refusedList) Refused() []Refused {
	l.lock.Lock()
	defer l.lock.Unlock()
	list := slices.Clone(l.newest)
	slices.Reverse(list)
	return list
}

// Refusals returns how many messages were refused since the start, by reason.
func (l *refusedList) Refusals() map[string]uint64 {
	l.lock.Lock()
	defer l.lock.Unlock()
	return maps.Clone(l.counts)
}

// add notes a refused message and reports whether to log it.
func (l *refusedList) add(one Refused) bool {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.counts[one.Reason]++
	if len(l.newest) == refusedKept {
		l.newest = slices.Delete(l.newest, 0, 1)
	}
	l.newest = append(l.newest, one)
	maps.DeleteFunc(l.logged, func(_ string, at time.Time) bool { return one.At.Sub(at) >= loggedEvery })
	if _, known := l.logged[one.Subject]; known || len(l.logged) >= loggedMost {
		return false
	}
	l.logged[one.Subject] = one.At
	return true
}

// refuse notes that a message is refused for good.
func (r *Readings) refuse(m Message, reason, message string) {
	one := Refused{
		At: r.o.Now(), Subject: cutText(m.Subject, refusedText), Reason: reason, Message: cutText(message, refusedText),
		Begin: slices.Clone(m.Data[:min(len(m.Data), refusedBegin)]),
	}
	if r.add(one) {
		r.o.Logger.Warn("event of EdgeX's message bus refused; more refusals of this subject are not logged for a minute",
			"subject", one.Subject, "reason", reason, "message", one.Message)
	}
}

// cutText returns at most n bytes of a text.
func cutText(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

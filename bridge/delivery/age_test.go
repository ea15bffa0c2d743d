package delivery

import (
	"log/slog"
	"testing"
	"time"

	"ledge/domain"
)

// TestAgeOverSteps computes the age of a transmission that was created at second 100 and has had tries, with clocks that were set in between.
func TestAgeOverSteps(t *testing.T) {
	for _, c := range []struct {
		name  string
		tries []int64 // seconds
		to    int64
		want  time.Duration
	}{
		{"no try", nil, 109, 9 * time.Second},
		{"two tries", []int64{101, 104}, 110, 10 * time.Second},
		{"set back before the first try", []int64{40, 42}, 50, 10 * time.Second},
		{"set back since the last try", []int64{101, 110}, 50, 10 * time.Second},
		{"set back twice", []int64{105, 20, 25, 7}, 7, 10 * time.Second},
	} {
		tr := domain.Transmission{Created: 100_000}
		for _, at := range c.tries {
			tr.Records = append(tr.Records, domain.TransmissionRecord{Sent: at * 1000})
		}
		if got := age(tr, c.to*1000); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// TestEscalatedOnceOverSteps fails a critical notification again and again, with a clock that is set back after the first try. It is escalated by
// the first try at an age of 10 s, and by no other. Before, it was escalated after as long as the clock was set back.
func TestEscalatedOnceOverSteps(t *testing.T) {
	d := New(Options{Logger: slog.New(slog.DiscardHandler), Escalation: func() (domain.Subscription, bool) {
		return domain.Subscription{Name: domain.EscalationSubscription}, true
	}})
	const created = int64(21_600_000)
	tr := domain.Transmission{Created: created, ResendLimit: 99, ResendInterval: 1000}
	sent := []int64{created, 1000, 4000, 9000, 13_000, 20_000, 30_000} // milliseconds; the second try comes after the step
	for i, at := range sent {
		d.Now = func() time.Time { return time.UnixMilli(at) }
		a := &attempt{Delivery: d, t: tr, n: domain.Notification{Severity: domain.SeverityCritical}, since: time.UnixMilli(at)}
		c := a.outcome(errTried)
		if escalated := c.Escalation != nil; escalated != (i == 4) {
			t.Errorf("try %d: escalated: %v", i, escalated)
		}
		if age := time.Duration(max(0, at-1000)) * time.Millisecond; i > 0 && i < 4 && time.Duration(c.Next-at)*time.Millisecond > escalateAfter-age {
			t.Errorf("try %d: the next one comes after %d ms, at an age of more than %v", i, c.Next-at, escalateAfter)
		}
		tr.Records = append(tr.Records, c.Record)
	}
}

var errTried = domain.Errorf(domain.Unavailable, "no answer")

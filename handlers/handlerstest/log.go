// Package handlerstest has what the tests of the services share: a log in memory and tables of scenarios.
package handlerstest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"ledge/domain"
	"ledge/domain/history"
	"ledge/handlers"
	"ledge/handlers/access"
)

// Log is a log in memory with a real fold behind it: the same Decide and Evolve as in the store, and each event goes
// through its stored form. It is a handlers.Submitter, and View is an entities.Reader.
type Log struct {
	mu       sync.Mutex
	state    domain.State
	seq      *uint64 // of the event that was recorded last
	recorded []domain.Recorded
	more     chan struct{} // closed and replaced when an event is recorded
	submits  int
	// Fail, if set, is what Submit answers.
	Fail error
	// Unreadable makes View panic, with Fail where there is one: as a defect would, or a damaged file.
	Unreadable bool
	// Before, if set, is called by Submit before anything is decided.
	Before func()
}

// NewLog returns an empty log.
func NewLog() *Log {
	seq := new(uint64)
	return &Log{state: newState(seq), seq: seq, more: make(chan struct{})}
}

// LogOf returns a log that is what was recorded: as after a crash, of the beginning of another one.
func LogOf(recorded []domain.Recorded) *Log {
	l := NewLog()
	for i := range recorded {
		*l.seq = recorded[i].Seq
		domain.Evolve(l.state, &recorded[i])
	}
	l.recorded = slices.Clone(recorded)
	return l
}

// Submit implements handlers.Submitter.
func (l *Log) Submit(_ context.Context, reqs ...domain.Request) ([]domain.Outcome, error) {
	if l.Before != nil {
		l.Before()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.submits++
	if l.Fail != nil {
		return nil, l.Fail
	}
	outcomes := make([]domain.Outcome, len(reqs))
	for i, r := range reqs {
		outcomes[i] = l.record(r)
		if err := countsBytes(r, outcomes[i].Event); err != nil {
			return nil, err
		}
	}
	return outcomes, nil
}

// countsBytes holds that a request says how many bytes it has: the queue of the log is bounded by what it says.
func countsBytes(r domain.Request, event domain.Event) error {
	if event == nil {
		return nil
	}
	wire, _, err := domain.Record(event)
	if err == nil && len(wire.Data) > 2*r.Bytes+2048 {
		err = fmt.Errorf("handlerstest: %T has %d bytes on the log and Bytes of its request are %d", event, len(wire.Data), r.Bytes)
	}
	return err
}

func (l *Log) record(r domain.Request) domain.Outcome {
	event, err := domain.Decide(domain.Overlay(l.state), r)
	if err != nil || event == nil {
		return domain.Outcome{Err: err}
	}
	wire, _, err := domain.Record(event)
	if err == nil {
		event, err = domain.Decode(wire)
	}
	if err != nil {
		return domain.Outcome{Err: err}
	}
	*l.seq++
	recorded := domain.Recorded{Stamp: r.Stamp, Seq: *l.seq, Event: event}
	domain.Evolve(l.state, &recorded)
	l.recorded = append(l.recorded, recorded)
	close(l.more)
	l.more = make(chan struct{})
	return domain.Outcome{Seq: *l.seq, Event: event}
}

// View implements entities.Reader.
func (l *Log) View() (domain.View, func()) {
	if l.Unreadable && l.Fail != nil {
		panic(l.Fail)
	}
	if l.Unreadable {
		panic("unreadable")
	}
	l.mu.Lock()
	return domain.View{State: l.state, Lists: lists{l.state, l.seq}}, l.mu.Unlock
}

// Submits counts the calls of Submit.
func (l *Log) Submits() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.submits
}

// Recorded returns what is on the log.
func (l *Log) Recorded() []domain.Recorded {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.recorded)
}

// At implements history.Reader.
func (l *Log) At(_ context.Context, seq uint64) (r domain.Recorded, ok bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if seq == 0 || seq > uint64(len(l.recorded)) {
		return r, false, l.Fail
	}
	return l.recorded[seq-1], true, l.Fail
}

// Read implements history.Reader.
func (l *Log) Read(_ context.Context, from, to uint64, f func(domain.Recorded) error) error {
	for _, r := range l.Recorded()[from-1 : to] {
		if err := f(r); err != nil {
			return err
		}
	}
	return l.Fail
}

// Past returns the past of the log. An event is stored at the time of its request.
func (l *Log) Past() *handlers.Past {
	return handlers.NewPast(history.NewPast(history.Source{
		State: l.View, Log: l, First: func() uint64 { return 1 }, Last: func() uint64 { return uint64(len(l.Recorded())) },
		UpTo: func(_ context.Context, t time.Time) (seq uint64, _ error) {
			for _, r := range l.Recorded() {
				if !r.At.After(t) {
					seq = r.Seq
				}
			}
			return seq, nil
		},
	}))
}

// Given records commands before a test begins.
func (l *Log) Given(tb testing.TB, commands ...domain.Command) {
	tb.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range commands {
		if o := l.record(domain.Request{Command: c}); o.Err != nil {
			tb.Fatalf("given %T: %v", c, o.Err)
		}
	}
}

// Now is the time of every request, and NowMilli the same in milliseconds since the Unix epoch.
var Now = time.Date(2026, 11, 21, 7, 42, 5, 123456789, time.UTC)

// NowMilli is Now in milliseconds since the Unix epoch.
const NowMilli = 1795246925123

// Options returns options with a clock that stands still, ids that count up: ID(1), ID(2), …, and limits that no test
// meets by accident.
func Options(service string) handlers.Options {
	var mu sync.Mutex
	n := 0
	o := handlers.Options{
		Service: service, Version: "1.2.3",
		BodyBytes: 16 << 20, UploadBytes: 8 << 20, ResourceBytes: 16 << 20, InlineBytes: 256 << 10, BodyMemory: 128 << 20,
		BatchElements: 10_000, MaxResults: 1024, BodiesInFlight: 1000, BodyTimeout: time.Minute, BodyRate: 1, WriteTimeout: time.Minute,
		IdempotencyKeep: 24 * time.Hour, IdempotencyAnswers: 20_000,
		Access: &access.Access{Authenticator: Logins{}, Open: true},
		Now:    func() time.Time { return Now },
		NewID: func() string {
			mu.Lock()
			defer mu.Unlock()
			n++
			return ID(n)
		},
	}
	if service != "core-metadata" && service != "core-data" && service != "core-command" { // which have none in EdgeX
		o.Secrets, o.SecretBytes = &Secrets{}, 256<<10
	}
	return o
}

// ID is the n-th id that Options makes.
func ID(n int) string { return fmt.Sprintf("00000000-0000-7000-8000-%012d", n) }

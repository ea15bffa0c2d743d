package storetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"ledge/domain"
	"ledge/store"

	"github.com/google/uuid"
)

// Projection is a projection on plain maps that keeps every event it was given.
type Projection struct {
	mu     sync.Mutex
	state  domain.State
	seq    *uint64 // of the event that is being applied
	events []domain.Recorded
	// Fail, where it is set, may refuse an Apply.
	Fail func([]domain.Recorded) error
}

// NewProjection returns an empty projection.
func NewProjection() *Projection {
	seq := new(uint64)
	return &Projection{state: domain.OverlayAt(domain.NewMapState(), seq), seq: seq}
}

// State implements store.Projection.
func (p *Projection) State() (domain.State, func()) {
	p.mu.Lock()
	return p.state, p.mu.Unlock
}

// Apply implements store.Projection. It refuses a group that does not follow the checkpoint.
func (p *Projection) Apply(group []domain.Recorded) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Fail != nil {
		if err := p.Fail(group); err != nil {
			return err
		}
	}
	for _, r := range group {
		if n := len(p.events); n > 0 && r.Seq != p.events[n-1].Seq+1 {
			return fmt.Errorf("event %d after %d", r.Seq, p.events[n-1].Seq)
		}
		*p.seq = r.Seq
		domain.Evolve(p.state, &r)
		p.events = append(p.events, r)
	}
	return nil
}

// Checkpoint implements store.Projection.
func (p *Projection) Checkpoint() (uint64, [32]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.events) == 0 {
		return 0, [32]byte{}
	}
	last := p.events[len(p.events)-1]
	return last.Seq, last.Chain
}

// Events returns all events applied so far.
func (p *Projection) Events() []domain.Recorded {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.events[:len(p.events):len(p.events)]
}

// add adds a device service unless the name is taken: the smallest command that can be refused.
type add struct{ name, description string }

func (c add) Decide(s domain.State) (domain.Event, error) {
	if _, taken := s.Services.Get(c.name); taken {
		return nil, domain.Errorf(domain.Conflict, "service %q exists", c.name)
	}
	return domain.ServiceAdded{Service: domain.DeviceService{
		ID: c.name, Name: c.name, Description: c.description, BaseAddress: "http://localhost", AdminState: "UNLOCKED",
	}}, nil
}

type nothing struct{}

func (nothing) Decide(domain.State) (domain.Event, error) { return nil, nil }

type panics struct{}

func (panics) Decide(domain.State) (domain.Event, error) { panic("on purpose") }

// Request stamps a command with a new id and the time.
func Request(c domain.Command) domain.Request {
	return domain.Request{Stamp: domain.Stamp{
		EventID: uuid.NewString(), At: time.Now(), Actor: "test", Origin: "internal", CorrelationID: "c-1",
	}, Command: c}
}

// Add asks for a device service of that name; it is refused with domain.Conflict where there is one.
func Add(name string) domain.Request { return Request(add{name, "made by a test"}) }

// AddLarge asks for a device service whose event takes size bytes and more.
func AddLarge(name string, size int) domain.Request {
	r := Request(add{name, strings.Repeat("x", size)})
	r.Bytes = size
	return r
}

// Nothing asks for no change.
func Nothing() domain.Request { return Request(nothing{}) }

// Panics asks for what ends in a panic.
func Panics() domain.Request { return Request(panics{}) }

// AddOnce is Add with a key, as element of a request.
func AddOnce(name, key string, element int) domain.Request {
	r := Add(name)
	r.Key = &domain.Key{Hash: key, Digest: "body", Element: element, Until: r.At.Add(time.Hour).UnixMilli()}
	r.MostAnswers = 10_000
	return r
}

// Post asks for a reading of a device.
func Post(device string, body []byte) domain.Request {
	r := Request(domain.PostReading{Reading: domain.ReadingPosted{Reading: domain.Reading{
		ID: uuid.NewString(), Profile: "camera", Device: device, Resource: "jpeg", ValueType: "Binary",
		MediaType: "image/jpeg", Size: int64(len(body)), Origin: time.Now().UnixNano(),
	}, Value: body}})
	r.Bytes = len(body)
	return r
}

// MustAppender returns an appender that is closed with the test.
func MustAppender(tb testing.TB, l *store.Log, p store.Projection) *store.Appender {
	tb.Helper()
	a, err := store.NewAppender(context.Background(), l, p, store.AppenderOptions{})
	if err != nil {
		tb.Fatalf("new appender: %v", err)
	}
	tb.Cleanup(func() { _ = a.Close() })
	return a
}

// MustSubmit submits requests that must all be recorded.
func MustSubmit(tb testing.TB, a *store.Appender, requests ...domain.Request) []domain.Outcome {
	tb.Helper()
	outcomes, err := a.Submit(context.Background(), requests...)
	if err != nil {
		tb.Fatalf("submit: %v", err)
	}
	for i, o := range outcomes {
		if o.Err != nil || o.Seq == 0 {
			tb.Fatalf("outcome %d of %d: %+v", i, len(outcomes), o)
		}
	}
	return outcomes
}

// MustAdd records n device services called prefix-0, prefix-1 and so on, in one submission.
func MustAdd(tb testing.TB, a *store.Appender, prefix string, n int) []domain.Outcome {
	tb.Helper()
	requests := make([]domain.Request, n)
	for i := range requests {
		requests[i] = Add(fmt.Sprintf("%s-%d", prefix, i))
	}
	return MustSubmit(tb, a, requests...)
}

// MustRead returns the events of a log from one sequence to another.
func MustRead(tb testing.TB, l *store.Log, from, to uint64) []domain.Recorded {
	tb.Helper()
	var all []domain.Recorded
	for r, err := range l.Read(context.Background(), from, to) {
		if err != nil {
			tb.Fatalf("read %s from %d: %v", l.Name(), from, err)
		}
		all = append(all, r)
	}
	return all
}

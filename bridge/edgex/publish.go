package edgex

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"ledge/domain"
)

// EventsOptions configures [NewEvents].
type EventsOptions struct {
	// Readings follows the events that are on record and that core-data answers, from a sequence on.
	Readings interface {
		Follow(ctx context.Context, from uint64, f func([]domain.Recorded) error) error
	}
	// Changes follows the changes of entities, and Whole returns a change of an entity with the whole entity.
	Changes interface {
		Follow(ctx context.Context, from uint64, f func([]domain.Recorded) error) error
	}
	Whole func(context.Context, domain.Recorded) (domain.Recorded, error)
	// Read reads the newest state of the entities.
	Read func(func(domain.View) error) error
	// V3 has the messages in API v3, of EdgeX 3.1 and 4.0, in place of API v2, of EdgeX 2.3.
	V3 bool
	// CoreData serves GET /api/v2/event/id/…, in the name of the bus.
	CoreData http.Handler
	// Own is the origin of the events that came over the bus: they are on the bus already.
	Own string
	// Heard reports whether a client is connected. Without one nothing is published.
	Heard func() bool
	// Publish publishes a message without waiting for its receivers.
	Publish func(Message) error
	// MaxBytes is the longest payload to publish.
	MaxBytes int
	Logger   *slog.Logger
	// Now is the clock of the log lines.
	Now func() time.Time
	// Pause is the time between two tries to read an event; the default is 1 s.
	Pause time.Duration
}

// The reasons for which an event is not published, as they are counted.
const (
	byLength = "too_large"
	byAnswer = "failed" // core-data or the bus failed
)

// publishTries is how often an event is read from core-data, or published, before it is given up.
const publishTries = 5

// Events publishes the events that core-data has recorded, and the system events of core-metadata, as EdgeX does.
type Events struct {
	o EventsOptions

	mu          sync.Mutex // guards the fields below
	published   uint64
	unpublished map[string]uint64 // by reason
	logged      time.Time
}

// NewEvents returns an Events that publishes the events of core-data.
func NewEvents(o EventsOptions) *Events {
	if o.Pause == 0 {
		o.Pause = time.Second
	}
	return &Events{o: o, unpublished: map[string]uint64{byLength: 0, byAnswer: 0}}
}

// Run publishes the events from a sequence on, in their order, until ctx ends. A nil Events publishes nothing.
func (e *Events) Run(ctx context.Context, from uint64) error {
	if e == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	return e.o.Readings.Follow(ctx, from, func(group []domain.Recorded) error {
		for _, r := range group {
			if a := addedIn(r.Event); a.id != "" && r.Origin != e.o.Own && e.o.Heard() {
				e.publish(ctx, a.id, func() ([]Message, error) { return e.message(ctx, r, a) })
			}
		}
		return ctx.Err()
	})
}

// added is an event that a record adds.
type added struct {
	id     string
	bytes  int64 // of its values
	binary bool  // a value is binary
}

// addedIn returns the event that a record adds; the id is "" if it adds none.
func addedIn(event domain.Event) (a added) {
	switch e := event.(type) {
	case domain.DataEventAdded:
		a.id = e.Event.ID
		for _, r := range e.Readings {
			a.bytes += r.Size
			a.binary = a.binary || r.ValueType == domain.Binary
		}
	case domain.ReadingPosted:
		a = added{e.Event, e.Size, e.ValueType == domain.Binary}
	}
	return a
}

// publish publishes the messages of an event or of a change. The name is the event or the entity, for the log. The messages of a removed
// event are left out.
func (e *Events) publish(ctx context.Context, name string, newMessages func() ([]Message, error)) {
	var messages []Message
	err := e.retry(ctx, func() (err error) {
		messages, err = newMessages()
		return err
	})
	if err != nil {
		e.count(ctx, name, err)
		return
	}
	for _, m := range messages {
		if err = e.checkLength(int64(len(m.Data))); err == nil {
			err = e.retry(ctx, func() error { return e.o.Publish(m) })
		}
		e.count(ctx, name, err)
	}
}

// retry calls f until it succeeds, five times at most. It returns the last error.
func (e *Events) retry(ctx context.Context, f func() error) (err error) {
	for try := range publishTries {
		if try > 0 {
			pauseFor(ctx, e.o.Pause)
		}
		if err = f(); err == nil || errors.Is(err, errGone) || errors.Is(err, errTooLarge) || ctx.Err() != nil {
			break
		}
	}
	return err
}

// count counts a message by the error with which it was published. The end of ctx and a removed event do not count.
func (e *Events) count(ctx context.Context, name string, err error) {
	switch {
	case err == nil:
		e.mu.Lock()
		e.published++
		e.mu.Unlock()
	case errors.Is(err, errTooLarge):
		e.unpublish(name, byLength, err)
	case !errors.Is(err, errGone) && ctx.Err() == nil:
		e.unpublish(name, byAnswer, err)
	}
}

// checkLength refuses a payload that is too long.
func (e *Events) checkLength(bytes int64) error {
	if bytes > int64(e.o.MaxBytes) {
		return fmt.Errorf("%w: %d bytes of at most %d", errTooLarge, bytes, e.o.MaxBytes)
	}
	return nil
}

var errGone, errTooLarge = errors.New("the event was removed"), errors.New("the payload is too long")

// message returns the message of an event: an AddEventRequest, in CBOR if a reading is binary, with the envelope in headers.
func (e *Events) message(ctx context.Context, r domain.Recorded, a added) ([]Message, error) {
	if err := e.checkLength(a.bytes); err != nil {
		return nil, err // core-data need not read it
	}
	contentType, write := typeJSON, ofJSON.requestOf
	if a.binary {
		contentType, write = typeCBOR, ofCBOR.requestOf
	}
	text, err := e.read(ctx, a.id, contentType)
	if err != nil {
		return nil, err
	}
	m := Message{Header: e.headersOf(contentType, r.CorrelationID)}
	if m.Data, err = write(text, e.version()); err != nil {
		return nil, err
	}
	source := r.Event.Subject() // the profile, the device and the source
	m.Subject = publishedSubjects + strings.Join(source, ".")
	if e.o.V3 {
		service, err := e.serviceOf(source[1])
		if err != nil {
			return nil, err
		}
		m.Subject = publishedSubjects + service + "." + strings.Join(source, ".")
	}
	return []Message{m}, nil
}

// version returns the version of the API in which the messages are.
func (e *Events) version() string {
	if e.o.V3 {
		return "v3"
	}
	return "v2"
}

// headersOf is the envelope of a message that Ledge publishes.
func (e *Events) headersOf(contentType, correlation string) map[string][]string {
	correlation, _ = domain.CutHops(correlation)
	return map[string][]string{
		"ApiVersion": {e.version()}, "Content-Type": {contentType}, "ErrorCode": {"0"}, "RequestId": {""},
		"X-Correlation-ID": {correlation},
	}
}

// publishedSubjects begins the subjects of the events that core-data publishes.
const publishedSubjects = "edgex.events.core."

// read returns the answer of core-data with an event.
func (e *Events) read(ctx context.Context, id, contentType string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://bus/api/v2/event/id/"+id, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.RequestURI = request.URL.RequestURI()
	request.Header.Set("Accept", contentType)
	a := &answer{header: http.Header{}}
	e.o.CoreData.ServeHTTP(a, request)
	switch a.status {
	case http.StatusOK:
		return a.body.Bytes(), nil
	case http.StatusNotFound:
		return nil, errGone
	}
	return nil, fmt.Errorf("core-data answered %d: %.200s", a.status, a.body.Bytes())
}

// requestOf returns an AddEventRequest of a version of the API with the event of an answer of core-data.
func (f format[R]) requestOf(answer []byte, version string) ([]byte, error) {
	var answered struct {
		Event event[R] `json:"event"`
	}
	if err := f.decode(answer, &answered); err != nil {
		return nil, fmt.Errorf("decode the answer of core-data: %w", err)
	}
	answered.Event.APIVersion = version
	return f.encode(addEvent[R]{version, uuid.Must(uuid.NewV7()).String(), answered.Event})
}

// unpublish counts a message that is not published, and logs one in a minute.
func (e *Events) unpublish(name, reason string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unpublished[reason]++
	if now := e.o.Now(); now.Sub(e.logged) >= loggedEvery {
		e.logged = now
		e.o.Logger.Warn("not published on EdgeX's message bus; more are not logged for a minute",
			"name", name, "reason", reason, "error", err)
	}
}

// Published returns how many events were published since the start, and how many were not, by reason.
func (e *Events) Published() (published uint64, not map[string]uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.published, maps.Clone(e.unpublished)
}

package edgex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"
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

// Events publishes the events that core-data has recorded, and the system events of core-metadata, as EdgeX 2.3 does.
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
				e.publish(ctx, a.id, func() (Message, error) { return e.message(ctx, r, a) })
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

// publish publishes a message. The name is its event or its entity, for the log. A message of a removed event is left out.
func (e *Events) publish(ctx context.Context, name string, newMessage func() (Message, error)) {
	var err error
	for try := 0; try < publishTries && ctx.Err() == nil; try++ {
		if try > 0 {
			pauseFor(ctx, e.o.Pause)
		}
		var m Message
		if m, err = newMessage(); err == nil {
			err = e.checkLength(int64(len(m.Data)))
		}
		if err == nil {
			err = e.o.Publish(m)
		}
		switch {
		case err == nil:
			e.mu.Lock()
			e.published++
			e.mu.Unlock()
			return
		case errors.Is(err, errGone):
			return
		case errors.Is(err, errTooLarge):
			e.unpublish(name, byLength, err)
			return
		}
	}
	if ctx.Err() == nil {
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
func (e *Events) message(ctx context.Context, r domain.Recorded, a added) (m Message, err error) {
	if err := e.checkLength(a.bytes); err != nil {
		return m, err // core-data need not read it
	}
	contentType := typeJSON
	if a.binary {
		contentType = typeCBOR
	}
	text, err := e.read(ctx, a.id, contentType)
	if err != nil {
		return m, err
	}
	if a.binary {
		m.Data, err = requestOf[cbor.RawMessage](text, decodeCBOR, cbor.Marshal)
	} else {
		m.Data, err = requestOf[json.RawMessage](text, json.Unmarshal, json.Marshal)
	}
	m.Subject = publishedSubjects + strings.Join(r.Event.Subject(), ".") // the profile, the device and the source
	m.Header = headersOf(contentType, r.CorrelationID)
	return m, err
}

// headersOf is the envelope of a message that Ledge publishes.
func headersOf(contentType, correlation string) map[string][]string {
	correlation, _ = domain.CutHops(correlation)
	return map[string][]string{
		"ApiVersion": {"v2"}, "Content-Type": {contentType}, "ErrorCode": {"0"}, "RequestId": {""}, "X-Correlation-ID": {correlation},
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

// requestOf returns an AddEventRequest with the event of an answer.
func requestOf[R ~[]byte](text []byte, decode func([]byte, any) error, encode func(any) ([]byte, error)) ([]byte, error) {
	var answered struct {
		Event R `json:"event"`
	}
	if err := decode(text, &answered); err != nil {
		return nil, fmt.Errorf("decode the answer of core-data: %w", err)
	}
	return encode(struct {
		APIVersion string `json:"apiVersion"`
		RequestID  string `json:"requestId"`
		Event      R      `json:"event"`
	}{"v2", uuid.Must(uuid.NewV7()).String(), answered.Event})
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

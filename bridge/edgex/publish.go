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

// Events publishes the events that core-data has recorded, as core-data of EdgeX does.
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
			if id, binary := addedIn(r.Event); id != "" && r.Origin != e.o.Own && e.o.Heard() {
				e.publish(ctx, r, id, binary)
			}
		}
		return ctx.Err()
	})
}

// addedIn returns the id of the event that a record adds, "" if it adds none, and whether a reading of it is binary.
func addedIn(event domain.Event) (id string, binary bool) {
	switch a := event.(type) {
	case domain.DataEventAdded:
		for _, r := range a.Readings {
			binary = binary || r.ValueType == domain.Binary
		}
		return a.Event.ID, binary
	case domain.ReadingPosted:
		return a.Event, a.ValueType == domain.Binary
	}
	return "", false
}

// publish publishes one event. An event that core-data does not have any more is left out.
func (e *Events) publish(ctx context.Context, r domain.Recorded, id string, binary bool) {
	var err error
	for try := 0; try < publishTries && ctx.Err() == nil; try++ {
		if try > 0 {
			pauseFor(ctx, e.o.Pause)
		}
		var m Message
		if m, err = e.message(ctx, r, id, binary); err == nil {
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
			e.unpublish(id, byLength, err)
			return
		}
	}
	if ctx.Err() == nil {
		e.unpublish(id, byAnswer, err)
	}
}

var errGone, errTooLarge = errors.New("the event was removed"), errors.New("the payload is too long")

// message returns the message of an event: an AddEventRequest, in CBOR if a reading is binary, with the envelope in headers.
func (e *Events) message(ctx context.Context, r domain.Recorded, id string, binary bool) (m Message, err error) {
	contentType := typeJSON
	if binary {
		contentType = typeCBOR
	}
	text, err := e.read(ctx, id, contentType)
	if err != nil {
		return m, err
	}
	if binary {
		m.Data, err = requestOf[cbor.RawMessage](text, decodeCBOR, cbor.Marshal)
	} else {
		m.Data, err = requestOf[json.RawMessage](text, json.Unmarshal, json.Marshal)
	}
	if err == nil && len(m.Data) > e.o.MaxBytes {
		err = fmt.Errorf("%w: %d bytes of at most %d", errTooLarge, len(m.Data), e.o.MaxBytes)
	}
	m.Subject = publishedSubjects + strings.Join(r.Event.Subject(), ".") // the profile, the device and the source
	m.Header = map[string][]string{
		"ApiVersion": {"v2"}, "Content-Type": {contentType}, "ErrorCode": {"0"}, "RequestId": {""}, "X-Correlation-ID": {r.CorrelationID},
	}
	return m, err
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

// unpublish counts an event that is not published, and logs one in a minute.
func (e *Events) unpublish(id, reason string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unpublished[reason]++
	if now := e.o.Now(); now.Sub(e.logged) >= loggedEvery {
		e.logged = now
		e.o.Logger.Warn("event not published on EdgeX's message bus; more are not logged for a minute",
			"event", id, "reason", reason, "error", err)
	}
}

// Published returns how many events were published since the start, and how many were not, by reason.
func (e *Events) Published() (published uint64, not map[string]uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.published, maps.Clone(e.unpublished)
}

// Package edgex takes the messages of EdgeX's message bus: it posts the events of device services to core-data.
//
// It reads the envelopes of EdgeX 2.3, 3.1 and 4.0 in the formats nats and json, in JSON and in CBOR. Core-data checks and records an event
// as one that was posted over HTTP. An event that core-data refuses for good is counted and kept in a short list.
package edgex

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Options configures [New].
type Options struct {
	// CoreData serves POST /api/v2/event/…, in the name of the bus.
	CoreData http.Handler
	Logger   *slog.Logger
	// Now is the clock of the list of refused messages.
	Now func() time.Time
	// Pause is the time between two tries to post an event; the default is 1 s.
	Pause time.Duration
}

const (
	// atOnce is how many events are posted at a time. The events of a device are posted one after the other.
	atOnce = 16
	// mostFailures is how often an event is posted that core-data answers with 500.
	mostFailures = 10
)

// Readings posts events to core-data.
type Readings struct {
	o Options
	refusedList

	mu              sync.Mutex // guards the fields below
	taken, repeated uint64
}

// New returns a Readings that posts events to core-data.
func New(o Options) *Readings {
	if o.Pause == 0 {
		o.Pause = time.Second
	}
	return &Readings{o: o, refusedList: newRefusedList()}
}

// Take posts the events of a batch, those of one device in their order. Other messages are left alone. When it returns nil, each
// event is on record or refused for good. The error comes from ctx.
func (r *Readings) Take(ctx context.Context, batch []Message) error {
	var work errgroup.Group
	work.SetLimit(atOnce)
	for _, messages := range byDevice(batch) {
		work.Go(func() error {
			for _, m := range messages {
				if err := r.take(ctx, m); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return work.Wait()
}

// byDevice returns the events of a batch by the device in their subject.
func byDevice(batch []Message) map[string][]Message {
	all := map[string][]Message{}
	for _, m := range batch {
		if !strings.HasPrefix(m.Subject, eventSubjects) {
			continue
		}
		device := ""
		if levels := strings.Split(m.Subject, "."); len(levels) > 2 {
			device = levels[len(levels)-2]
		}
		all[device] = append(all[device], m)
	}
	return all
}

// take posts one event until core-data has it or refuses it for good.
func (r *Readings) take(ctx context.Context, m Message) error {
	from, e, err := decodeEvent(m)
	if err != nil {
		r.refuse(m, byEnvelope, err.Error())
		return nil
	}
	for tries := 1; ctx.Err() == nil; tries++ {
		status, message := r.post(ctx, from, e)
		switch {
		case status == http.StatusCreated:
			r.count(&r.taken)
			return nil
		case status == http.StatusConflict:
			r.count(&r.repeated)
			return nil
		case !isTemporary(status) && (status < http.StatusInternalServerError || tries >= mostFailures):
			r.refuse(m, reasonOf(status), message)
			return nil
		}
		pauseFor(ctx, r.o.Pause)
	}
	return ctx.Err()
}

// decodeEvent returns the source of an event and its envelope, with the payload as API v2 has it.
func decodeEvent(m Message) (source, envelope, error) {
	from, err := sourceOf(m.Subject)
	if err != nil {
		return source{}, envelope{}, err
	}
	e, err := openEnvelope(m)
	if err == nil && e.isFrom3() {
		e.payload, err = toV2(e)
	}
	return from, e, err
}

// isTemporary reports whether core-data takes an event later that it has answered with a status.
func isTemporary(status int) bool {
	return status == http.StatusServiceUnavailable || status == http.StatusInsufficientStorage || status == http.StatusTooManyRequests
}

// post posts an event and returns the status and the message of the answer.
func (r *Readings) post(ctx context.Context, from source, e envelope) (status int, message string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://bus"+from.path(), bytes.NewReader(e.payload))
	if err != nil {
		return http.StatusBadRequest, err.Error()
	}
	request.RequestURI = request.URL.RequestURI()
	request.Header.Set("Content-Type", e.contentType)
	if e.correlation != "" {
		request.Header.Set("X-Correlation-Id", e.correlation)
	}
	a := &answer{header: http.Header{}}
	r.o.CoreData.ServeHTTP(a, request)
	var said struct{ Message string }
	_ = json.Unmarshal(a.body.Bytes(), &said)
	return a.status, said.Message
}

func (r *Readings) count(n *uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*n++
}

// Taken returns how many events core-data has recorded since the start, and how many it had already.
func (r *Readings) Taken() (taken, repeated uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken, r.repeated
}

// answer holds an answer. Its deadlines do nothing.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
}

func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}

func (a *answer) SetReadDeadline(time.Time) error  { return nil }
func (a *answer) SetWriteDeadline(time.Time) error { return nil }

// pauseFor returns after d, or when ctx ends.
func pauseFor(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

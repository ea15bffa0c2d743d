package edgex

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"ledge/domain"
)

// records are on record already.
type records []domain.Recorded

// Follow gives all of them at once.
func (r records) Follow(_ context.Context, _ uint64, f func([]domain.Recorded) error) error {
	return f(r)
}

// recordAdded returns the record of an event with one reading.
func recordAdded(id, origin string) domain.Recorded {
	e := domain.DataEvent{ID: id, Profile: "climate", Device: "d", Source: "hum"}
	return domain.Recorded{Stamp: domain.Stamp{Origin: origin, CorrelationID: "c-" + id}, Event: domain.DataEventAdded{Event: e}}
}

// TestEvents publishes events in their order, although one was removed, one is too long, one came over the bus, core-data is busy or fails,
// and the bus is away for a moment.
func TestEvents(t *testing.T) {
	var lines bytes.Buffer
	var published []string
	tries, heard := map[string]int{}, true
	o := EventsOptions{
		Readings: records{
			recordAdded("a", "rest"), recordAdded("gone", "rest"), recordAdded("busy", "rest"), recordAdded("over-bus", "bus"),
			recordAdded("long", "rest"), recordAdded("fails", "rest"), {Event: domain.DataEventsRemoved{Events: []string{"a"}}},
			recordAdded("away", "rest"), recordAdded("z", "rest"),
		},
		Own: "bus", MaxBytes: 500, Heard: func() bool { return heard }, Pause: time.Nanosecond, Now: time.Now,
		Logger: slog.New(slog.NewTextHandler(&lines, nil)),
		CoreData: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id := strings.TrimPrefix(r.URL.Path, "/api/v2/event/id/")
			tries[id]++
			switch {
			case id == "gone":
				w.WriteHeader(http.StatusNotFound)
			case id == "busy" && tries[id] < 3, id == "fails":
				w.WriteHeader(http.StatusServiceUnavailable)
			case id == "long":
				fmt.Fprintf(w, `{"event":{"id":%q}}`, strings.Repeat("x", 500))
			default:
				fmt.Fprintf(w, `{"apiVersion":"v2","statusCode":200,"event":{"id":%q,"origin":1795771745179468565}}`, id)
			}
		}),
		Publish: func(m Message) error {
			if tries["publish"]++; bytes.Contains(m.Data, []byte("away")) && tries["publish"] < 5 {
				return errors.New("the bus is not running")
			}
			published = append(published, m.Header["X-Correlation-ID"][0])
			if m.Subject != "edgex.events.core.climate.d.hum" || !bytes.Contains(m.Data, []byte(`"origin":1795771745179468565`)) {
				t.Errorf("published %s %s", m.Subject, m.Data)
			}
			return nil
		},
	}
	e := NewEvents(o)
	if err := e.Run(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(published, " "); got != "c-a c-busy c-away c-z" {
		t.Errorf("published %s", got)
	}
	n, not := e.Published()
	if n != 4 || not[byLength] != 1 || not[byAnswer] != 1 || tries["fails"] != publishTries {
		t.Errorf("counted %d and %v, %d tries", n, not, tries["fails"])
	}
	if got := strings.Count(lines.String(), "\n"); got != 1 {
		t.Errorf("%d lines in a minute: %s", got, &lines)
	}
	heard, published = false, nil
	if err := e.Run(t.Context(), 1); err != nil || len(published) > 0 {
		t.Errorf("published to nobody: %v, %v", published, err)
	}
}

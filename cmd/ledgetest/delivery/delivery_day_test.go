package delivery

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ledge/cmd/internal/node/nodetest"
	"ledge/cmd/internal/server"
	"ledge/cmd/internal/services"
	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// day is one of 24 hours that a clock of its own passes in seconds: a notification every five minutes, to an endpoint that
// is always there and to one that is down for two hours.
type day struct {
	*server.Server
	client     *ledgetest.Node
	start      time.Time
	passed     atomic.Int64 // since start, in nanoseconds
	fine, shut *endpoint
}

const (
	dayStep   = 5 * time.Minute
	daySteps  = int(24 * time.Hour / dayStep)
	downFrom  = 11 * time.Hour
	downTo    = 13 * time.Hour
	dayKept   = 6 * time.Hour
	dayResend = 3
)

// endpoint is a receiver that counts tries by the contents that it is sent.
type endpoint struct {
	*httptest.Server
	down atomic.Bool

	mu           sync.Mutex
	tries, taken map[string]int
	all          int
}

func mustEndpoint(t *testing.T) *endpoint {
	t.Helper()
	e := &endpoint{tries: map[string]int{}, taken: map[string]int{}}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.all++
		e.tries[string(body)]++
		if e.down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		e.taken[string(body)]++
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) of(content string) (tries, taken int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.tries[content], e.taken[content]
}

func (e *endpoint) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.all
}

func content(step int) string { return fmt.Sprint("step ", step) }

func (d *day) now() time.Time { return d.start.Add(time.Duration(d.passed.Load())).UTC() }

// kept returns the transmissions that are kept, by the contents of their notifications, and how many of these there are.
func (d *day) kept(t *testing.T) (byContent map[string][]domain.Transmission, notes int) {
	t.Helper()
	v, done := d.Node.Notifications.State.View()
	defer done()
	list, _, err := v.Transmissions(domain.Page{Limit: -1})
	if err != nil {
		t.Fatal(err)
	}
	byContent = map[string][]domain.Transmission{}
	for _, one := range list {
		n, ok := v.State.Notifications.Get(one.NotificationID)
		if !ok {
			t.Errorf("transmission %s is left of a notification that is gone", one.ID)
		}
		byContent[n.Content] = append(byContent[n.Content], one)
	}
	_, notes, err = v.Notifications(domain.Page{})
	if err != nil {
		t.Fatal(err)
	}
	return byContent, notes
}

// holds that of all steps up to the last the youngest are kept, with the tries that the endpoints have seen.
func (d *day) holds(t *testing.T, last, kept int) {
	t.Helper()
	ledgetest.Until(t, "all outcomes on record", func() bool {
		byContent, _ := d.kept(t)
		for _, ts := range byContent {
			if len(ts) != 2 || ts[0].IsOpen() || ts[1].IsOpen() {
				return false
			}
		}
		return len(byContent[content(last)]) == 2
	})
	d.Remover.Sweep(t.Context())
	byContent, notes := d.kept(t)
	if notes != kept || len(byContent) != kept {
		t.Errorf("at %v: %d notifications are left, %d of them with transmissions, want %d", d.now().Sub(d.start), notes, len(byContent), kept)
	}
	for step := last - kept + 1; step <= last; step++ {
		for _, one := range byContent[content(step)] {
			e := d.fine
			if one.SubscriptionName == "shut" {
				e = d.shut
			}
			tries, taken := e.of(content(step))
			made := slices.DeleteFunc(slices.Clone(one.Records), func(r domain.TransmissionRecord) bool { return strings.HasPrefix(r.Response, "endpoint paused: ") })
			if len(made) != tries || (one.Status == domain.StatusSent) != (taken == 1) {
				t.Errorf("step %d to %s: %s with %d tries on record, of which %d are no pause; %d were made and %d taken", step, one.SubscriptionName, one.Status, len(one.Records), len(made), tries, taken)
			}
		}
	}
	nodetest.MustBeFold(t, d.Node)
}

func mustDay(t *testing.T) *day {
	t.Helper()
	d := &day{start: time.Now(), fine: mustEndpoint(t), shut: mustEndpoint(t)}
	d.Server = mustProgramAt(t, d.now, "--notifications-max-age", dayKept.String(), "--resend-limit", fmt.Sprint(dayResend))
	d.client = &ledgetest.Node{TB: t, Notifications: d.URL(services.Notifications), Log: &ledgetest.Output{}}
	ledgetest.Contracts.Know("notifications", d.client.Notifications)
	t.Cleanup(func() { ledgetest.Contracts.Forget(d.client.Notifications) })
	d.client.SubscribeAll("fine", "alarm", ledgetest.RestChannel(t, d.fine.URL, "/"))
	d.client.SubscribeAll("shut", "alarm", ledgetest.RestChannel(t, d.shut.URL, "/"))
	return d
}

// isDown reports whether the one endpoint is down at a step.
func isDown(step int) bool {
	passed := time.Duration(step+1) * dayStep
	return passed > downFrom && passed <= downTo
}

// pass is one step: a notification, which the one endpoint has, and the other has been tried for it, or for one before.
func (d *day) pass(t *testing.T, step int) {
	t.Helper()
	passed := time.Duration(step+1) * dayStep
	ledgetest.Until(t, "what is due before "+content(step), d.rests) // a try that ends after the clock has gone on begins its pause then
	before := d.shut.count()
	d.shut.down.Store(isDown(step))
	d.passed.Store(int64(passed))
	ledgetest.PostNotification(d.client, "alarm", content(step))
	ledgetest.Until(t, content(step), func() bool { _, taken := d.fine.of(content(step)); return taken == 1 && d.shut.count() > before })
}

// rests reports whether no try is under way or due; one that fails has all others wait.
func (d *day) rests() bool {
	now, paused := d.now().UnixMilli(), false
	for _, s := range d.Channels.Delivery.Endpoints() {
		if s.UnderWay > 0 {
			return false
		}
		paused = paused || s.PausedUntil > now
	}
	if paused {
		return true
	}
	v, done := d.Node.Notifications.State.View()
	defer done()
	open, _, err := v.Transmissions(domain.Page{Limit: -1}, domain.Filter{Index: domain.IndexStatus, Value: domain.StatusResending})
	return err == nil && !slices.ContainsFunc(open, func(t domain.Transmission) bool { return t.Next <= now })
}

// TestADayOfNotifications holds that what is younger than notifications-max-age is left of a day, and all of it; that the
// endpoint that is there has each notification once, and the other each that was not given up.
func TestADayOfNotifications(t *testing.T) {
	t.Parallel()
	d := mustDay(t)
	const afterOutage = int(15 * time.Hour / dayStep)
	for step := range daySteps {
		d.pass(t, step)
		if step == afterOutage {
			d.holds(t, step, int(dayKept/dayStep))
		}
	}
	d.holds(t, daySteps-1, int(dayKept/dayStep))
	givenUp, late := 0, 0
	for step := range daySteps {
		if tries, taken := d.fine.of(content(step)); tries != 1 || taken != 1 {
			t.Errorf("step %d: tried %d times, taken %d times, want once", step, tries, taken)
		}
		switch tries, taken := d.shut.of(content(step)); {
		case taken == 0 && tries >= 1 && tries <= 1+dayResend:
			givenUp++
		case taken != 1:
			t.Errorf("step %d: tried %d times and taken %d times by the endpoint that was down", step, tries, taken)
		case isDown(step): // a pause may have kept it from each try before
			late++
		}
	}
	if givenUp == 0 || late == 0 {
		t.Errorf("%d were given up and %d came later, want some of each", givenUp, late)
	}
}

package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"ledge/bridge/callback"
	"ledge/bridge/guard"
	"ledge/bridge/lanes"
	"ledge/bridge/porttest"
	"ledge/domain"
	"ledge/domain/history"
)

// heard is a request that a device service got.
type heard struct {
	call        string // method and path
	correlation string
	requestID   string
	entity      map[string]any // what is beside apiVersion and requestId
}

// deviceService is a device service that really listens; it answers as respond says, 200 where that is nil.
type deviceService struct {
	tb   testing.TB
	name string
	addr string

	mu      sync.Mutex
	calls   []heard
	respond func(call string, n int) int // n is how many calls there were before; 0 stalls until the service ends
	more    chan struct{}
	server  *http.Server
	ended   chan struct{}
}

// mustService starts a device service and registers it.
func (n *node) mustService(name string) *deviceService {
	n.tb.Helper()
	d := &deviceService{tb: n.tb, name: name, addr: ownAddress(n.tb), more: make(chan struct{}, 1)}
	d.live()
	n.tb.Cleanup(d.die)
	n.do(domain.AddService{Service: domain.DeviceService{ID: uuid.NewString(), Name: name, BaseAddress: d.url(), AdminState: domain.StateUnlocked}})
	return d
}

// ownAddress is one at which a service can die and live again.
func ownAddress(tb testing.TB) string {
	tb.Helper()
	return fmt.Sprint("127.0.0.1:", porttest.Hold(tb))
}

func (d *deviceService) url() string { return "http://" + d.addr }

// live listens, after die at the same address.
func (d *deviceService) live() {
	d.tb.Helper()
	l, err := net.Listen("tcp", d.addr)
	if err != nil {
		d.tb.Fatal(err)
	}
	d.addr, d.ended = l.Addr().String(), make(chan struct{})
	d.server = &http.Server{Handler: d}
	go d.server.Serve(l)
}

// die ends the service: who is being answered has the whole answer, who is stalled is cut off.
func (d *deviceService) die() {
	select {
	case <-d.ended:
		return
	default:
	}
	close(d.ended)
	ctx, cancel := context.WithTimeout(context.Background(), hangs)
	defer cancel()
	if err := d.server.Shutdown(ctx); err != nil {
		d.tb.Errorf("%s does not end: %v", d.name, err)
	}
}

func (d *deviceService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := heard{call: r.Method + " " + r.URL.Path, correlation: r.Header.Get("X-Correlation-ID")}
	if body, _ := io.ReadAll(r.Body); len(body) > 0 {
		var all map[string]any
		if err := json.Unmarshal(body, &all); err != nil || all["apiVersion"] != "v2" || r.Header.Get("Content-Type") != "application/json" {
			d.tb.Errorf("%s: body %s (%s): %v", h.call, body, r.Header, err)
		}
		h.requestID, _ = all["requestId"].(string)
		for _, key := range []string{"device", "provisionWatcher", "profile", "service"} {
			if e, ok := all[key].(map[string]any); ok {
				h.entity = e
			}
		}
	}
	d.mu.Lock()
	before, ended, status := len(d.calls), d.ended, http.StatusOK
	d.calls = append(d.calls, h)
	if d.respond != nil {
		status = d.respond(h.call, before)
	}
	d.mu.Unlock()
	select {
	case d.more <- struct{}{}:
	default:
	}
	if status == 0 {
		select {
		case <-ended:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"apiVersion":"v2","statusCode":200,"message":"as told"}`)
}

func (d *deviceService) answering(respond func(call string, n int) int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.respond = respond
}

// hears waits for so many calls and returns them.
func (d *deviceService) hears(want int) []heard {
	d.tb.Helper()
	deadline := time.After(hangs)
	for {
		d.mu.Lock()
		calls := slices.Clone(d.calls)
		d.mu.Unlock()
		if len(calls) >= want {
			return calls
		}
		select {
		case <-d.more:
		case <-deadline:
			d.tb.Fatalf("%s has %d of %d calls: %v", d.name, len(calls), want, calls)
		}
	}
}

// wantCalls holds that the service gets these calls and no others before them.
func (d *deviceService) wantCalls(want ...string) []heard {
	d.tb.Helper()
	calls := d.hears(len(want))
	var got []string
	for _, c := range calls {
		got = append(got, c.call)
	}
	if !slices.Equal(got, want) {
		d.tb.Fatalf("%s was called\n%s\nwant\n%s", d.name, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return calls
}

// startCallbacks starts the callbacks where the projections are; Close is the test's.
func (n *node) startCallbacks(change ...func(*callback.Options)) *callback.Callbacks {
	n.tb.Helper()
	o := callback.Options{
		Limits: callback.Limits{
			Limits:            lanes.Limits{Timeout: hangs, Concurrency: 8},
			ValidationTimeout: hangs, Tries: 3, GiveUp: time.Hour, Waiting: 1000,
		},
		Events: history.Followed{Log: n.events, Entities: n.entities}, Notifications: n.notifications, History: n.entities.Read, Guard: guard.New(guard.Options{}), Now: n.clock, Logger: slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(&o)
	}
	c := callback.New(o)
	view, done := n.state.View()
	defer done()
	notes, notesDone := n.notes.State()
	defer notesDone()
	at := callback.Start{State: domain.View{State: view.State, Lists: view}, Cursors: notes.Cursors}
	at.Events, _ = n.state.Checkpoint()
	if err := c.Start(at); err != nil {
		n.tb.Fatal(err)
	}
	n.tb.Cleanup(c.Close)
	return c
}

// deviceOf is a device of a service.
func deviceOf(d *deviceService, name string) domain.Device {
	one := device(name)
	one.ServiceName = d.name
	return one
}

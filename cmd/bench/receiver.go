package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"
)

// receiver is a REST receiver with a subscription to all changes of devices.
type receiver struct {
	*httptest.Server
	// answer is the status and how long it takes, by the number of the call.
	answer func(call int) (status int, takes time.Duration)

	mu    sync.Mutex
	calls int
	left  map[string]bool // what is not delivered yet, by device and state
	times map[string]time.Time
	done  chan struct{} // closed when nothing is left
}

func newReceiver(answer func(call int) (int, time.Duration)) *receiver {
	r := &receiver{answer: answer}
	r.Server = httptest.NewServer(r)
	return r
}

// expect begins a measurement.
func (r *receiver) expect(changes []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls, r.left, r.times, r.done = 0, map[string]bool{}, map[string]time.Time{}, make(chan struct{})
	for _, c := range changes {
		r.left[c] = true
	}
}

// ServeHTTP takes one change.
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return
	}
	r.mu.Lock()
	r.calls++
	status, takes := r.answer(r.calls)
	r.mu.Unlock()
	if takes > 0 {
		<-time.After(takes)
	}
	if status != http.StatusOK {
		w.WriteHeader(status)
		return
	}
	var change struct{ DeviceName string }
	if json.Unmarshal(body, &change) != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left[change.DeviceName] {
		delete(r.left, change.DeviceName)
		r.times[change.DeviceName] = time.Now()
		if len(r.left) == 0 {
			close(r.done)
		}
	}
}

// wait waits until all is delivered, and returns when each change was.
func (r *receiver) wait(ctx context.Context, limit time.Duration) (map[string]time.Time, error) {
	r.mu.Lock()
	done := r.done
	r.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-time.After(limit):
		r.mu.Lock()
		defer r.mu.Unlock()
		return nil, fmt.Errorf("%d changes were not delivered within %v", len(r.left), limit)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.times, nil
}

func (r *receiver) port() int {
	_, port, _ := strings.Cut(strings.TrimPrefix(r.URL, "http://"), ":")
	n, _ := strconv.Atoi(port)
	return n
}

// restSubscription asks for the changes of devices over REST, at a port, sent again every 100 ms.
func restSubscription(name string, port int) string {
	return fmt.Sprintf(`{"apiVersion":"v2","subscription":{"name":%q,"receiver":"bench","adminState":"UNLOCKED","categories":["DEVICE_CHANGED"],
		"resendLimit":99,"resendInterval":"100ms","channels":[{"type":"REST","host":"127.0.0.1","port":%d,"path":"/hook","httpMethod":"POST"}]}}`, name, port)
}

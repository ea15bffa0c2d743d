package command

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"ledge/bridge/commandtest"
	"ledge/bridge/guard"
	"ledge/domain"
)

// sent is the outcome of a request.
type sent struct {
	status int
	text   string
	err    error
}

// sendCommand sends a command. The channel has the outcome when the command has ended.
func sendCommand(tb testing.TB, s *Sender, service, base, command string) <-chan sent {
	tb.Helper()
	r, err := http.NewRequest(http.MethodGet, "/api/v2/device/name/d/"+command, strings.NewReader(""))
	if err != nil {
		tb.Fatal(err)
	}
	done := make(chan sent, 1)
	go func() {
		resp, err := s.Send(context.Background(), domain.DeviceService{Name: service, BaseAddress: base}, r, "c-1")
		if err != nil {
			done <- sent{err: err}
			return
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		done <- sent{resp.StatusCode, string(text), err}
	}()
	return done
}

func mustSender(tb testing.TB, o Options) *Sender {
	if o.Guard == nil {
		o.Guard = guard.New(guard.Options{})
	}
	s := New(o)
	tb.Cleanup(s.Close)
	return s
}

// mustEnd waits for the outcome of a request.
func mustEnd(tb testing.TB, done <-chan sent) sent {
	tb.Helper()
	select {
	case got := <-done:
		return got
	case <-time.After(time.Minute):
		tb.Fatal("the request does not end")
		return sent{}
	}
}

// waitFor waits until so many requests to a service are under way, or wait.
func waitFor(tb testing.TB, s *Sender, service string, want int) {
	tb.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		s.turns.mu.Lock()
		got := 0
		if own := s.turns.of[service]; own != nil {
			got = own.requests
		}
		s.turns.mu.Unlock()
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("%s has %d requests, want %d", service, got, want)
		}
	}
}

// A slow device service takes nothing from the others, and its own requests have a bound.
func TestSlowServiceCostsOthersNothing(t *testing.T) {
	slow, quick := commandtest.Start(t), commandtest.Start(t)
	s := mustSender(t, Options{Limits: Limits{Concurrency: 4, PerService: 2, Waiting: 3}})
	for range 5 {
		sendCommand(t, s, "slow", slow.URL, "Slow")
	}
	waitFor(t, s, "slow", 5)
	if got := mustEnd(t, sendCommand(t, s, "slow", slow.URL, "Int8")); domain.CodeOf(got.err) != domain.Unavailable || got.err == nil ||
		got.err.Error() != `5 commands for the device service "slow" are under way or wait, which is the limit; try again` {
		t.Errorf("got %+v, %v", got, got.err)
	}
	for range 5 {
		if got := mustEnd(t, sendCommand(t, s, "quick", quick.URL, "Int8")); got.status != http.StatusOK || got.err != nil {
			t.Errorf("got %+v", got)
		}
	}
	waitFor(t, s, "quick", 0)
	for deadline := time.Now().Add(time.Minute); len(slow.Calls()) < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the slow service is not called twice")
		}
	}
	if n := len(slow.Calls()); n != 2 {
		t.Errorf("the slow service has %d requests at a time, want 2", n)
	}
}

func TestTimeout(t *testing.T) {
	slow := commandtest.Start(t)
	s := mustSender(t, Options{Limits: Limits{PerService: 1, Timeout: 50 * time.Millisecond}})
	for range 3 { // the second and the third wait
		done := []<-chan sent{sendCommand(t, s, "slow", slow.URL, "Slow"), sendCommand(t, s, "slow", slow.URL, "Slow"), sendCommand(t, s,
			"slow", slow.URL,
			"Endless")}
		for _, d := range done {
			if got := mustEnd(t, d); !errors.Is(got.err, context.DeadlineExceeded) {
				t.Errorf("got %d %.100s %v", got.status, got.text, got.err)
			}
		}
	}
	waitFor(t, s, "slow", 0)
}

// A stop ends the requests under way and those waiting.
func TestClose(t *testing.T) {
	slow := commandtest.Start(t)
	s := mustSender(t, Options{Limits: Limits{PerService: 1}})
	done := []<-chan sent{sendCommand(t, s, "slow", slow.URL, "Slow"), sendCommand(t, s, "slow", slow.URL, "Slow")}
	waitFor(t, s, "slow", 2)
	s.Close()
	for _, d := range append(done, sendCommand(t, s, "slow", slow.URL, "Int8")) {
		if got := mustEnd(t, d); !errors.Is(got.err, errStopping) {
			t.Errorf("got %+v", got)
		}
	}
}

// The settings for destinations hold, and Ledge does not send to itself. A redirect leads nowhere else.
func TestDestinations(t *testing.T) {
	service := commandtest.Start(t)
	_, port, _ := strings.Cut(strings.TrimPrefix(service.URL, "http://"), ":")
	for _, c := range []struct {
		o    guard.Options
		want string
	}{
		{guard.Options{Deny: guard.MustRules("127.0.0.0/8")}, "by the entry 127.0.0.0/8 of the setting deny-destinations"},
		{guard.Options{Allow: guard.MustRules("10.0.0.0/8")}, "is not a destination that the setting allow-destinations has"},
		{guard.Options{OwnSocket: func(p int) bool { return port != "" }}, "is Ledge's own"},
	} {
		got := mustEnd(t, sendCommand(t, mustSender(t, Options{Guard: guard.New(c.o)}), "s", service.URL, "Int8"))
		if got.err == nil || !strings.Contains(got.err.Error(), c.want) {
			t.Errorf("got %+v, want %s", got, c.want)
		}
	}
	if calls := service.Calls(); len(calls) > 0 {
		t.Errorf("sent %+v", calls)
	}
	s := mustSender(t, Options{Self: "me"})
	for _, command := range []string{"Redirect", "Circle"} {
		if got := mustEnd(t, sendCommand(t, s, "s", service.URL, command)); got.status/100 != 3 || !strings.HasPrefix(got.text,
			"redirected to ") || strings.Contains(got.text, "192.0.2.1") {
			t.Errorf("%s: got %+v", command, got)
		}
	}
	if got := mustEnd(t, sendCommand(t, s, "s", service.URL+"/below/", "Int%5Cd%2B?a=b")); got.status != http.StatusNotFound ||
		!strings.Contains(got.text, `deviceResource Int\\d+ not found`) {
		t.Errorf("got %+v", got)
	}
	calls := service.Calls()
	if h := calls[0].Header; h.Get("Ledge-Hop") != "me" || h.Get("X-Correlation-ID") != "c-1" || len(calls) != 6 {
		t.Errorf("sent %d, the first %+v", len(calls), calls[0])
	}
}

// A command is sent once, also if a connection breaks that could have been used again.
func TestSentOnce(t *testing.T) {
	service := commandtest.Start(t)
	s := mustSender(t, Options{})
	if got := mustEnd(t, sendCommand(t, s, "s", service.URL, "Int8")); got.status != http.StatusOK {
		t.Fatalf("got %+v", got)
	}
	if got := mustEnd(t, sendCommand(t, s, "s", service.URL, "Broken")); got.err == nil {
		t.Errorf("got %+v", got)
	}
	if n := len(service.Calls()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

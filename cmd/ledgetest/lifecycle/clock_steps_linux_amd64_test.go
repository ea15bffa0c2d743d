package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// outage is a server of others that cuts all connections until it is up. It notes the bodies that it takes then.
type outage struct {
	*httptest.Server
	up     atomic.Bool
	called atomic.Int64 // callbacks that it has cut

	mu   sync.Mutex
	took []string
}

func newOutage(t *testing.T) *outage {
	o := &outage{}
	o.Server = httptest.NewServer(o)
	t.Cleanup(o.Close)
	return o
}

func (o *outage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.URL.Path, "/validate/") {
		return
	}
	if !o.up.Load() {
		if strings.Contains(r.URL.Path, "/callback/") {
			o.called.Add(1)
		}
		panic(http.ErrAbortHandler)
	}
	body, _ := io.ReadAll(r.Body)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.took = append(o.took, string(body))
}

func (o *outage) has(text string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Contains(strings.Join(o.took, "\n"), text)
}

// TestClockSteps sets the clock of a process while others are down, a session is open, logins have failed and a reading waits for the end
// of its age. All of it goes on. Before, after −60 s and −6 h, nothing was delivered or called back, and no reading was removed, for as
// long as the clock was set back. After +6 h callbacks were given up, after +30 h notifications too, and the session had ended.
func TestClockSteps(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{-time.Minute, -6 * time.Hour, 6 * time.Hour, 30 * time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			s := newClockSteps(t)
			s.before()
			s.clock.step(by)
			s.failsAgain()
			s.others.up.Store(true)
			s.after(t.Context())
			if code := s.Stop(); code != 0 {
				t.Errorf("exit code %d\n%s", code, s.Log)
			}
		})
	}
}

// clockSteps is a process with all that has a deadline.
type clockSteps struct {
	*ledgetest.Node
	t       *testing.T
	clock   *wallClock
	others  *outage // a receiver, and a device service
	console *ledgetest.ConsoleClient
	token   string // of a login, which is valid for 12 h by the clock
}

func newClockSteps(t *testing.T) *clockSteps {
	s := &clockSteps{t: t, others: newOutage(t)}
	s.Node, s.clock = startAt(t, 0, t.TempDir(), "--readings-retention", "*.hall.* age=1s", "--resend-interval", "200ms")
	s.console = s.NewRole(t, domain.Admin)
	var login struct{ Token string }
	ledgetest.MustDo(t, json.Unmarshal([]byte(s.logInto(ledgetest.ConsolePassword).Body), &login))
	s.token = login.Token
	return s
}

// logInto asks for the token of a login.
func (s *clockSteps) logInto(password string) ledgetest.Answer {
	body := fmt.Sprintf(`{"username":"test-admin","password":%q}`, password)
	return s.Call(http.MethodPost, s.Metadata+"/api/v2/login", "application/json", body)
}

// before has the others miss what they wait for, and has tries of logins fail.
func (s *clockSteps) before() {
	s.SubscribeAll("down", "alarm", ledgetest.RestChannel(s.t, s.others.URL, "/"))
	ledgetest.PostNotification(s.Node, "alarm", "old")
	ledgetest.AddSensorProfile(s.Node)
	ledgetest.AddSensor(s.Node, "hall", "")
	s.PostJSON(http.MethodPost, s.Metadata+"/api/v2/deviceservice",
		fmt.Sprintf(`[{"apiVersion":"v2","service":{"name":"late","baseAddress":%q,"adminState":"UNLOCKED"}}]`, s.others.URL), 201)
	s.PostJSON(http.MethodPost, s.Metadata+"/api/v2/device", "["+strings.ReplaceAll(ledgetest.DeviceJSON("called"), "device-rest", "late")+"]", 201)
	s.removesReadings()
	s.failsAgain()
	for s.logInto("wrong").Status != http.StatusTooManyRequests {
	}
}

// failsAgain waits for another try on record, and for another callback.
func (s *clockSteps) failsAgain() {
	s.t.Helper()
	records := func() (n int) {
		list := s.Transmissions("subscription/name/down")
		return len(list[len(list)-1].Records)
	}
	called, recorded := s.others.called.Load(), records()
	ledgetest.Await(s.Node, "more tries that fail", func() bool { return s.others.called.Load() > called && records() > recorded })
}

// removesReadings posts a reading, and waits until it is too old.
func (s *clockSteps) removesReadings() {
	s.t.Helper()
	ledgetest.PostTo(s.Node, "hall", "people", "text/plain", "1")
	forgets(s.Node, "hall")
}

// after waits for all that was due at the step, and for what comes behind it.
func (s *clockSteps) after(ctx context.Context) {
	ledgetest.PostNotification(s.Node, "alarm", "new")
	for _, text := range []string{"old", "new", `"name":"called"`} {
		ledgetest.Await(s.Node, text, func() bool { return s.others.has(text) })
	}
	s.Settled("down", 2)
	ledgetest.Want(s.console.Get("/devices"), s.t, http.StatusOK)
	valid := s.Call(http.MethodGet, s.Metadata+"/api/v2/user/all", "", "", "Authorization", "Bearer "+s.token).Status == http.StatusOK
	if want := s.clock.offset < 12*time.Hour; valid != want {
		s.t.Errorf("the token of a login is valid: %v, want %v", valid, want)
	}
	ledgetest.Await(s.Node, "the end of the wait after failed logins", func() bool { return s.logInto(ledgetest.ConsolePassword).Status == http.StatusOK })
	s.removesReadings()
	s.hearsOfChanges(ctx)
	if out, errs, code := ledgetest.Run(s.t, "health", "--data-dir", s.Dir); code != exit.OK {
		s.t.Errorf("health: %d %s%s", code, out, errs)
	}
}

// hearsOfChanges holds that an open page hears of a change.
func (s *clockSteps) hearsOfChanges(ctx context.Context) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, ledgetest.Timeout)
	defer cancel()
	told, status, err := s.console.Listen(ctx, "devices=")
	if err != nil || status != http.StatusOK {
		s.t.Fatal(status, err)
	}
	ledgetest.AddSensor(s.Node, fmt.Sprint("hall-", s.clock.offset.Seconds()), "")
	if got := <-told; got != "devices=" {
		s.t.Errorf("the live stream has the message %q about the change", got)
	}
}

// TestClockSetBackBeforeAStart kills a process with a transmission whose next try is minutes away, and starts it with another clock. What
// waits is sent at once. Before, it was sent after 12 minutes.
func TestClockSetBackBeforeAStart(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{-time.Minute, -6 * time.Hour, 6 * time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			dir, others := t.TempDir(), newOutage(t)
			p := ledgetest.Start(t, dir, "--resend-interval", "10m")
			p.SubscribeAll("down", "alarm", ledgetest.RestChannel(t, others.URL, "/"))
			ledgetest.PostNotification(p, "alarm", "old")
			ledgetest.Await(p, "a try on record", func() bool {
				list := p.Transmissions("subscription/name/down")
				return len(list) == 1 && len(list[0].Records) == 1
			})
			p.Kill()
			others.up.Store(true)
			p, _ = startAt(t, by, dir, "--resend-interval", "10m")
			ledgetest.Await(p, "the delivery", func() bool { return others.has("old") })
			if by < 0 {
				ledgetest.PostNotification(p, "alarm", "new")
				p.Settled("down", 2)
			}
		})
	}
}

// forgets waits until retention has removed all readings of a device.
func forgets(p *ledgetest.Node, device string) {
	p.TB.Helper()
	ledgetest.Await(p, "the end of the readings", func() bool { return p.CountEvents(device) == 0 })
}

// TestClockOfTheFuture has a process record readings with a clock that is 50 years ahead, as one without a battery may be, and sets it right.
// Retention goes on behind that. Before, nothing was removed by age for 50 years.
func TestClockOfTheFuture(t *testing.T) {
	t.Parallel()
	const ahead = 50 * 365 * 24 * time.Hour
	dir := t.TempDir()
	p, _ := startAt(t, ahead, dir)
	ledgetest.AddSensorProfile(p)
	ledgetest.AddSensor(p, "hall", "")
	for range 20 {
		ledgetest.PostTo(p, "hall", "people", "text/plain", "1")
	}
	if code := p.Stop(); code != exit.OK {
		t.Fatalf("exit code %d\n%s", code, p.Log)
	}
	p = ledgetest.Start(t, dir, "--readings-retention", "*.hall.* age=1s")
	ledgetest.PostTo(p, "hall", "people", "text/plain", "2")
	forgets(p, "hall")
}

// TestClockOutOfRange starts with clocks whose times the log cannot keep. The start is refused in one line. Before, it said that it is
// ready, and every request hung.
func TestClockOutOfRange(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	for name, off := range map[string]time.Duration{"before 1970": -60 * year, "after 2262": 240 * year} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, c := launchAt(t, off, t.TempDir(), "--secure")
			if code := p.Wait(); code != exit.Failure {
				t.Errorf("exit code %d, want %d", code, exit.Failure)
			}
			lines := strings.Split(strings.TrimSpace(p.Log.String()), "\n")
			says := "the clock of this machine says " + c.now().UTC().Format("2006-01")
			if len(lines) != 1 || !strings.Contains(lines[0], says) || !strings.Contains(lines[0], "set the clock") {
				t.Errorf("got %q, want one line with the time and what to do", lines)
			}
		})
	}
	t.Run("just after 1970", func(t *testing.T) { // a machine without a battery
		t.Parallel()
		p, _ := startAt(t, time.Until(time.Unix(60, 0)), t.TempDir())
		p.AddDevice("early")
		if code := p.Stop(); code != exit.OK {
			t.Errorf("exit code %d\n%s", code, p.Log)
		}
	})
}

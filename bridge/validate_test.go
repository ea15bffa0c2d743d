package bridge_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"ledge/bridge/callback"
	"ledge/bridge/guard"
	"ledge/domain"
)

func (d *deviceService) service() domain.DeviceService {
	return domain.DeviceService{Name: d.name, BaseAddress: d.url()}
}

// As in EdgeX 2.3 only a service that says so refuses a device.
func TestValidateDevice(t *testing.T) {
	n := mustNode(t)
	c := n.startCallbacks()
	a := n.mustService("a")
	for _, tt := range []struct {
		status  int
		refuses bool
	}{{200, false}, {207, false}, {404, false}, {503, false}, {400, true}, {500, true}, {429, true}, {502, true}} {
		a.answering(func(string, int) int { return tt.status })
		err := c.ValidateDevice(t.Context(), a.service(), deviceOf(a, "d"), "c-1")
		if (domain.CodeOf(err) == domain.Rejected) != tt.refuses || (err != nil) != tt.refuses {
			t.Errorf("status %d: got %v", tt.status, err)
		}
		if want := fmt.Sprintf("device validation failed -> request failed, status code: %d, err: {", tt.status); tt.refuses && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %q, want %q…", err, want)
		}
	}
	for _, h := range a.hears(8) {
		if h.call != "POST /api/v2/validate/device" || h.correlation != "c-1" || h.entity["name"] != "d" {
			t.Fatalf("got %+v", h)
		}
	}
	a.die()
	if err := c.ValidateDevice(t.Context(), a.service(), deviceOf(a, "d"), ""); err != nil {
		t.Errorf("a service that is down: %v", err)
	}
	a.live()
	a.answering(func(string, int) int { return 500 })
	if err := c.ValidateDevice(t.Context(), a.service(), deviceOf(a, "d"), ""); domain.CodeOf(err) != domain.Rejected {
		t.Errorf("and that is up again: %v", err)
	}
	own := a.service()
	own.Name, own.Description = domain.DeviceREST, domain.DeviceRESTDescription
	if err := c.ValidateDevice(t.Context(), own, deviceOf(a, "d"), ""); err != nil {
		t.Errorf("device-rest was asked: %v", err)
	}
}

// One that stalls is waited for once, however many devices there are; then it is asked again.
func TestValidateDeviceOfOneThatStalls(t *testing.T) {
	n, began := mustNode(t), time.Now()
	c := n.startCallbacks(func(o *callback.Options) {
		o.ValidationTimeout = 2 * time.Second
		o.Now = func() time.Time { return began.Add(time.Duration(n.ahead.Load())) }
	})
	a := n.mustService("a")
	a.answering(func(string, int) int { return 0 })
	for range 1000 {
		if err := c.ValidateDevice(t.Context(), a.service(), deviceOf(a, "d"), ""); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(a.hears(1)); got != 1 {
		t.Errorf("asked %d times, want once", got)
	}
	a.answering(func(string, int) int { return 400 })
	var err error
	for try := 0; try < 10 && err == nil; try++ { // its answer may be late, too
		n.ahead.Add(int64(time.Minute))
		err = c.ValidateDevice(t.Context(), a.service(), deviceOf(a, "d"), "")
	}
	if domain.CodeOf(err) != domain.Rejected {
		t.Errorf("asked again: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.ValidateDevice(ctx, a.service(), deviceOf(a, "d"), ""); err == nil {
		t.Error("no error although the request has ended")
	}
}

// What the guard refuses is not called, and what waits for it waits no more.
func TestServiceAtARefusedAddress(t *testing.T) {
	n := mustNode(t)
	a := n.mustService("a")
	printed := newPrinted()
	c := n.startCallbacks(func(o *callback.Options) {
		o.Logger = slog.New(slog.NewTextHandler(printed, nil))
		o.Guard = guard.New(guard.Options{Deny: guard.MustRules(guard.NoDestinations + ",127.0.0.0/8,*:443")})
	})
	n.do(domain.AddDevice{Device: deviceOf(a, "d")})
	if err := c.ValidateDevice(t.Context(), a.service(), deviceOf(a, "d"), ""); err != nil {
		t.Error(err)
	}
	printed.await(t, `device service refuses a callback" service=a`)
	if len(a.calls) > 0 {
		t.Errorf("was called: %v", a.calls)
	}
	for base, want := range map[string]string{
		"http://169.254.169.254/x": "169.254.169.254 is refused as a destination by the entry 169.254.0.0/16", a.url(): "127.0.0.1 is refused", "http://[fe80::1]:80": "fe80::/10",
		"https://svc": "*:443", "http://svc": "", "http://10.0.0.1:59901": "", "://": "",
	} {
		if err := c.CheckAddress(base); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", base, err, want)
		}
	}
}

// A service cannot send Ledge elsewhere, and an answer without an end ends.
func TestAnswersAreBounded(t *testing.T) {
	n := mustNode(t)
	c := n.startCallbacks()
	elsewhere := n.mustService("elsewhere")
	serve := func(h http.HandlerFunc) domain.DeviceService {
		d := &deviceService{tb: t, addr: "127.0.0.1:0"}
		d.live()
		d.server.Handler = h
		t.Cleanup(d.die)
		return domain.DeviceService{Name: "a", BaseAddress: d.url()}
	}
	to := func(url string) domain.DeviceService {
		return serve(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/here") {
				w.WriteHeader(http.StatusTeapot)
				return
			}
			http.Redirect(w, r, url, http.StatusTemporaryRedirect)
		})
	}
	ask := func(s domain.DeviceService) string {
		return fmt.Sprint(c.ValidateDevice(t.Context(), s, deviceOf(elsewhere, "d"), ""))
	}
	if got := ask(to(elsewhere.url() + "/x")); !strings.Contains(got, "status code: 307") || len(elsewhere.calls) > 0 {
		t.Errorf("redirected elsewhere: %s; %v", got, elsewhere.calls)
	}
	if got := ask(to("/here")); !strings.Contains(got, "status code: 418") {
		t.Errorf("redirected on one host: %s", got)
	}
	for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther} {
		moved := serve(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet || r.URL.Path == "/here" {
				t.Errorf("%d: %s %s, though the call is a POST elsewhere", code, r.Method, r.URL.Path)
			}
			http.Redirect(w, r, "/here", code)
		})
		if got := ask(moved); !strings.Contains(got, fmt.Sprintf(`status code: %d, err: redirected to "(answers of this machine are not shown)"; redirects are followed to the same scheme, host and port and with the same method only`, code)) {
			t.Errorf("%d: %s", code, got)
		}
	}
	if got := ask(to("/round")); !strings.Contains(got, "status code: 307") {
		t.Errorf("redirected for ever: %s", got)
	}
	endless := serve(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		for {
			if _, err := io.WriteString(w, strings.Repeat("x", 1<<10)); err != nil {
				return
			}
		}
	})
	if got := ask(endless); !strings.Contains(got, "status code: 400") || len(got) > 2<<10 {
		t.Errorf("an endless answer: %d bytes, %.80s", len(got), got)
	}
}

package attack

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ledge/cmd/ledgetest"
)

// stalling is a receiver at many addresses, each a host of its own, that never answers before the test ends.
func stalling(t *testing.T) (port int, held *atomic.Int64) {
	t.Helper()
	held = new(atomic.Int64)
	end := make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		held.Add(1)
		defer held.Add(-1)
		select {
		case <-r.Context().Done():
		case <-end:
		}
	}))
	s.Listener.Close()
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Listener = l
	s.Start()
	t.Cleanup(func() { close(end); s.Close() })
	return l.Addr().(*net.TCPAddr).Port, held
}

// Receivers that take a notification and never answer, 40 and 400 hosts of them, delay nobody: one that took a notification before has
// five, and one that comes later has four, while the others hold what they were sent.
func TestAttackSlowReceivers(t *testing.T) {
	for _, hosts := range []int{40, 400} {
		t.Run(fmt.Sprint(hosts), func(t *testing.T) {
			a := startAttack(t)
			port, held := stalling(t)
			known, tookKnown := collect(t)
			fresh, tookFresh := collect(t)
			a.PostJSON(http.MethodPost, a.Notifications+"/api/v2/subscription", ledgetest.AlarmJSON("known", "alarm", ledgetest.RestChannel(t, known, "/")), http.StatusCreated)
			a.PostJSON(http.MethodPost, a.Notifications+"/api/v2/notification", ledgetest.NotificationJSON("alarm", "before"), http.StatusCreated)
			takes(t, tookKnown, "before")
			var slow []string
			for i := range hosts {
				channel := fmt.Sprintf(`{"type":"REST","host":"127.0.%d.%d","port":%d,"path":"/","httpMethod":"POST"}`, 1+i/200, 1+i%200, port)
				slow = append(slow, strings.Trim(ledgetest.AlarmJSON(fmt.Sprintf("slow-%03d", i), "alarm", channel), "[]"))
			}
			a.Call(http.MethodPost, a.Notifications+"/api/v2/subscription", "application/json", "["+strings.Join(slow, ",")+"]")
			for i := range 5 {
				content := fmt.Sprint("alarm ", i)
				a.PostJSON(http.MethodPost, a.Notifications+"/api/v2/notification", ledgetest.NotificationJSON("alarm", content), http.StatusCreated)
				takes(t, tookKnown, content)
				if i == 0 {
					ledgetest.Await(a.Node, "slow receivers", func() bool { return held.Load() >= int64(min(hosts, 40)) })
					a.PostJSON(http.MethodPost, a.Notifications+"/api/v2/subscription", ledgetest.AlarmJSON("zz-new", "alarm", ledgetest.RestChannel(t, fresh, "/")), http.StatusCreated)
				}
			}
			for range 4 {
				takes(t, tookFresh, "alarm ")
			}
			if n := held.Load(); n < 20 {
				t.Errorf("%d slow receivers hold what they were sent", n)
			}
			if n := ledgetest.Count(a.Node, "transmission/status/SENT?limit=0"); n > 10 {
				t.Errorf("%d are SENT, want those to the two that answer", n)
			}
			a.WaitCount("transmission/all?limit=0", func(n int) bool { return n == 1+5*(hosts+1)+4 })
			a.held(t)
		})
	}
}

// takes holds that a receiver takes what begins with a text, while the slow ones hold theirs.
func takes(t *testing.T, took <-chan string, text string) {
	t.Helper()
	select {
	case got := <-took:
		if !strings.HasPrefix(got, text) {
			t.Errorf("took %q, want %q", got, text)
		}
	case <-time.After(ledgetest.Timeout):
		t.Fatalf("%q did not come", text)
	}
}

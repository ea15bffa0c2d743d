package delivery

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"ledge/bridge/porttest"
	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// A restored copy that is served with --no-delivery beside its node connects to nobody and binds nothing, and says so.
func TestNoDelivery(t *testing.T) {
	called := make(chan string, 1000)
	receiver := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable) // so that the notification waits for another try
	}))
	var counts atomic.Bool // a connection is wrong now
	receiver.Config.ConnState = func(c net.Conn, s http.ConnState) {
		if s == http.StateNew && counts.Load() {
			called <- c.RemoteAddr().String()
		}
	}
	receiver.Start()
	t.Cleanup(receiver.Close)
	port := ledgetest.URLPort(t, receiver.URL)

	p := ledgetest.Start(t, filepath.Join(t.TempDir(), "data"))
	channels := fmt.Sprintf(`{"type":"REST","host":"127.0.0.1","port":%d,"path":"/","httpMethod":"POST"}`, port)
	p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/subscription", ledgetest.SubscriptionJSON("rest", "alarm", channels), 201)
	ledgetest.AddNamed(p, "zeromq", "alarm", porttest.Hold(t))
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/deviceservice", fmt.Sprintf(
		`[{"apiVersion":"v2","service":{"name":"elsewhere","baseAddress":%q,"adminState":"UNLOCKED"}}]`, receiver.URL), 201)
	p.Notify("alarm", "before")
	backup, _ := ledgetest.MustBackUp(t, p.Dir)
	p.Stop()
	copied := filepath.Join(t.TempDir(), "copied")
	if _, errs, code := ledgetest.Run(t, "restore", backup, copied); code != exit.OK {
		t.Fatal(errs)
	}
	counts.Store(true)
	q := ledgetest.Start(t, copied, "--no-delivery", "--registry", fmt.Sprint("consul://127.0.0.1:", port),
		"--hub-url", fmt.Sprintf("nats://edge-1@127.0.0.1:%d", port))
	q.PostJSON(http.MethodPatch, q.Metadata+"/api/v2/deviceservice",
		`[{"apiVersion":"v2","service":{"name":"elsewhere","description":"changed"}}]`, 200)
	q.Notify("alarm", "after")
	ledgetest.Await(q, "the refusal on record", func() bool {
		return strings.Contains(q.Call(http.MethodGet, q.Notifications+"/api/v2/transmission/status/FAILED", "", "").Body, "--no-delivery")
	})
	out, errs, code := ledgetest.Run(t, "health", "--data-dir", copied)
	if code != exit.OK || !strings.Contains(out, "warning: this server delivers nothing and calls nobody") {
		t.Errorf("health: exit code %d, %s%s", code, out, errs)
	}
	shown := q.Call(http.MethodGet, q.Notifications+"/metrics", "", "").Body
	for _, line := range []string{"ledge_delivery_off 1", "ledge_zeromq_sockets 0"} {
		if !strings.Contains(shown, line) {
			t.Errorf("the metrics have no %q", line)
		}
	}
	q.Stop()
	select {
	case from := <-called:
		t.Errorf("the copy has connected from %s", from)
	default:
	}
}

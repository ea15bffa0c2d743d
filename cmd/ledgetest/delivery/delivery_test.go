package delivery

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"ledge/bridge/porttest"
	"ledge/cmd/ledgetest"
)

// An endpoint that never answers and one that nobody listens at do not delay a third: it has all 200 changes while the
// first still holds what it was sent first.
func TestDeadEndpointsDelayNobody(t *testing.T) {
	var held, answered, took atomic.Int64
	release := make(chan struct{})
	stalling := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // net/http notices the end of the connection after that
		held.Add(1)
		select {
		case <-release:
			answered.Add(1)
		case <-r.Context().Done(): // Ledge waits for an answer for 10 s
			held.Add(-1)
		}
	}))
	t.Cleanup(func() { close(release); stalling.Close() })
	fine := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { took.Add(1) }))
	t.Cleanup(fine.Close)
	p := ledgetest.Start(t, t.TempDir(), "--resend-limit", "99")
	p.SubscribeAll("refusing", "none", fmt.Sprintf(`{"type":"REST","host":"127.0.0.1","port":%d,"path":"/","httpMethod":"POST"}`, porttest.Hold(t)))
	p.SubscribeAll("stalling", "none", ledgetest.RestChannel(t, stalling.URL, "/"))
	p.SubscribeAll("fine", "none", ledgetest.RestChannel(t, fine.URL, "/"))
	const changes = 200
	for i := range changes {
		p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/device", fmt.Sprintf(`[{"apiVersion":"v2","device":{"name":"sample-image","description":"%d"}}]`, i), http.StatusOK)
	}
	for _, s := range p.Settled("fine", changes) {
		if s.Status != "SENT" {
			t.Errorf("fine: got %+v", s)
		}
	}
	if took.Load() < changes || held.Load() == 0 || answered.Load() > 0 {
		t.Errorf("fine took %d, want %d, while %d are held elsewhere and %d were", took.Load(), changes, held.Load(), answered.Load())
	}
	for _, name := range []string{"refusing", "stalling"} {
		for _, s := range p.Transmissions("subscription/name/" + name + "?limit=1000") {
			if s.Status != "RESENDING" {
				t.Errorf("%s: got %+v, want what waits", name, s)
			}
		}
	}
	p.WaitLog(`"msg":"endpoint takes no notifications, and is left alone for a while","endpoint":"REST/127.0.0.1/`)
	if n := held.Load(); n > 4 {
		t.Errorf("%d requests are held, want 4", n)
	}
	if strings.Contains(p.Log.String(), `"level":"ERROR"`) {
		t.Errorf("%s", p.Log)
	}
}

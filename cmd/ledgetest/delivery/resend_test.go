package delivery

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// TestResendSurvivesKill has messages sent again that were given up, and kills the server while their tries are under way. After a restart
// they arrive. The resend is on record with its author.
func TestResendSurvivesKill(t *testing.T) {
	t.Parallel()
	const refuses, hangs, takes = 0, 1, 2
	var mode, came atomic.Int32
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch mode.Load() {
		case refuses:
			w.WriteHeader(http.StatusBadRequest)
		case hangs:
			_, _ = io.Copy(io.Discard, r.Body) // after that the end of the connection is seen
			came.Add(1)
			<-r.Context().Done()
		}
	}))
	t.Cleanup(receiver.Close)
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	_, port, _ := strings.Cut(strings.TrimPrefix(receiver.URL, "http://"), ":")
	p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/subscription", fmt.Sprintf(`[{"apiVersion":"v2","subscription":{"name":"warehouse",
		"receiver":"r","categories":["door"],"adminState":"UNLOCKED","channels":[{"type":"REST","host":"127.0.0.1","port":%s,"path":"/in",
		"httpMethod":"POST"}]}}]`, port), http.StatusCreated)
	const messages = 5
	for range messages {
		ledgetest.PostNotification(p, "door", "opened")
	}
	count := func(p *ledgetest.Node, status string, tries int) func() bool {
		return func() bool {
			n := 0
			for _, one := range p.Transmissions("subscription/name/warehouse") {
				if one.Status == status && len(one.Records) == tries {
					n++
				}
			}
			return n == messages
		}
	}
	ledgetest.Until(t, "messages that are given up", count(p, domain.StatusFailed, 1))
	mode.Store(hangs)
	const path = "/api/v2/transmission/subscription/name/warehouse/resend"
	got := p.Call(http.MethodPost, p.Notifications+path, "", "")
	want := fmt.Sprintf(`"resend":{"count":%d,"skipped":0,"more":false}`, messages)
	if got.Status != http.StatusAccepted || !strings.Contains(got.Body, want) {
		t.Fatal(got)
	}
	ledgetest.Until(t, "a try that is under way", func() bool { return came.Load() > 0 })
	p.Kill()
	mode.Store(takes)
	p = ledgetest.Start(t, dir)
	ledgetest.Until(t, "all messages", count(p, domain.StatusSent, 2))
	events := p.Call(http.MethodGet, p.Metadata+"/api/v2/ledger/event?log=notifications&type=transmissions.resent", "", "")
	if events.Status != http.StatusOK || strings.Count(events.Body, `"anonymous@127.0.0.1"`) != 1 {
		t.Errorf("the resend on record: %v", events)
	}
}

package console

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// publishRefused publishes messages on EdgeX's message bus that are not events, and waits until they are refused.
func publishRefused(p *ledgetest.Node, t *testing.T, data ...string) {
	t.Helper()
	nc, _ := ledgetest.MustJetStream(t, p.NATS)
	for i, text := range data {
		if err := nc.Publish(fmt.Sprintf("edgex.events.device.climate.broken-%d.hum", i), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	ledgetest.Until(t, "the messages are refused", func() bool {
		a := p.Call(http.MethodGet, p.CoreData+"/metrics", "", "")
		return strings.Contains(a.Body, fmt.Sprintf("ledge_edgex_refused_total{reason=\"envelope\"} %d\n", len(data)))
	})
}

// TestConsoleRefused holds that a reader of readings finds the refused events of the message bus with the reasons, as text, page by page.
func TestConsoleRefused(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	c := p.NewRole(t, domain.Operator)
	ledgetest.Want(c.Get("/readings/refused"), t, http.StatusOK, "No event was refused since the server started.")
	if strings.Contains(c.Get("/readings").Text, "/readings/refused") {
		t.Error("the readings link to refused events, of which there are none")
	}
	all := make([]string, 60)
	for i := range all {
		all[i] = fmt.Sprintf("message %d %s", i, hostile)
	}
	publishRefused(p, t, all...)
	b := logIn(p, t, domain.Viewer)
	b.open("/readings")
	b.click("a[href='/readings/refused']")
	b.until(`document.querySelectorAll("#rows tbody tr").length === 50`)
	row := b.text("#rows tbody tr:first-child")
	for _, want := range []string{"edgex.events.device.climate.broken-", "envelope", "is not JSON of a MessageEnvelope", hostile} {
		if !strings.Contains(row, want) {
			t.Errorf("the first row is %q, and lacks %q", row, want)
		}
	}
	if text := b.text(".facts"); !strings.Contains(text, "envelope") || !strings.Contains(text, "60") {
		t.Errorf("the counts are %q", text)
	}
	b.click("nav[aria-label='Parts of the list'] a")
	b.until(`document.querySelectorAll("#rows tbody tr").length === 10`)
	b.pictures("refused")
	ledgetest.Want(c.Get("/readings/refused?offset=99999999"), t, http.StatusOK, "Refused events")
	if got := p.NewRole(t, domain.Poster).Get("/readings/refused"); got.StatusCode != http.StatusForbidden {
		t.Errorf("a poster gets %s", got.Status)
	}
}

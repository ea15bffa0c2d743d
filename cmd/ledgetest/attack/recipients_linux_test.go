package attack

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ledge/bridge/porttest"
	"ledge/cmd/ledgetest"
)

// collect is a REST receiver that hands over what it gets.
func collect(t *testing.T) (url string, bodies chan string) {
	t.Helper()
	bodies = make(chan string, 4096)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		bodies <- string(b)
	}))
	t.Cleanup(s.Close)
	return s.URL, bodies
}

// 40 subscriptions with 64 e-mail channels of 64 long addresses each take 36 MB on the log for one notification, which a message does not hold.
// Those who subscribed to the same alarm over REST and ZeroMQ get it all the same, and every channel is on record.
func TestAttackManyRecipients(t *testing.T) {
	a := startAttack(t, "--smtp-server", fmt.Sprint("smtp+plain://127.0.0.1:", porttest.Hold(t), "?from=ledge@example.com"),
		"--resend-limit", "1", "--log-level", "debug")
	url, bodies := collect(t)
	port := porttest.Hold(t)
	address := strings.Repeat("a", 50) + "@" + strings.Repeat("b", 150) + ".example"
	for i := range ledgetest.MailSubscriptions {
		a.PostJSON(http.MethodPost, a.Notifications+"/api/v2/subscription", ledgetest.MailSubscription(fmt.Sprint("mail-", i), "alarm", address), http.StatusCreated)
	}
	a.PostJSON(http.MethodPost, a.Notifications+"/api/v2/subscription", ledgetest.AlarmJSON("a-first", "alarm", ledgetest.RestChannel(t, url, "/")), http.StatusCreated)
	a.PostJSON(http.MethodPost, a.Notifications+"/api/v2/subscription",
		ledgetest.AlarmJSON("z-last", "alarm", fmt.Sprintf(`{"type":"ZeroMQ","host":"127.0.0.1","port":%d,"topic":"t"}`, port)), http.StatusCreated)
	sub := a.Subscribe(port, "t")
	t.Logf("%d MiB before the alarm", a.peak()>>20)
	const channels = ledgetest.MailSubscriptions*ledgetest.MailChannels + 2
	alarm := strings.Replace(ledgetest.NotificationJSON("alarm", "fire"), "NORMAL", "CRITICAL", 1)
	a.PostJSON(http.MethodPost, a.Notifications+"/api/v2/notification", alarm, http.StatusCreated)
	if _, got := sub.Next(); got != "fire" {
		t.Errorf("over ZeroMQ: %q", got)
	}
	select {
	case got := <-bodies:
		if got != "fire" {
			t.Errorf("over REST: %q", got)
		}
	case <-time.After(ledgetest.Timeout):
		t.Fatal("nothing over REST")
	}
	id := notificationOf(a.Node, "alarm")
	a.WaitCount("transmission/notification/id/"+id+"?limit=0", func(n int) bool { return n == channels })
	if got := a.Settled("a-first", 1); got[len(got)-1].Status != "SENT" {
		t.Errorf("over REST, on record: %+v", got[len(got)-1])
	}
	a.WaitLog(`"msg":"endpoint takes no notifications, and is left alone for a while","endpoint":"EMAIL/`)
	for line := range strings.Lines(a.Log.String()) {
		if len(line) > 8<<10 || strings.Contains(line, "aaaaaaaaaa") || strings.Contains(line, "not recorded") {
			t.Errorf("%d bytes in a line of the log: %.300s", len(line), line)
		}
	}
	a.held(t)
}

// notificationOf is the id of the only notification of a category.
func notificationOf(p *ledgetest.Node, category string) (id string) {
	p.TB.Helper()
	a := p.Call(http.MethodGet, p.Notifications+"/api/v2/notification/category/"+category, "", "")
	_, rest, _ := strings.Cut(a.Body, `"id":"`)
	if id, _, _ = strings.Cut(rest, `"`); id == "" {
		p.TB.Fatalf("%d %s", a.Status, a.Body)
	}
	return id
}

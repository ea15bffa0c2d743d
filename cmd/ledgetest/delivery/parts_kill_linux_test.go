package delivery

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ledge/bridge/porttest"
	"ledge/cmd/ledgetest"
)

// TestKilledBetweenParts kills the process while it records, in parts, what a device change or a posted notification matched. After the next
// start each channel is on record once, and a change after it reaches the same subscriptions.
func TestKilledBetweenParts(t *testing.T) {
	t.Parallel()
	const subscriptions = 8
	dir := t.TempDir()
	flags := []string{"--smtp-server", fmt.Sprint("smtp+plain://127.0.0.1:", porttest.Hold(t), "?from=ledge@example.com")}
	p := ledgetest.Start(t, dir, flags...)
	address := strings.Repeat("a", 50) + "@" + strings.Repeat("b", 150) + ".example"
	for i := range subscriptions {
		body := strings.Replace(ledgetest.MailSubscription(fmt.Sprint("mail-", i), "alarm", address), `["alarm"]`, `["alarm","DEVICE_CHANGED"]`, 1)
		p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/subscription", body, http.StatusCreated)
	}
	const each = subscriptions * ledgetest.MailChannels
	for round := range 4 {
		before := round * each
		if round%2 == 0 {
			p.AddDevice(fmt.Sprint("raises-", round))
		} else {
			p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/notification", ledgetest.NotificationJSON("alarm", "fire"), http.StatusCreated)
		}
		n := p.WaitCount("transmission/all?limit=0", func(n int) bool { return n > before })
		p.Kill()
		t.Logf("kill %d: %d of %d transmissions were seen on record", round, n-before, each)
		p = ledgetest.Start(t, dir, flags...)
		p.WaitCount("transmission/all?limit=0", func(n int) bool { return n >= before+each })
	}
	p.AddDevice("last")
	all := p.WaitCount("transmission/all?limit=0", func(n int) bool { return n >= 5*each })
	for i := range subscriptions {
		if n := ledgetest.Count(p, fmt.Sprintf("transmission/subscription/name/mail-%d?limit=0", i)); n != 5*ledgetest.MailChannels {
			t.Errorf("subscription %d has %d transmissions, want %d", i, n, 5*ledgetest.MailChannels)
		}
	}
	if n := ledgetest.Count(p, "notification/subscription/name/mail-7?limit=0"); all != 5*each || n != 5 {
		t.Errorf("%d transmissions of %d notifications, want %d of 5", all, n, 5*each)
	}
}

package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ledge/bridge/porttest"
)

// TestKilledBetweenParts kills the process while it records, in parts, what a device change or a posted notification matched. After the next
// start each channel is on record once, and a change after it reaches the same subscriptions.
func TestKilledBetweenParts(t *testing.T) {
	t.Parallel()
	const subscriptions = 8
	dir := t.TempDir()
	flags := []string{"--smtp-server", fmt.Sprint("smtp+plain://127.0.0.1:", porttest.Hold(t)), "--smtp-sender", "ledge@example.com"}
	p := start(t, dir, flags...)
	address := strings.Repeat("a", 50) + "@" + strings.Repeat("b", 150) + ".example"
	for i := range subscriptions {
		body := strings.Replace(mailSubscription(fmt.Sprint("mail-", i), "alarm", address), `["alarm"]`, `["alarm","DEVICE_CHANGED"]`, 1)
		p.postJSON(http.MethodPost, p.notifications+"/api/v2/subscription", body, http.StatusCreated)
	}
	const each = subscriptions * mailChannels
	for round := range 4 {
		before := round * each
		if round%2 == 0 {
			p.addDevice(fmt.Sprint("raises-", round))
		} else {
			p.postJSON(http.MethodPost, p.notifications+"/api/v2/notification", notificationJSON("alarm", "fire"), http.StatusCreated)
		}
		n := p.waitCount("transmission/all?limit=0", func(n int) bool { return n > before })
		p.kill()
		t.Logf("kill %d: %d of %d transmissions were seen on record", round, n-before, each)
		p = start(t, dir, flags...)
		p.waitCount("transmission/all?limit=0", func(n int) bool { return n >= before+each })
	}
	p.addDevice("last")
	all := p.waitCount("transmission/all?limit=0", func(n int) bool { return n >= 5*each })
	for i := range subscriptions {
		if n := p.count(fmt.Sprintf("transmission/subscription/name/mail-%d?limit=0", i)); n != 5*mailChannels {
			t.Errorf("subscription %d has %d transmissions, want %d", i, n, 5*mailChannels)
		}
	}
	if n := p.count("notification/subscription/name/mail-7?limit=0"); all != 5*each || n != 5 {
		t.Errorf("%d transmissions of %d notifications, want %d of 5", all, n, 5*each)
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"
)

// transmission is one as it is answered.
type transmission struct {
	NotificationID, SubscriptionName, Status string
	Records                                  []struct{ Status, Response string }
}

// transmissions returns those that a path below /transmission lists.
func (p *process) transmissions(path string) []transmission {
	p.tb.Helper()
	a := p.call(http.MethodGet, p.notifications+"/api/v2/transmission/"+path, "", "")
	var list struct{ Transmissions []transmission }
	if err := json.Unmarshal([]byte(a.body), &list); err != nil || a.status != http.StatusOK {
		p.tb.Fatalf("GET %s: %d %s", path, a.status, a.body)
	}
	return list.Transmissions
}

// settled waits until a subscription has n transmissions, all with their outcome, and returns them, newest first.
func (p *process) settled(subscription string, n int) (all []transmission) {
	p.tb.Helper()
	p.await(fmt.Sprintf("%d transmissions to %s", n, subscription), func() bool {
		all = p.transmissions("subscription/name/" + subscription + "?limit=1000")
		for _, t := range all {
			if t.Status == "RESENDING" {
				return false
			}
		}
		return len(all) >= n
	})
	return all
}

// subscribeAll adds a subscription to all device changes and to a category, with channels in JSON.
func (p *process) subscribeAll(name, category, channels string) {
	p.tb.Helper()
	p.postJSON(http.MethodPost, p.notifications+"/api/v2/subscription", subscriptionJSON(name, category, channels), http.StatusCreated)
}

func subscriptionJSON(name, category, channels string) string {
	return fmt.Sprintf(`[{"apiVersion":"v2","subscription":{"name":%q,"receiver":"r","adminState":"UNLOCKED","categories":[%q,"DEVICE_CHANGED"],"channels":[%s]}}]`, name, category, channels)
}

// restChannel is a REST channel to a test's server.
func restChannel(t *testing.T, url, path string) string {
	t.Helper()
	return fmt.Sprintf(`{"type":"REST","host":"127.0.0.1","port":%d,"path":%q,"httpMethod":"POST"}`, urlPort(t, url), path)
}

// The transmissions of a notification that was posted are there as soon as the answer is: a list waits for their record, but not for
// longer than 250 ms, since the disk may be slow or full.
func TestPostedTransmissionsAreShownAtOnce(t *testing.T) {
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	p := start(t, t.TempDir())
	p.subscribeAll("alarms", "alarm", restChannel(t, receiver.URL, "/"))
	const posts = 50
	for range posts {
		var items []struct{ ID string }
		a := p.postJSON(http.MethodPost, p.notifications+"/api/v2/notification", notificationJSON("alarm", "c"), http.StatusCreated)
		if err := json.Unmarshal([]byte(a.body), &items); err != nil {
			t.Fatal(err)
		}
		asked := time.Now()
		all := p.transmissions("all?limit=1000")
		shown := slices.ContainsFunc(all, func(s transmission) bool { return s.NotificationID == items[0].ID && s.SubscriptionName == "alarms" })
		if !shown && time.Since(asked) < 250*time.Millisecond {
			t.Errorf("%s is not among the %d transmissions", items[0].ID, len(all))
		}
	}
	if all := p.settled("alarms", posts); len(all) != posts {
		t.Errorf("%d transmissions, want %d", len(all), posts)
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
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

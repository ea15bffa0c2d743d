package main

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"ledge/bridge/porttest"
)

// TestCleanupLeavesNothing posts notifications that match a subscription and asks at once for a cleanup: none of those that
// were acknowledged is left.
func TestCleanupLeavesNothing(t *testing.T) {
	p := start(t, t.TempDir())
	p.postJSON(http.MethodPost, p.notifications+"/api/v2/subscription", fmt.Sprintf(`[{"apiVersion":"v2","subscription":{"name":"s","receiver":"r","adminState":"UNLOCKED","categories":["bulk"],`+
		`"channels":[{"type":"ZeroMQ","host":"127.0.0.1","port":%d,"topic":"t"}]}}]`, porttest.Hold(t)), http.StatusCreated)
	for round := range 3 {
		p.postNotifications(1000)
		p.cleanUp("cleanup")
		until(t, "the end of the cleanup", func() bool { return p.log.count(`"msg":"cleanup finished","kind":"all"`) > round })
		if n := p.count("notification/start/0/end/" + fmt.Sprint(time.Now().Add(time.Hour).UnixMilli()) + "?limit=0"); n != 0 {
			t.Fatalf("%d notifications are left", n)
		}
		if n := p.count("transmission/all?limit=0"); n != 0 {
			t.Fatalf("%d transmissions are left", n)
		}
	}
}

package lifecycle

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"ledge/bridge/porttest"
	"ledge/cmd/ledgetest"
)

// TestCleanupLeavesNothing posts notifications that match a subscription and asks at once for a cleanup: none of those that
// were acknowledged is left.
func TestCleanupLeavesNothing(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/subscription", fmt.Sprintf(`[{"apiVersion":"v2","subscription":{"name":"s","receiver":"r","adminState":"UNLOCKED","categories":["bulk"],`+
		`"channels":[{"type":"ZeroMQ","host":"127.0.0.1","port":%d,"topic":"t"}]}}]`, porttest.Hold(t)), http.StatusCreated)
	for round := range 3 {
		ledgetest.PostNotifications(p, 1000)
		cleanUp(p, "cleanup")
		ledgetest.Until(t, "the end of the cleanup", func() bool { return p.Log.Count(`"msg":"cleanup finished","kind":"all"`) > round })
		if n := ledgetest.Count(p, "notification/start/0/end/"+fmt.Sprint(time.Now().Add(time.Hour).UnixMilli())+"?limit=0"); n != 0 {
			t.Fatalf("%d notifications are left", n)
		}
		if n := ledgetest.Count(p, "transmission/all?limit=0"); n != 0 {
			t.Fatalf("%d transmissions are left", n)
		}
	}
}

package attack

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
)

// TestAttackWaiting has 60 subscriptions to a receiver that answers 503, and posts notifications to all of them: 3,700 in the attack that was
// found, whose 222,000 transmissions took 577 MiB of anonymous memory, and take 200 MiB with a bound. A receiver that comes later gets its
// notification meanwhile, and all transmissions stay on record.
func TestAttackWaiting(t *testing.T) {
	const subscriptions, together = 60, 50
	posts := listLength(3700, 200) / together
	a := startAttack(t)
	full := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	t.Cleanup(full.Close)
	for i := range subscriptions {
		channel := ledgetest.RestChannel(t, full.URL, fmt.Sprint("/", i))
		a.PostJSON(http.MethodPost, a.Notifications+"/api/v2/subscription", ledgetest.AlarmJSON(fmt.Sprint("full-", i), "alarm", channel), http.StatusCreated)
	}
	one := strings.Trim(ledgetest.NotificationJSON("alarm", "alarm"), "[]")
	for range posts {
		a.Call(http.MethodPost, a.Notifications+"/api/v2/notification", "application/json", "["+one+strings.Repeat(","+one, together-1)+"]")
	}
	url, bodies := collect(t)
	a.PostJSON(http.MethodPost, a.Notifications+"/api/v2/subscription", ledgetest.AlarmJSON("fine", "fine", ledgetest.RestChannel(t, url, "/")), http.StatusCreated)
	a.PostJSON(http.MethodPost, a.Notifications+"/api/v2/notification", ledgetest.NotificationJSON("fine", "fine"), http.StatusCreated)
	takes(t, bodies, "fine")
	a.WaitCount("transmission/all?limit=0", func(n int) bool { return n == subscriptions*posts*together+1 })
	a.WaitCount("transmission/status/RESENDING?limit=0", func(n int) bool { return n == subscriptions*posts*together })
	a.held(t)
}

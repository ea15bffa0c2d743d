package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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
		channel := restChannel(t, full.URL, fmt.Sprint("/", i))
		a.postJSON(http.MethodPost, a.notifications+"/api/v2/subscription", alarmJSON(fmt.Sprint("full-", i), "alarm", channel), http.StatusCreated)
	}
	one := strings.Trim(notificationJSON("alarm", "alarm"), "[]")
	for range posts {
		a.call(http.MethodPost, a.notifications+"/api/v2/notification", "application/json", "["+one+strings.Repeat(","+one, together-1)+"]")
	}
	url, bodies := collect(t)
	a.postJSON(http.MethodPost, a.notifications+"/api/v2/subscription", alarmJSON("fine", "fine", restChannel(t, url, "/")), http.StatusCreated)
	a.postJSON(http.MethodPost, a.notifications+"/api/v2/notification", notificationJSON("fine", "fine"), http.StatusCreated)
	takes(t, bodies, "fine")
	a.waitCount("transmission/all?limit=0", func(n int) bool { return n == subscriptions*posts*together+1 })
	a.waitCount("transmission/status/RESENDING?limit=0", func(n int) bool { return n == subscriptions*posts*together })
	a.held(t)
}

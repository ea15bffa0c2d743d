package main

import (
	"fmt"
	"testing"
)

// TestOldNotificationsGo holds that notifications-max-age takes what is delivered and what still waits for a dead endpoint,
// and that new ones are delivered after that.
func TestOldNotificationsGo(t *testing.T) {
	p := start(t, t.TempDir(), "--notifications-max-age", "1s", "--resend-limit", "99")
	p.subscribeAll("fine", "alarm", restChannel(t, newReceiver(t).URL, "/hook/ok"))
	p.subscribeAll("dead", "alarm", fmt.Sprintf(`{"type":"REST","host":"127.0.0.1","port":%d,"path":"/","httpMethod":"POST"}`, freePort(t)))
	p.post("alarm", "old")
	p.waitCount("transmission/status/SENT?limit=0", func(n int) bool { return n > 0 })
	p.waitCount("transmission/all?limit=0", none)
	p.waitCount("notification/category/alarm?limit=0", none)
	p.post("alarm", "new")
	p.waitCount("transmission/status/SENT?limit=0", func(n int) bool { return n == 1 })
	if code := p.stop(); code != exitOK {
		t.Errorf("exit code %d\n%s", code, p.log)
	}
}

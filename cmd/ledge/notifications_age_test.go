package main

import (
	"fmt"
	"testing"

	"ledge/bridge/porttest"
	"ledge/cmd/internal/exit"
)

// TestOldNotificationsGo holds that notifications-max-age takes what is delivered and what still waits for a dead endpoint,
// and that new ones are delivered after that.
func TestOldNotificationsGo(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "--notifications-max-age", "1s", "--resend-limit", "99")
	r := newMoodyReceiver(t, "fine")
	p.subscribeAll(r.name, "alarm", restChannel(t, r.URL, "/"))
	p.subscribeAll("dead", "alarm", fmt.Sprintf(`{"type":"REST","host":"127.0.0.1","port":%d,"path":"/","httpMethod":"POST"}`, porttest.Hold(t)))
	delivered := func(content string) func() bool { // a notification may be of age before it is delivered
		return func() bool { p.post("alarm", content); return r.times(content) > 0 }
	}
	until(t, "an old one to be delivered", delivered("old"))
	p.waitCount("transmission/all?limit=0", none)
	p.waitCount("notification/category/alarm?limit=0", none)
	until(t, "a new one to be delivered", delivered("new"))
	if code := p.stop(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, p.log)
	}
}

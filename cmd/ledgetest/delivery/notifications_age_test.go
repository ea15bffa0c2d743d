package delivery

import (
	"fmt"
	"testing"

	"ledge/bridge/porttest"
	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// TestOldNotificationsGo holds that notifications-max-age takes what is delivered and what still waits for a dead endpoint,
// and that new ones are delivered after that.
func TestOldNotificationsGo(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir(), "--notifications-max-age", "1s", "--resend-limit", "99")
	r := newMoodyReceiver(t, "fine")
	p.SubscribeAll(r.name, "alarm", ledgetest.RestChannel(t, r.URL, "/"))
	p.SubscribeAll("dead", "alarm", fmt.Sprintf(`{"type":"REST","host":"127.0.0.1","port":%d,"path":"/","httpMethod":"POST"}`, porttest.Hold(t)))
	delivered := func(content string) func() bool { // a notification may be of age before it is delivered
		return func() bool { ledgetest.PostNotification(p, "alarm", content); return r.times(content) > 0 }
	}
	ledgetest.Until(t, "an old one to be delivered", delivered("old"))
	p.WaitCount("transmission/all?limit=0", ledgetest.IsNone)
	p.WaitCount("notification/category/alarm?limit=0", ledgetest.IsNone)
	ledgetest.Until(t, "a new one to be delivered", delivered("new"))
	if code := p.Stop(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, p.Log)
	}
}

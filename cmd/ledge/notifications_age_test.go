package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ledge/bridge/porttest"
	"ledge/cmd/internal/exit"
	"ledge/domain"
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

// TestOldNotificationsGiveDiskBack holds that the files of the log follow, and that the state is a fold of what is left.
func TestOldNotificationsGiveDiskBack(t *testing.T) {
	c := configOf(t, "--data-dir", t.TempDir(), "--notifications-max-age", "6h")
	d := mustOpenData(t, c)
	start := time.Now()
	at := start
	d.Now = func() time.Time { return at }
	add := func(n int) {
		for range n {
			note := domain.Notification{
				ID: newID(), Category: "c", Content: strings.Repeat("x", 100<<10), Sender: "me", Severity: domain.SeverityNormal,
				Status: domain.StatusProcessed, Created: at.UnixMilli(), Modified: at.UnixMilli(),
			}
			submitAll(d, t, domain.AddNotification{Notification: note})
		}
	}
	add(250) // over several files
	at = start.Add(time.Hour)
	add(5)
	at = start.Add(6*time.Hour - time.Millisecond)
	a := newNotificationAge(c, d)
	count := func() int { return totalOf(t, d.Notifications.State, "notifications") }
	if a.sweep(t.Context()); count() != 255 || d.Notifications.Log.First() != 1 {
		t.Errorf("%d are left, and the log begins at %d, before any is of age", count(), d.Notifications.Log.First())
	}
	at = start.Add(6*time.Hour + 30*time.Minute) // the files go by the machine's clock too, and it took some of its time
	if a.sweep(t.Context()); count() != 5 || d.Notifications.Log.First() < 100 {
		t.Errorf("%d are left, want 5; the log begins at %d", count(), d.Notifications.Log.First())
	}
	isFold(d, t)
}

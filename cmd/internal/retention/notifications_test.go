package retention

import (
	"strings"
	"testing"
	"time"

	"ledge/cmd/internal/node/nodetest"
	"ledge/domain"
)

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
				ID: nodetest.NewID(), Category: "c", Content: strings.Repeat("x", 100<<10), Sender: "me", Severity: domain.SeverityNormal,
				Status: domain.StatusProcessed, Created: at.UnixMilli(), Modified: at.UnixMilli(),
			}
			nodetest.Submit(t, d, domain.AddNotification{Notification: note})
		}
	}
	add(250) // over several files
	at = start.Add(time.Hour)
	add(5)
	at = start.Add(6*time.Hour - time.Millisecond)
	s := sweeperOf(d, c)
	count := func() int { return nodetest.CountOf(t, d.Notifications.State, "notifications") }
	if s.sweep(t.Context()); count() != 255 || d.Notifications.Log.First() != 1 {
		t.Errorf("%d are left, and the log begins at %d, before any is of age", count(), d.Notifications.Log.First())
	}
	at = start.Add(6*time.Hour + 30*time.Minute) // the files go by the machine's clock too, and it took some of its time
	if s.sweep(t.Context()); count() != 5 || d.Notifications.Log.First() < 100 {
		t.Errorf("%d are left, want 5; the log begins at %d", count(), d.Notifications.Log.First())
	}
	nodetest.MustBeFold(t, d)
}

package retention

import (
	"context"
	"fmt"
	"testing"

	"ledge/cmd/internal/node/nodetest"
	"ledge/domain"
)

// TestCleanupTakesWhatChangesLater asks for a cleanup while notifications are on their way through the bridge, which changes
// them after the request: what was on record goes, whatever becomes of it, and what comes after the request stays.
func TestCleanupTakesWhatChangesLater(t *testing.T) {
	asked := int64(1_000_000)
	for kind, want := range map[string][2]int{
		domain.CleanupAll:       {0, 1}, // changed after it, added after it
		domain.CleanupProcessed: {1, 1}, // it was not PROCESSED when the cleanup was asked for
	} {
		t.Run(kind, func(t *testing.T) {
			d := mustOpenData(t, configOf(t, "--data-dir", t.TempDir()))
			note := func(category string) domain.Notification {
				return domain.Notification{ID: nodetest.NewID(), Category: category, Content: "c", Sender: "me", Severity: domain.SeverityNormal, Status: domain.StatusNew, Created: asked, Modified: asked}
			}
			before, processed, after := note("before"), note("processed"), note("after")
			process := func(n domain.Notification, at int64) domain.Command {
				return domain.ProcessNotification{ID: n.ID, Matched: []string{}, At: at}
			}
			nodetest.Submit(t, d, domain.AddNotification{Notification: before}, domain.AddNotification{Notification: processed}, process(processed, asked),
				domain.RequestCleanup{Cleanup: domain.Cleanup{Kind: kind, Until: asked, Asked: asked}},
				process(before, asked), domain.AddNotification{Notification: after}, process(after, asked))
			s := newCleaner(d, &d.Notifications)
			s.cleanAll(t.Context())
			v, done := d.Notifications.State.State()
			defer done()
			for n, left := range map[*domain.Notification]int{&before: want[0], &processed: 0, &after: want[1]} {
				if _, ok := v.Notifications.Get(n.ID); ok != (left == 1) {
					t.Errorf("%s: still there is %t", n.Category, ok)
				}
			}
			if _, goes := v.Cleanups.Get(kind); goes {
				t.Error("it goes on")
			}
		})
	}
}

// TestLateComersAreBounded holds that beyond the bound all that has changed counts as late.
func TestLateComersAreBounded(t *testing.T) {
	l := lateComers{kind: domain.CleanupAll, ids: map[string]bool{}}
	for i := range mostLate + 10 {
		if l.has("other") != (i > mostLate) {
			t.Fatalf("after %d", i)
		}
		l.note(domain.NotificationAdded{Notification: domain.Notification{ID: fmt.Sprint(i)}})
	}
	if len(l.ids) > mostLate+1 || l.readTo(context.Background(), nil, domain.CleanupAll, 0, 10) != nil {
		t.Error(len(l.ids))
	}
}

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// What reads the state in the background meets a damaged page: that is an error, and the program ends.
func TestBackgroundMeetsDamage(t *testing.T) {
	t.Parallel()
	c := configOf(t, "--data-dir", t.TempDir())
	d := mustOpenData(t, c)
	note := domain.Notification{ID: ledgetest.NewID(), Category: "c", Content: "c", Sender: "me", Severity: domain.SeverityNormal, Status: domain.StatusNew, Created: 1, Modified: 1}
	d.submit(t, domain.AddNotification{Notification: note}, domain.RequestCleanup{Cleanup: domain.Cleanup{Kind: domain.CleanupAll, Until: 1, Asked: 1}})
	ledgetest.TotalOf(t, d.notes, "notifications") // which writes what was applied to the file
	ledgetest.ZeroPages(t, filepath.Join(c.DataDir, datadir.StateFiles[1]), 2)
	s := d.newSweeper(d.notes, d.notifications, d.store.Notifications())
	if _, _, err := s.next(t.Context(), domain.CleanupAll); domain.CodeOf(err) != domain.Unavailable {
		t.Errorf("got %v", err)
	}
	select {
	case err := <-d.failed:
		if !strings.Contains(err.Error(), "notifications.db cannot be used") {
			t.Errorf("got %v", err)
		}
	default:
		t.Error("the program goes on")
	}
}

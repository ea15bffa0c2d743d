package retention

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/node"
	"ledge/cmd/internal/node/nodetest"
	"ledge/domain"
	"ledge/projections"
	"ledge/store/storetest"
)

// kept compares the readings in the state with those on the log.
func kept(t *testing.T, d *node.Node) {
	t.Helper()
	readings := d.Parts()[2]
	first := readings.Log.First()
	last, _ := readings.Log.Last()
	if first == 1 {
		t.Fatal("retention has removed nothing")
	}
	if n := nodetest.CountOf(t, readings.State, "readings"); n != int(last-first+1) {
		t.Errorf("%d readings in the state, want %d", n, last-first+1)
	}
	nodetest.MustBeFold(t, d)
}

// TestStateForgets holds that what retention removes from the log goes from the state too: while it runs, and at a start.
func TestStateForgets(t *testing.T) {
	c := keepingLittle(t)
	d := mustOpenData(t, c)
	nodetest.LoseFront(t, d)
	sweeperOf(d, c).sweep(t.Context())
	kept(t, d)
	nodetest.LoseFront(t, d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = mustOpenData(t, c)
	sweeperOf(d, c).sweep(t.Context())
	kept(t, d)
}

// TestStateBehindRetention starts with a state whose next event retention has removed.
func TestStateBehindRetention(t *testing.T) {
	c := keepingLittle(t)
	d := mustOpenData(t, c)
	nodetest.PostReadings(t, d, 2)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(t.TempDir(), datadir.StateFiles[2])
	copyFile(t, filepath.Join(c.DataDir, datadir.StateFiles[2]), old)
	d = mustOpenData(t, c)
	nodetest.LoseFront(t, d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	copyFile(t, old, filepath.Join(c.DataDir, datadir.StateFiles[2]))
	db, err := projections.Open(projections.Options{Path: filepath.Join(c.DataDir, datadir.StateFiles[2]), Tables: projections.Readings})
	if err != nil {
		t.Fatal(err)
	}
	if seq, _ := db.Checkpoint(); seq != 2 || db.Close() != nil {
		t.Fatalf("the old state is at %d", seq)
	}
	d = mustOpenData(t, c)
	sweeperOf(d, c).sweep(t.Context())
	kept(t, d)
}

// What reads the state in the background meets a damaged page: that is an error, and the program ends.
func TestBackgroundMeetsDamage(t *testing.T) {
	t.Parallel()
	c := configOf(t, "--data-dir", t.TempDir())
	d := mustOpenData(t, c)
	note := domain.Notification{ID: nodetest.NewID(), Category: "c", Content: "c", Sender: "me", Severity: domain.SeverityNormal, Status: domain.StatusNew, Created: 1, Modified: 1}
	nodetest.Submit(t, d, domain.AddNotification{Notification: note}, domain.RequestCleanup{Cleanup: domain.Cleanup{Kind: domain.CleanupAll, Until: 1, Asked: 1}})
	nodetest.CountOf(t, d.Notifications.State, "notifications") // which writes what was applied to the file
	storetest.ZeroPages(t, filepath.Join(c.DataDir, datadir.StateFiles[1]), 2)
	s := newCleaner(d, &d.Notifications)
	if _, _, err := s.next(t.Context(), domain.CleanupAll); domain.CodeOf(err) != domain.Unavailable {
		t.Errorf("got %v", err)
	}
	select {
	case err := <-d.Failed:
		if !strings.Contains(err.Error(), "notifications.db cannot be used") {
			t.Errorf("got %v", err)
		}
	default:
		t.Error("the program goes on")
	}
}

// copyFile copies a file in place of another one.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	mustDo(t, err)
	mustDo(t, os.WriteFile(to, text, 0o600))
}

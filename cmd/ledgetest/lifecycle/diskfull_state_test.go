package lifecycle

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
	"ledge/store/disktest"
)

// TestDiskFullForTheState has no room for what is folded, and enough for the log: changes are refused before what waits
// in memory is too much, all that was acknowledged is seen meanwhile, and with room again the same process goes on.
func TestDiskFullForTheState(t *testing.T) {
	disk := disktest.New(t, 16<<10)
	dir, filler := filepath.Join(disk, "data"), filepath.Join(disk, "filler")
	logs := filepath.Join(dir, "nats")
	if err := os.MkdirAll(logs, 0o750); err != nil {
		t.Fatal(err)
	}
	disktest.Mount(t, logs, 256<<10)
	f := &ledgetest.Fuller{Node: ledgetest.Start(t, dir), Readings: map[string]bool{}}
	for round := range 2 {
		status, body := f.AddOne()
		ledgetest.Must(t, "room", http.StatusCreated, status, body)
		ledgetest.FillDisk(t, filler, 0)
		ledgetest.Until(t, "a refusal", func() bool {
			if status, body = f.AddOne(); status != http.StatusCreated {
				ledgetest.Must(t, "no room", http.StatusInsufficientStorage, status, body)
			}
			return status != http.StatusCreated
		})
		f.Check(t)
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		ledgetest.Until(t, "changes to be taken again", func() bool { status, _ = f.AddOne(); return status == http.StatusCreated })
		f.Check(t)
		if began := f.Log.Count(`"msg":"disk is full: projection`); began < round+1 {
			t.Errorf("%d lines say that the disk is full\n%s", began, f.Log)
		}
		ledgetest.Until(t, "the state to be written", func() bool {
			return f.Log.Count(`"msg":"projection is written again`) == f.Log.Count(`"msg":"disk is full: projection`)
		})
	}
	ledgetest.AwaitNotified(t, f.Node)
	if code := f.Stop(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, f.Log)
	}
	f.CheckStopped(t)
}

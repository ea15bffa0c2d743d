package main

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"ledge/cmd/internal/exit"
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
	f := &fuller{process: start(t, dir), readings: map[string]bool{}}
	for round := range 2 {
		status, body := f.addOne()
		must(t, "room", http.StatusCreated, status, body)
		fill(t, filler, 0)
		until(t, "a refusal", func() bool {
			if status, body = f.addOne(); status != http.StatusCreated {
				must(t, "no room", http.StatusInsufficientStorage, status, body)
			}
			return status != http.StatusCreated
		})
		f.check(t)
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		until(t, "changes to be taken again", func() bool { status, _ = f.addOne(); return status == http.StatusCreated })
		f.check(t)
		if began := f.log.count(`"msg":"disk is full: projection`); began < round+1 {
			t.Errorf("%d lines say that the disk is full\n%s", began, f.log)
		}
		until(t, "the state to be written", func() bool {
			return f.log.count(`"msg":"projection is written again`) == f.log.count(`"msg":"disk is full: projection`)
		})
	}
	awaitNotified(t, f.process)
	if code := f.stop(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, f.log)
	}
	f.checkStopped(t)
}

package main

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/store/disktest"
	"ledge/store/storetest"
)

// TestStartOnAFullDisk starts on a disk that is filled to the last byte, in whatever state the folder was left: reads are
// served, writes are refused with 507, removals make room, and with space again the same process takes writes. What was
// acknowledged is there.
func TestStartOnAFullDisk(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		stop func(p *process)
		then func(dir string) error // before the disk is filled
	}{
		{"after a clean stop", func(p *process) { p.stop() }, nil},
		{"after a kill", func(p *process) { p.kill() }, nil},
		{"without the state", func(p *process) { p.kill() }, func(dir string) error { return os.Remove(filepath.Join(dir, "state.db")) }},
		// Before, this start ended when the state was to be written before the start had read its lists.
		{"without the spare space after a kill", func(p *process) { p.kill() }, func(dir string) error { return os.Remove(filepath.Join(dir, datadir.SpareFile)) }},
		{"without the mark and the pid", func(p *process) { p.stop() }, func(dir string) error {
			_ = os.Remove(filepath.Join(dir, "ledge.pid"))
			storetest.ForgetStop(t, filepath.Join(dir, "nats"))
			return nil
		}},
		{"with what a crash left of secrets", func(p *process) { p.kill() }, func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "secrets.json.new"), []byte("{"), 0o600)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			disk := disktest.New(t, 48<<10)
			dir, filler := filepath.Join(disk, "data"), filepath.Join(disk, "filler")
			flags := []string{"--disk-reserve", "3MiB"}
			p := start(t, dir, flags...)
			f := &fuller{process: p, readings: map[string]bool{}}
			until(t, "the spare space", func() bool { _, err := os.Stat(filepath.Join(dir, datadir.SpareFile)); return err == nil })
			for range 3 {
				f.addOne()
				f.postOne(1000)
			}
			test.stop(p)
			if test.then != nil {
				if err := test.then(dir); err != nil {
					t.Fatal(err)
				}
			}
			for round := range 2 { // the second one finds what the first one has left of the spare space
				fill(t, filler, 0)
				f.process = start(t, dir, flags...)
				f.check(t)
				status, body := f.addOne()
				must(t, "a change", http.StatusInsufficientStorage, status, body)
				status, body = f.postOne(1000)
				must(t, "a reading", http.StatusInsufficientStorage, status, body)
				f.mustHealth(t, f.metadata, http.StatusServiceUnavailable)
				if round == 0 {
					f.stop()
				}
			}
			if a := f.call(http.MethodDelete, f.metadata+"/api/v2/device/name/"+f.devices[0], "", ""); a.status != http.StatusInsufficientStorage && a.status != http.StatusOK {
				t.Errorf("a removal: %d %s", a.status, a.body)
			}
			if err := os.Remove(filler); err != nil {
				t.Fatal(err)
			}
			until(t, "changes to be taken again", func() bool { status, _ := f.addOne(); return status == http.StatusCreated })
			status, body := f.postOne(1000)
			must(t, "a reading with room again", http.StatusOK, status, body)
			if code := f.stop(); code != exit.OK {
				t.Errorf("exit code %d\n%s", code, f.log)
			}
			f.process = start(t, dir, flags...)
			awaitNotified(t, f.process)
			if code := f.stop(); code != exit.OK {
				t.Errorf("exit code %d\n%s", code, f.log)
			}
			verify(t, dir)
		})
	}
}

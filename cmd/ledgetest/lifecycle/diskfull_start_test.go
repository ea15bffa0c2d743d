package lifecycle

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
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
		stop func(p *ledgetest.Node)
		then func(dir string) error // before the disk is filled
	}{
		{"after a clean stop", func(p *ledgetest.Node) { p.Stop() }, nil},
		{"after a kill", func(p *ledgetest.Node) { p.Kill() }, nil},
		{"without the state", func(p *ledgetest.Node) { p.Kill() }, func(dir string) error { return os.Remove(filepath.Join(dir, "state.db")) }},
		// Before, this start ended when the state was to be written before the start had read its lists.
		{"without the spare space after a kill", func(p *ledgetest.Node) { p.Kill() }, func(dir string) error { return os.Remove(filepath.Join(dir, datadir.SpareFile)) }},
		{"without the mark and the pid", func(p *ledgetest.Node) { p.Stop() }, func(dir string) error {
			_ = os.Remove(filepath.Join(dir, "ledge.pid"))
			storetest.ForgetStop(t, filepath.Join(dir, "nats"))
			return nil
		}},
		{"with what a crash left of secrets", func(p *ledgetest.Node) { p.Kill() }, func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "secrets.json.new"), []byte("{"), 0o600)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			disk := disktest.New(t, 48<<10)
			dir, filler := filepath.Join(disk, "data"), filepath.Join(disk, "filler")
			flags := []string{"--disk-reserve", "3MiB"}
			p := ledgetest.Start(t, dir, flags...)
			f := &ledgetest.Fuller{Node: p, Readings: map[string]bool{}}
			ledgetest.Until(t, "the spare space", func() bool { _, err := os.Stat(filepath.Join(dir, datadir.SpareFile)); return err == nil })
			for range 3 {
				f.AddOne()
				f.PostOne(1000)
			}
			test.stop(p)
			if test.then != nil {
				if err := test.then(dir); err != nil {
					t.Fatal(err)
				}
			}
			for round := range 2 { // the second one finds what the first one has left of the spare space
				ledgetest.FillDisk(t, filler, 0)
				f.Node = ledgetest.Start(t, dir, flags...)
				f.Check(t)
				status, body := f.AddOne()
				ledgetest.Must(t, "a change", http.StatusInsufficientStorage, status, body)
				status, body = f.PostOne(1000)
				ledgetest.Must(t, "a reading", http.StatusInsufficientStorage, status, body)
				ledgetest.MustHealth(f.Node, t, f.Metadata, http.StatusServiceUnavailable)
				if round == 0 {
					f.Stop()
				}
			}
			if a := f.Call(http.MethodDelete, f.Metadata+"/api/v2/device/name/"+f.Devices[0], "", ""); a.Status != http.StatusInsufficientStorage && a.Status != http.StatusOK {
				t.Errorf("a removal: %d %s", a.Status, a.Body)
			}
			if err := os.Remove(filler); err != nil {
				t.Fatal(err)
			}
			ledgetest.Until(t, "changes to be taken again", func() bool { status, _ := f.AddOne(); return status == http.StatusCreated })
			status, body := f.PostOne(1000)
			ledgetest.Must(t, "a reading with room again", http.StatusOK, status, body)
			if code := f.Stop(); code != exit.OK {
				t.Errorf("exit code %d\n%s", code, f.Log)
			}
			f.Node = ledgetest.Start(t, dir, flags...)
			ledgetest.AwaitNotified(t, f.Node)
			if code := f.Stop(); code != exit.OK {
				t.Errorf("exit code %d\n%s", code, f.Log)
			}
			ledgetest.Verify(t, dir)
		})
	}
}

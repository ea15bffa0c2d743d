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

// TestDiskFull fills the disk into the reserve of readings, then into that of changes, and frees it again.
func TestDiskFull(t *testing.T) {
	disk := disktest.New(t, 96<<10)
	filler := filepath.Join(disk, "filler")
	p := ledgetest.Start(t, filepath.Join(disk, "data"), "--disk-reserve", "8MiB")
	f := &ledgetest.Fuller{Node: p, Readings: map[string]bool{}}
	step := func(what string, reading, change int) {
		status, body := f.PostOne(1000)
		ledgetest.Must(t, what+": a reading", reading, status, body)
		status, body = f.AddOne()
		ledgetest.Must(t, what+": a change", change, status, body)
		f.Check(t)
	}
	for range 2 {
		step("room", 200, 201)
		ledgetest.FillDisk(t, filler, 12<<20)
		step("less than the reserve of readings", 507, 201)
		ledgetest.MustHealth(p, t, p.DeviceREST, http.StatusServiceUnavailable)
		ledgetest.MustHealth(p, t, p.Metadata, http.StatusOK)
		ledgetest.FillDisk(t, filler, 6<<20)
		step("less than the reserve of changes", 507, 507)
		ledgetest.MustHealth(p, t, p.Metadata, http.StatusServiceUnavailable)
		ledgetest.MustHealth(p, t, p.Notifications, http.StatusServiceUnavailable)
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		step("room again", 200, 201)
		for _, url := range []string{p.DeviceREST, p.Metadata, p.Notifications} {
			ledgetest.MustHealth(p, t, url, http.StatusOK)
		}
	}
	ledgetest.AwaitNotified(t, p)
	if code := p.Stop(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, p.Log)
	}
	f.CheckStopped(t)
}

// TestDiskFullWithoutReserve lets writes hit the end of the disk: every request is answered, nothing acknowledged is
// lost, and with room again the process serves, or it has ended with a line that says why and serves after a start.
func TestDiskFullWithoutReserve(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		atOnce bool // there is room again as soon as a write has failed
	}{{"room at once", true}, {"room later", false}} {
		t.Run(tt.name, func(t *testing.T) {
			disk := disktest.New(t, 192<<10)
			p := ledgetest.Start(t, filepath.Join(disk, "data"), "--disk-reserve", "1B")
			f := &ledgetest.Fuller{Node: p, Readings: map[string]bool{}}
			for range 20 {
				f.AddOne()
				f.PostOne(100)
			}
			for tries := 0; tries < 20 && f.Failed() < 2 && !f.GaveUp(); tries++ {
				f.HitTheEnd(t, filepath.Join(disk, "filler"), tt.atOnce)
			}
			t.Logf("%d changes and %d readings acknowledged, %d writes failed, given up: %v", len(f.Devices), len(f.Readings), f.Failed(), f.GaveUp())
			if f.Failed() == 0 && !f.GaveUp() {
				t.Error("no write has met the end of the disk")
			}
			for _, line := range []string{"it takes no more events", `"error":"apply `} { // what is folded waits for room
				if f.Log.Count(line) > 0 {
					t.Errorf("the log says %q\n%s", line, f.Log)
				}
			}
			f.AfterFree(t)
			f.CheckStopped(t)
		})
	}
}

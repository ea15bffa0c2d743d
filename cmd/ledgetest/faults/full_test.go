package faults

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"ledge/cmd/ledgetest"
	"ledge/store/disktest"
)

// diskRoom is how many bytes are left on a disk that is filled: none, and some pages.
var diskRoom = []int64{0, 4 << 10, 16 << 10, 64 << 10, 256 << 10}

// TestFullDiskRestarted fills the disk while clients work, to the last byte or nearly so, ends the program and starts it
// again on the full disk: it answers reads, refuses writes, and takes them again when there is room, without a restart.
func TestFullDiskRestarted(t *testing.T) {
	t.Parallel()
	row := &faultRow{name: "full disk, started again on it", crash: true}
	row.try(t, 4*len(diskRoom), 2, func(t *testing.T, i int) outcome {
		dir := disktest.New(t, 48<<10)
		l := ledgetest.NewWorkload(t, *ledgetest.Seed+uint64(i))
		o := onFullDisk(l, t, dir, diskRoom[i/4], i%2 == 0, i/2%2 == 0)
		o.why = fmt.Sprintf("%s, with %d bytes left", o.why, diskRoom[i/4])
		return o
	})
}

func onFullDisk(l *ledgetest.Workload, t *testing.T, dir string, room int64, killed, noReserve bool) outcome {
	filler, flags := filepath.Join(dir, "filler"), []string(nil)
	if noReserve {
		flags = append(flags, "--disk-reserve", "1B")
	}
	p := ledgetest.Start(t, dataOf(dir), flags...)
	l.Insist(p, 4)
	ledgetest.FillDisk(t, filler, room)
	l.Insist(p, 2)
	if killed {
		p.Kill()
	} else {
		p.Stop() // its exit code may say that a log was given up
	}
	ledgetest.FillDisk(t, filler, 0)
	p, named, o := serveOn(t, dataOf(dir), flags...)
	if o.verdict != recovered || named != "" {
		return outcomef(max(o.verdict, found), "on a full disk: %s%s", o.why, named)
	}
	if _, err := l.Find(p, l.Known()); err != nil {
		return outcomef(lost, "on a full disk: %v", err)
	}
	ledgetest.FillDisk(t, filler, 0) // the start may have given back what the run before it held
	add := func() (int, string) {
		a, err := ledgetest.TryCall(http.MethodPost, p.Metadata+"/api/v2/device", "application/json", "["+ledgetest.DeviceJSON("full")+"]")
		if err != nil {
			return 0, err.Error()
		}
		return ledgetest.Statuses(a)[0], a.Body
	}
	if status, body := add(); status != http.StatusInsufficientStorage {
		return outcomef(broken, "a change on a full disk: %d %s", status, body)
	}
	if err := os.Remove(filler); err != nil {
		return outcomef(broken, "%v", err)
	}
	ledgetest.Until(t, "changes to be taken again", func() bool { status, _ := add(); return status == http.StatusCreated })
	p.Kill()
	return judge(l, t, dataOf(dir), l.Known(), l.Acknowledged())
}

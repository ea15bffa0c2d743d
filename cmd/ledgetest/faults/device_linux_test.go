//go:build amd64 || arm64

package faults

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"ledge/cmd/internal/faults"
	"ledge/cmd/ledgetest"
)

// deviceFault is a way in which a device fails, from the nth operation of some kinds on.
type deviceFault struct {
	name  string
	kinds []faults.Kind
	err   syscall.Errno
	times int // 0 is for ever
}

var deviceFaults = []deviceFault{
	{"an fsync fails once", []faults.Kind{faults.Fsync}, syscall.EIO, 1},
	{"every fsync fails", []faults.Kind{faults.Fsync, faults.FsyncDir}, syscall.EIO, 0},
	{"an fsync of a folder fails once", []faults.Kind{faults.FsyncDir}, syscall.EIO, 1},
	{"a write fails once", []faults.Kind{faults.Write}, syscall.EIO, 1},
	{"every write fails", []faults.Kind{faults.Write}, syscall.EIO, 0},
	{"ten writes find the disk full", []faults.Kind{faults.Write, faults.Create, faults.Truncate}, syscall.ENOSPC, 10},
	{"a name cannot be changed once", []faults.Kind{faults.Create, faults.Rename, faults.Unlink, faults.Mkdir}, syscall.EIO, 1},
}

func (d deviceFault) matches(op faults.Op) bool {
	for _, kind := range d.kinds {
		if op.Kind == kind {
			return true
		}
	}
	return false
}

// deviceRequests is how many requests each of the clients sends to a program whose device fails.
const deviceRequests = 8

// TestFailingDevice fails operations of a running program, at each position, and then cuts the power: whatever was
// answered with success, before the fault or after it, is there.
func TestFailingDevice(t *testing.T) {
	t.Parallel()
	whole := failingRun(t, func(*faults.FS, func()) {})
	for _, d := range deviceFaults {
		n := 0
		for _, op := range whole.Ops {
			if d.matches(op) {
				n++
			}
		}
		row := &faultRow{name: "failing device: " + d.name, crash: true}
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			row.try(t, n, 3, func(t *testing.T, i int) outcome {
				return d.at(t, i+1)
			})
		})
	}
}

// at runs the program with the fault at one position, cuts the power and judges what is left.
func (d deviceFault) at(t *testing.T, position int) outcome {
	to := 0
	if d.times > 0 {
		to = position + d.times - 1
	}
	var failed faults.Op
	r := failingRun(t, func(f *faults.FS, _ func()) {
		f.Set(faults.Rule{Match: d.matches, From: position, To: to, Err: d.err})
	})
	for _, op := range r.Ops {
		if op.Err != 0 {
			failed = op
			break
		}
	}
	return scratch(t, func(dir string) outcome {
		mode := faults.Mode(position % faults.Modes)
		if err := r.Cut(len(r.Ops), mode, *ledgetest.Seed, dir); err != nil {
			return outcomef(broken, "%v", err)
		}
		o := judge(r.Workload, t, dataOf(dir), r.Known(), r.Acknowledged())
		o.why = fmt.Sprintf("%s, after %v", strings.ReplaceAll(o.why, dir, ""), failed)
		return o
	})
}

// failingRun runs the program with some rules until the clients have sent their requests, or until it has ended. The
// rules can kill it.
func failingRun(t *testing.T, rules func(f *faults.FS, kill func())) *recording {
	f := faults.Mount(t, "")
	defer f.Close()
	r := &recording{Workload: ledgetest.NewWorkload(t, *ledgetest.Seed)}
	started, kill := make(chan struct{}), func() {}
	rules(f, func() {
		<-started
		kill()
	})
	p := ledgetest.Launch(t, dataOf(f.Dir))
	kill = func() { _ = p.Cmd.Process.Kill() }
	close(started)
	if p.WaitReady() == nil {
		r.Insist(p, deviceRequests)
	}
	p.Kill()
	r.Recording = f.Recording()
	return r
}

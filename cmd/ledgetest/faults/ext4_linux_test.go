//go:build amd64 || arm64

package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
	"ledge/store/disktest"
)

// ext4Ways are the ways in which each fault on a real ext4 is tried: how the program ended, whether the disk is full when it starts again, and how
// the page cache goes away after that.
const ext4Ways = 8

// TestFailedWriteOnExt4 has writes of a real ext4 fail, starts again when the disk is well, lets clients work, and then takes the page cache
// away. Whatever was answered with success, before the fault or after the restart, is on the disk. ext4 reads an extent whose first write
// failed as zeros, also after the same bytes were written in place and synced. Before, 20 of 20 runs that ended with a failed write lost answered changes.
func TestFailedWriteOnExt4(t *testing.T) {
	t.Parallel()
	row := &faultRow{name: "failed write on ext4, started again, then cut off", crash: true}
	row.try(t, 20*ext4Ways, 2, func(t *testing.T, i int) outcome {
		l := ledgetest.NewWorkload(t, *ledgetest.Seed+uint64(i))
		return onExt4(l, t, disktest.NewExt4(t), 1+i/ext4Ways, i)
	})
}

// startAgain starts the program. If the disk is full meanwhile, it may refuse, with the exit code that says so, and is started again.
func startAgain(l *ledgetest.Workload, t *testing.T, dir string, full bool) (p *ledgetest.Node, o outcome) {
	if full {
		filler := filepath.Join(filepath.Dir(dir), "filler")
		_ = os.Remove(filepath.Join(dir, datadir.SpareFile)) // it would have room for the copy
		if err := reserve(filler, ledgetest.FreeSpace(t, filler)); err != nil {
			return nil, outcomef(broken, "%v", err)
		}
		ledgetest.FillDisk(t, filler, 0)
		p = ledgetest.Launch(t, dir)
		err := p.WaitReady()
		if rerr := os.Remove(filler); rerr != nil {
			return nil, outcomef(broken, "%v", rerr)
		}
		if err == nil {
			return p, outcome{}
		}
		p.Kill()
		if code := p.Cmd.ProcessState.ExitCode(); code != exit.Folder {
			return nil, outcomef(broken, "on a full disk: exit code %d: %s", code, lastLine(p.Log.String()))
		}
	}
	p, named, o := serveOn(t, dir)
	if named != "" {
		o = outcomef(found, "%s", named)
	}
	return p, o
}

// reserve makes a file of so many bytes, as far as there is room, and writes none of them.
func reserve(path string, bytes int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Fallocate(int(f.Fd()), 0, 0, bytes); !errors.Is(err, unix.ENOSPC) {
		return err
	}
	return nil
}

// onExt4 has each client send so many requests before the fault; way says how all goes on.
func onExt4(l *ledgetest.Workload, t *testing.T, disk *disktest.Ext4, each, way int) outcome {
	killed, full, cut := way%2 == 1, way/2%2 == 1, way/4%2 == 1
	p := ledgetest.Start(t, dataOf(disk.Dir))
	l.Insist(p, each)
	disk.Break()
	l.Insist(p, 8)
	if killed {
		p.Kill()
	} else {
		p.Stop() // it may have ended, or end with an error
	}
	disk.Mend()
	p, o := startAgain(l, t, dataOf(disk.Dir), full)
	if o.verdict != recovered {
		return o
	}
	l.Insist(p, 3)
	if cut {
		disk.Cut(p.Kill)
	} else {
		p.Stop()
		disk.Remount()
	}
	o = judge(l, t, dataOf(disk.Dir), l.Known(), l.Acknowledged())
	o.why = fmt.Sprintf("%s, after %d requests of each client, killed %v, full %v, cut %v", o.why, each, killed, full, cut)
	return o
}

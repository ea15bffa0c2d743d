//go:build amd64 || arm64

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/store/disktest"

	"golang.org/x/sys/unix"
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
		l := newWorkload(t, *seed+uint64(i))
		return l.onExt4(t, disktest.NewExt4(t), 1+i/ext4Ways, i)
	})
}

// startAgain starts the program. If the disk is full meanwhile, it may refuse, with the exit code that says so, and is started again.
func (l *workload) startAgain(t *testing.T, dir string, full bool) (p *process, o outcome) {
	if full {
		filler := filepath.Join(filepath.Dir(dir), "filler")
		_ = os.Remove(filepath.Join(dir, datadir.SpareFile)) // it would have room for the copy
		if err := reserve(filler, free(t, filler)); err != nil {
			return nil, outcomef(broken, "%v", err)
		}
		fill(t, filler, 0)
		p = launch(t, dir)
		err := p.waitReady()
		if rerr := os.Remove(filler); rerr != nil {
			return nil, outcomef(broken, "%v", rerr)
		}
		if err == nil {
			return p, outcome{}
		}
		p.kill()
		if code := p.cmd.ProcessState.ExitCode(); code != exit.Folder {
			return nil, outcomef(broken, "on a full disk: exit code %d: %s", code, lastLine(p.log.String()))
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
func (l *workload) onExt4(t *testing.T, disk *disktest.Ext4, each, way int) outcome {
	killed, full, cut := way%2 == 1, way/2%2 == 1, way/4%2 == 1
	p := start(t, dataOf(disk.Dir))
	l.insist(p, each)
	disk.Break()
	l.insist(p, 8)
	if killed {
		p.kill()
	} else {
		p.stop() // it may have ended, or end with an error
	}
	disk.Mend()
	p, o := l.startAgain(t, dataOf(disk.Dir), full)
	if o.verdict != recovered {
		return o
	}
	l.insist(p, 3)
	if cut {
		disk.Cut(p.kill)
	} else {
		p.stop()
		disk.Remount()
	}
	o = l.judge(t, dataOf(disk.Dir), l.known(), l.acknowledged())
	o.why = fmt.Sprintf("%s, after %d requests of each client, killed %v, full %v, cut %v", o.why, each, killed, full, cut)
	return o
}

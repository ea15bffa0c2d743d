package disktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ledge/store/osfile"
)

// Ext4 is an ext4 file system with default options on a loop device, which can be made to fail. The device is a sparse file on a small file system
// in memory: while that is full, the device cannot write to a sector that is new to it.
type Ext4 struct {
	Dir string // where it is mounted

	tb   testing.TB
	host string // the file system in memory
}

const (
	hostKiB    = 160 << 10
	deviceSize = 900 << 20 // bytes
	// laidOut is how many bytes at the beginning of the device, which has the metadata and the journal there, never fail.
	laidOut = 60 << 20
)

// NewExt4 returns such a file system until the test ends. If none can be mounted, the test is skipped.
func NewExt4(tb testing.TB) *Ext4 {
	tb.Helper()
	e := &Ext4{Dir: tb.TempDir(), tb: tb, host: New(tb, hostKiB)}
	must := func(err error) {
		if err != nil {
			tb.Skip("the test makes an ext4 file system on a loop device; run it as root, on Linux with mkfs.ext4 (Debian's package e2fsprogs):", err)
		}
	}
	device, err := os.Create(e.device())
	must(err)
	must(errors.Join(device.Truncate(deviceSize), run("mkfs.ext4", "-q", "-m", "0", "-J", "size=8", "-E",
		"nodiscard,packed_meta_blocks=1,lazy_itable_init=0,lazy_journal_init=0", e.device())))
	begin, err := io.ReadAll(io.NewSectionReader(device, 0, laidOut))
	if err == nil {
		_, err = device.WriteAt(begin, 0)
	}
	must(errors.Join(err, device.Close(), e.mount()))
	tb.Cleanup(func() {
		if err := run("umount", "-l", e.Dir); err != nil {
			tb.Error(err)
		}
	})
	return e
}

func (e *Ext4) device() string { return filepath.Join(e.host, "device") }

func (e *Ext4) mount() error { return run("mount", "-o", "loop", e.device(), e.Dir) }

func (e *Ext4) filler() string { return filepath.Join(e.host, "filler") }

// Break has the device fail from now on, wherever it has not been written to.
func (e *Ext4) Break() {
	e.tb.Helper()
	f, err := os.OpenFile(e.filler(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	for size := 64 << 10; err == nil && size > 0; {
		if _, werr := f.Write(make([]byte, size)); osfile.IsFull(werr) {
			size /= 16 // down to a page
		} else {
			err = werr
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		e.tb.Fatal(err)
	}
}

// Mend has the device work again.
func (e *Ext4) Mend() {
	e.tb.Helper()
	if err := os.Remove(e.filler()); err != nil {
		e.tb.Fatal(err)
	}
}

// Remount unmounts the file system and mounts it again: what is read then comes from the device. No file may be open.
func (e *Ext4) Remount() {
	e.tb.Helper()
	if err := errors.Join(run("umount", e.Dir), e.mount()); err != nil {
		e.tb.Fatal(err)
	}
}

// Cut is Remount after a power cut: what has not been written to the device by now is lost. It calls end, after which no file may be open.
func (e *Ext4) Cut(end func()) {
	e.tb.Helper()
	kept := filepath.Join(e.host, "kept")
	err := run("cp", "--sparse=always", e.device(), kept)
	end()
	if err := errors.Join(err, run("umount", e.Dir), run("mv", kept, e.device()), e.mount()); err != nil {
		e.tb.Fatal(err)
	}
}

// Alter replaces the first bytes of a block on the device, past the file system.
func (e *Ext4) Alter(from, to string) {
	e.tb.Helper()
	f, err := os.OpenFile(e.device(), os.O_RDWR, 0)
	if err != nil {
		e.tb.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 4<<10)
	for at := int64(0); ; at += int64(len(block)) {
		if _, err = f.ReadAt(block, at); err == nil && !bytes.HasPrefix(block, []byte(from)) {
			continue
		}
		if err == nil {
			_, err = f.WriteAt([]byte(to), at)
		}
		if err != nil {
			e.tb.Fatalf("replace %q on the device: %v", from, err)
		}
		return
	}
}

func run(name string, args ...string) error {
	if out, err := exec.CommandContext(context.Background(), name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

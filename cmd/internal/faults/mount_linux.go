//go:build amd64 || arm64

package faults

import (
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// FS is a mounted file system.
type FS struct {
	Dir string // where it is mounted

	mu    sync.Mutex
	base  *disk
	disk  *disk
	ops   []Op
	rules []*Rule
	bad   map[*node][2]int64 // a bad sector stays with its file when that gets another name

	close func()
}

// Mount mounts a file system, which holds a copy of folder (empty where folder is ""), until the test ends. Where FUSE
// cannot be used the test is skipped.
func Mount(tb testing.TB, folder string) *FS {
	tb.Helper()
	base, err := load(folder)
	if err != nil {
		tb.Fatal(err)
	}
	f := &FS{Dir: tb.TempDir(), base: base, disk: base.clone(), bad: map[*node][2]int64{}}
	cached := time.Hour // nothing but the kernel changes the files
	_, err = fs.Mount(f.Dir, &inode{fs: f, n: f.disk.nodes[rootID]}, &fs.Options{
		MountOptions: fuse.MountOptions{
			DirectMount: true, FsName: "ledge-faults", Name: "faults", MaxWrite: 1 << 20, DisableXAttrs: true,
		},
		EntryTimeout: &cached, AttrTimeout: &cached, NullPermissions: true,
		RootStableAttr: &fs.StableAttr{Ino: rootID},
	})
	if err != nil {
		tb.Skipf("the test makes faults of the disk with FUSE, which is not usable here; run it as root on a machine with /dev/fuse: %v", err)
	}
	f.close = sync.OnceFunc(func() {
		f.Clear()
		// Lazily: the kernel may still be closing the files of a killed process. The server ends with the last of them.
		if err := syscall.Unmount(f.Dir, syscall.MNT_DETACH); err != nil {
			tb.Errorf("unmount %s: %v", f.Dir, err)
		}
	})
	tb.Cleanup(f.Close)
	return f
}

// Close unmounts the file system before the test ends. No process may use it any more.
func (f *FS) Close() { f.close() }

// Count returns how many operations there were. What a program was told before the call happened before that operation.
func (f *FS) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.ops)
}

// Set adds a rule.
func (f *FS) Set(r Rule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = append(f.rules, &r)
}

// Unreadable makes each read fail with EIO that has to do with bytes from one offset to another, as a bad sector does. The path is relative
// to the mounted folder.
func (f *FS) Unreadable(path string, from, to int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.disk.nodes[rootID]
	for name := range strings.SplitSeq(path, "/") {
		n = n.entries[name]
	}
	f.bad[n] = [2]int64{from, to}
}

// Clear removes all rules.
func (f *FS) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = nil
}

// Recording returns what happened so far.
func (f *FS) Recording() *Recording {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &Recording{base: f.base, Ops: slices.Clone(f.ops)}
}

// do numbers an operation, has the rules decide, applies it and records it. f.mu is held, so that operations happen one
// after the other.
func (f *FS) do(op Op) syscall.Errno {
	for _, r := range f.rules {
		if !r.applies(op) {
			continue
		}
		if r.Do != nil {
			r.Do()
		}
		if r.Err != 0 && op.Err == 0 {
			op.Err = r.Err
		}
	}
	f.disk.apply(op)
	f.ops = append(f.ops, op)
	return op.Err
}

//go:build unix

package payloads

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"ledge/domain"
)

// inode tells files apart that have the same name one after the other.
func inode(tb testing.TB, path string) uint64 {
	tb.Helper()
	info, err := os.Stat(path)
	if err != nil {
		tb.Error(err)
		return 0
	}
	return info.Sys().(*syscall.Stat_t).Ino
}

// Of uploads with one content, none that is answered depends on a file that another has renamed over and not yet synced.
func TestSameBodyAtOnce(t *testing.T) {
	var mu sync.Mutex
	synced := map[uint64]bool{}
	f, err := Open(t.TempDir(), Options{Sync: func(file *os.File) error {
		info, err := file.Stat()
		runtime.Gosched()
		mu.Lock()
		defer mu.Unlock()
		synced[info.Sys().(*syscall.Stat_t).Ino] = true
		return err
	}, SyncDir: func(string) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 100 {
		body := append(sample(100), byte(round))
		var uploads sync.WaitGroup
		for range 4 {
			uploads.Go(func() {
				digest := mustPut(t, f, body)
				n := inode(t, f.path(digest))
				mu.Lock()
				defer mu.Unlock()
				if !synced[n] {
					t.Error("an upload is answered, and the file of that name is not durable")
				}
			})
		}
		uploads.Wait()
		for n := range synced {
			delete(synced, n) // its number may be used again
		}
		if t.Failed() {
			return
		}
	}
}

// After one failed fsync of a payload or of the folder nothing is taken any more, even though the next fsync would succeed.
// A full disk is not such a failure.
func TestFailedSyncIsFinal(t *testing.T) {
	for _, test := range []struct {
		name      string
		file, dir error
		want      domain.Code
	}{
		{"file", syscall.EIO, nil, domain.Unavailable},
		{"folder", nil, syscall.EIO, domain.Unavailable},
		{"disk full", syscall.ENOSPC, nil, domain.Full},
		{"disk full for the folder", nil, syscall.ENOSPC, domain.Full},
		{"out of descriptors", nil, &os.PathError{Op: "open", Path: "payloads", Err: syscall.EMFILE}, domain.Internal},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir, fails := t.TempDir(), true
			once := func(err error) error {
				if fails && err != nil {
					fails = false
					return err
				}
				return nil
			}
			f, err := Open(dir, Options{Sync: func(*os.File) error { return once(test.file) }, SyncDir: func(string) error { return once(test.dir) }})
			if err != nil {
				t.Fatal(err)
			}
			digest, _, err := f.Put(t.Context(), &paced{left: sample(10), sizes: []int{10}}, 10)
			if domain.CodeOf(err) != test.want {
				t.Errorf("got %v", err)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
				t.Errorf("left behind: %v %s", left, digest)
			}
			_, _, err = f.Put(t.Context(), &paced{left: sample(10), sizes: []int{10}}, 10)
			if final := domain.CodeOf(err) == domain.Unavailable; final != (test.want == domain.Unavailable) || final != (f.Err() != nil) {
				t.Errorf("the next one: %v, and %v", err, f.Err())
			}
		})
	}
}

// Use follows what comes and goes, and Recount sees what others have removed.
func TestUse(t *testing.T) {
	f := mustOpen(t)
	a := mustPut(t, f, sample(100))
	want := func(when string, count, bytes int64) {
		t.Helper()
		if got, err := f.Use(); err != nil || got != (Use{count, bytes}) {
			t.Errorf("%s: got %+v, %v, want %d and %d", when, got, err, count, bytes)
		}
	}
	want("one", 1, 100)
	b := mustPut(t, f, sample(50))
	mustPut(t, f, sample(50))
	want("two, one of them twice", 2, 150)
	f.Release(a, true)
	if n, err := f.Collect(t.Context(), func(digest string) (bool, error) { return digest == b, nil }); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	want("one removed", 1, 50)
	if err := os.Remove(f.path(b)); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Recount(); err != nil || got != (Use{}) {
		t.Errorf("removed by others: %+v, %v", got, err)
	}
	mustPut(t, f, sample(50))
	want("posted again", 1, 50)
}

//go:build amd64 || arm64

package faults_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"ledge/cmd/internal/faults"

	"go.etcd.io/bbolt"
)

// write creates a file, with an fsync of the file or not.
func write(tb testing.TB, path string, b []byte, synced bool) {
	tb.Helper()
	f, err := os.Create(path)
	if err == nil {
		_, err = f.Write(b)
	}
	if err == nil && synced {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		tb.Fatal(err)
	}
}

func syncDir(tb testing.TB, dir string) {
	tb.Helper()
	f, err := os.Open(dir)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err != nil {
		tb.Fatal(err)
	}
}

func read(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return "none"
	}
	return string(b)
}

// left returns the content of a file after a power cut at the end; "none" where it is not there.
func left(tb testing.TB, f *faults.FS, mode faults.Mode, seed uint64, name string) string {
	tb.Helper()
	dir := tb.TempDir()
	r := f.Recording()
	if err := r.Cut(len(r.Ops), mode, seed, dir); err != nil {
		tb.Fatal(err)
	}
	return read(filepath.Join(dir, name))
}

func TestPowerCutKeepsWhatWasSynced(t *testing.T) {
	f := faults.Mount(t, "")
	write(t, filepath.Join(f.Dir, "both"), []byte("both"), true)
	syncDir(t, f.Dir)
	write(t, filepath.Join(f.Dir, "file"), []byte("file"), true) // its name is not durable
	if err := os.Rename(filepath.Join(f.Dir, "both"), filepath.Join(f.Dir, "renamed")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"both": "both", "file": "none", "renamed": "none"} {
		if got := left(t, f, faults.Nothing, 0, name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	syncDir(t, f.Dir)
	for name, want := range map[string]string{"both": "none", "file": "file", "renamed": "both"} {
		if got := left(t, f, faults.Nothing, 0, name); got != want {
			t.Errorf("%s after an fsync of the folder: got %q, want %q", name, got, want)
		}
	}
	dir := t.TempDir()
	if err := f.Recording().Killed(2, dir); err != nil || read(filepath.Join(dir, "both")) != "both" {
		t.Errorf("killed after the write: %q, %v", read(filepath.Join(dir, "both")), err)
	}
}

func TestPowerCutDropsPages(t *testing.T) {
	f := faults.Mount(t, "")
	old := bytes.Repeat([]byte("o"), 10*4096)
	write(t, filepath.Join(f.Dir, "file"), old, true)
	syncDir(t, f.Dir)
	file, err := os.OpenFile(filepath.Join(f.Dir, "file"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt(bytes.Repeat([]byte("n"), 20*4096), 0); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []faults.Mode{faults.Ordered, faults.Pages, faults.Sectors} {
		different := map[string]bool{}
		for seed := range uint64(10) {
			got := left(t, f, mode, seed, "file")
			for at := range len(got) / 512 {
				if c := got[at*512]; c != 'o' && c != 'n' && c != 0 || c == 0 && at < 10*8 {
					t.Fatalf("byte %d is %q", at*512, c)
				}
			}
			different[got] = true
			if got != left(t, f, mode, seed, "file") {
				t.Error("the same seed leaves something else")
			}
		}
		if len(different) < 5 {
			t.Errorf("mode %d: 10 seeds leave %d different files", mode, len(different))
		}
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		t.Fatal(err)
	}
	if got := left(t, f, faults.Sectors, 1, "file"); got != string(bytes.Repeat([]byte("n"), 20*4096)) {
		t.Error("what was fsynced is not there")
	}
}

// TestFailedFsyncIsReportedOnce holds the behaviour of Linux on which Ledge's rule rests.
func TestFailedFsyncIsReportedOnce(t *testing.T) {
	f := faults.Mount(t, "")
	write(t, filepath.Join(f.Dir, "file"), []byte("old"), true)
	syncDir(t, f.Dir)
	file, err := os.OpenFile(filepath.Join(f.Dir, "file"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt([]byte("new"), 0); err != nil {
		t.Fatal(err)
	}
	f.Set(faults.Rule{Match: func(op faults.Op) bool { return op.Kind == faults.Fsync }, From: 1, To: 1, Err: syscall.EIO})
	if err := file.Sync(); !errors.Is(err, syscall.EIO) {
		t.Errorf("first fsync: %v", err)
	}
	if err := file.Sync(); err != nil {
		t.Errorf("second fsync: %v", err)
	}
	if got := read(filepath.Join(f.Dir, "file")); got != "new" {
		t.Errorf("read back: %q", got)
	}
	if got := left(t, f, faults.Nothing, 0, "file"); got != "old" {
		t.Errorf("after a power cut: %q", got)
	}
	f.Set(faults.Rule{Match: func(op faults.Op) bool { return op.Kind == faults.Write }, From: 2, Err: syscall.ENOSPC})
	for i, want := range []error{nil, syscall.ENOSPC, syscall.ENOSPC} {
		if _, err := file.WriteAt([]byte("!"), 10); !errors.Is(err, want) {
			t.Errorf("write %d: %v, want %v", i, err, want)
		}
	}
}

func TestUnreadable(t *testing.T) {
	f := faults.Mount(t, "")
	path := filepath.Join(f.Dir, "dir", "file")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, path, bytes.Repeat([]byte("x"), 1<<20), true)
	folder := t.TempDir()
	if err := f.Recording().Killed(len(f.Recording().Ops), folder); err != nil {
		t.Fatal(err)
	}
	f = faults.Mount(t, folder) // so that no page is in the kernel's cache
	f.Unreadable("dir/file", 400<<10, 404<<10)
	file, err := os.Open(filepath.Join(f.Dir, "dir", "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	b := make([]byte, 1<<20)
	if n, err := file.ReadAt(b, 0); n != 400<<10 || !errors.Is(err, syscall.EIO) {
		t.Errorf("%d bytes, %v", n, err)
	}
	if n, err := file.ReadAt(b[404<<10:], 404<<10); n != 620<<10 || err != nil {
		t.Errorf("behind it: %d bytes, %v", n, err)
	}
}

// TestDatabaseReadsItsMap has bbolt read through a shared map what it writes with pwrite.
//
// Another process has the database: a page fault holds its processor until the file system has answered, so that a
// process that serves a file system must not map files of it.
func TestDatabaseReadsItsMap(t *testing.T) {
	f := faults.Mount(t, "")
	for last := 0; last < 50; last += 10 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), fillEnv+"="+filepath.Join(f.Dir, "db"), lastEnv+"="+strconv.Itoa(last))
		if out, err := child.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		syncDir(t, f.Dir)
		for _, folder := range []func(*faults.Recording, string) error{
			func(r *faults.Recording, dir string) error { return r.Killed(len(r.Ops), dir) },
			func(r *faults.Recording, dir string) error {
				return r.Cut(len(r.Ops), faults.Sectors, uint64(last), dir)
			},
		} {
			dir := t.TempDir()
			if err := folder(f.Recording(), dir); err != nil {
				t.Fatal(err)
			}
			check(t, filepath.Join(dir, "db"), last)
		}
	}
}

// fillEnv and lastEnv tell the process that TestDatabaseReadsItsMap starts which database to fill, and up to which entry.
const fillEnv, lastEnv = "FAULTS_TEST_DATABASE", "FAULTS_TEST_LAST"

// TestMain is also the main function of that process.
func TestMain(m *testing.M) {
	if path := os.Getenv(fillEnv); path != "" {
		if err := fill(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// fill puts ten entries into a database, each in a transaction of its own.
func fill(path string) error {
	last, err := strconv.Atoi(os.Getenv(lastEnv))
	if err != nil {
		return err
	}
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	for i := max(last-9, 0); i <= last; i++ {
		if err := db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("b"))
			if err != nil {
				return err
			}
			return b.Put(fmt.Append(nil, i), bytes.Repeat([]byte{byte(i)}, 1000))
		}); err != nil {
			return err
		}
	}
	return nil
}

func check(tb testing.TB, path string, last int) {
	tb.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	_ = db.View(func(tx *bbolt.Tx) error {
		if got := tx.Bucket([]byte("b")).Get(fmt.Append(nil, last)); !bytes.Equal(got, bytes.Repeat([]byte{byte(last)}, 1000)) {
			tb.Errorf("entry %d: %d bytes", last, len(got))
		}
		return nil
	})
}

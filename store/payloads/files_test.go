package payloads

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"ledge/domain"
)

func mustOpen(tb testing.TB) *Files {
	tb.Helper()
	f, err := Open(tb.TempDir(), Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func names(tb testing.TB, f *Files) []string {
	tb.Helper()
	list, err := os.ReadDir(f.dir)
	if err != nil {
		tb.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func TestOpenRemovesWhatACrashLeft(t *testing.T) {
	f := mustOpen(t)
	if err := os.WriteFile(filepath.Join(f.dir, "incoming-123"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(f.dir, Options{}); err != nil {
		t.Fatal(err)
	}
	if got := names(t, f); len(got) != 0 {
		t.Fatalf("left behind: %v", got)
	}
}

func TestPutLeavesTheReserve(t *testing.T) {
	free := []uint64{100, 10}
	looks := 0
	f, err := Open(t.TempDir(), Options{ReserveBytes: 50, FreeBytes: func(string) (uint64, error) {
		looks++
		return free[min(looks, len(free))-1], nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		bytes int
		looks int // the one that says no
	}{{"while it is written", 2 * checkFreeEvery, 2}, {"before", 1, 3}} {
		_, _, err := f.Put(t.Context(), bytes.NewReader(make([]byte, tt.bytes)), 1<<30)
		if domain.CodeOf(err) != domain.Full || looks != tt.looks {
			t.Errorf("%s: %v after %d looks", tt.name, err, looks)
		}
		for _, part := range []string{f.dir, " 10 bytes", "reserve is 50", "four times the setting disk-reserve"} {
			if !strings.Contains(fmt.Sprint(err), part) {
				t.Errorf("%s: %v does not say %q", tt.name, err, part)
			}
		}
		if got := names(t, f); len(got) != 0 {
			t.Errorf("left behind: %v", got)
		}
	}
	if got := f.Refused(); got != 2 {
		t.Errorf("%d are counted, want 2", got)
	}
}

func TestPutOnADiskThatIsFull(t *testing.T) {
	f := mustOpen(t)
	_, _, err := f.Put(t.Context(), iotest.ErrReader(&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}), 10)
	if domain.CodeOf(err) != domain.Full || f.Refused() != 1 {
		t.Errorf("err = %v, %d are counted, want 1", err, f.Refused())
	}
}

// Files that are not payloads are not ours.
func TestCollectLeavesOtherFiles(t *testing.T) {
	f := mustOpen(t)
	if err := os.WriteFile(filepath.Join(f.dir, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := f.Collect(t.Context(), func(string) (bool, error) { return false, nil }); n != 0 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	if got := names(t, f); len(got) != 1 {
		t.Errorf("files = %v", got)
	}
}

// Of what was there before the start it is not known whether it is whole: it is written again, and what it was stays as
// long as there is nothing better.
func TestPutDoesNotTrustWhatWasThere(t *testing.T) {
	f := mustOpen(t)
	digest, _, err := f.Put(t.Context(), strings.NewReader("body"), 10)
	if err == nil {
		err = os.WriteFile(f.path(digest), []byte("\x00\x00\x00\x00"), 0o600) // as a power cut can leave it
	}
	if err == nil {
		f, err = Open(f.dir, Options{})
	}
	if err == nil {
		_, _, err = f.Put(t.Context(), strings.NewReader("body"), 10)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(f.path(digest)); string(got) != "body" {
		t.Errorf("got %q, %v", got, err)
	}
}

// A file that is shorter than what it is named for is not a payload: it is replaced.
func TestPutReplacesADamagedFile(t *testing.T) {
	f := mustOpen(t)
	digest, _, err := f.Put(t.Context(), strings.NewReader("body"), 10)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(f.path(digest), 1); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Put(t.Context(), strings.NewReader("body"), 10); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(f.path(digest)); string(got) != "body" {
		t.Errorf("got %q, %v", got, err)
	}
}

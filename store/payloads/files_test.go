package payloads

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
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

func TestPutAndGet(t *testing.T) {
	f := mustOpen(t)
	body := bytes.Repeat([]byte("ledge\x00"), 100_000)
	sum := sha256.Sum256(body)
	for range 2 { // the same body twice is one file
		digest, size, err := f.Put(t.Context(), bytes.NewReader(body), int64(len(body)))
		if err != nil || digest != hex.EncodeToString(sum[:]) || size != int64(len(body)) {
			t.Fatalf("Put = %q, %d, %v", digest, size, err)
		}
	}
	if got := names(t, f); len(got) != 1 {
		t.Fatalf("files = %v, want one", got)
	}
	r, err := f.Get(hex.EncodeToString(sum[:]))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, _ := io.ReadAll(r); !bytes.Equal(got, body) {
		t.Fatal("read back other bytes")
	}
}

func TestPutThatFailsLeavesNothing(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	broken := errors.New("client died")
	for _, tt := range []struct {
		name  string
		ctx   context.Context
		r     io.Reader
		limit int64
		check func(error) bool
	}{
		{"over the limit", t.Context(), bytes.NewReader(make([]byte, 11)), 10, func(err error) bool { return domain.CodeOf(err) == domain.TooLarge }},
		{"reader fails", t.Context(), io.MultiReader(bytes.NewReader(make([]byte, 9)), iotest.ErrReader(broken)), 99, func(err error) bool { return errors.Is(err, broken) }},
		{"context ended", ended, bytes.NewReader(make([]byte, 9)), 99, func(err error) bool { return errors.Is(err, context.Canceled) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := mustOpen(t)
			if _, _, err := f.Put(tt.ctx, tt.r, tt.limit); !tt.check(err) {
				t.Fatalf("err = %v", err)
			}
			if got := names(t, f); len(got) != 0 {
				t.Fatalf("left behind: %v", got)
			}
		})
	}
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
	}{{"while it is written", 2 * lookEvery, 2}, {"before", 1, 3}} {
		_, _, err := f.Put(t.Context(), bytes.NewReader(make([]byte, tt.bytes)), 1<<30)
		if domain.CodeOf(err) != domain.Full || looks != tt.looks {
			t.Errorf("%s: %v after %d looks", tt.name, err, looks)
		}
		for _, part := range []string{f.dir, " 10 bytes", "reserve is 50", "disk-readings-reserve"} {
			if !strings.Contains(fmt.Sprint(err), part) {
				t.Errorf("%s: %v does not say %q", tt.name, err, part)
			}
		}
		if got := names(t, f); len(got) != 0 {
			t.Errorf("left behind: %v", got)
		}
	}
}

func TestPutOnADiskThatIsFull(t *testing.T) {
	f := mustOpen(t)
	_, _, err := f.Put(t.Context(), iotest.ErrReader(&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}), 10)
	if domain.CodeOf(err) != domain.Full {
		t.Errorf("err = %v", err)
	}
}

func TestCollect(t *testing.T) {
	f := mustOpen(t)
	if empty, err := f.Empty(); !empty || err != nil {
		t.Fatalf("Empty = %v, %v", empty, err)
	}
	var digests []string
	for _, body := range []string{"kept", "left"} {
		digest, _, err := f.Put(t.Context(), strings.NewReader(body), 10)
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, digest)
	}
	if err := os.WriteFile(filepath.Join(f.dir, "notes.txt"), nil, 0o600); err != nil { // not ours
		t.Fatal(err)
	}
	broken := errors.New("cannot tell")
	if n, err := f.Collect(func(string) (bool, error) { return false, broken }); n != 0 || !errors.Is(err, broken) {
		t.Errorf("Collect = %d, %v", n, err)
	}
	if n, err := f.Collect(func(digest string) (bool, error) { return digest == digests[0], nil }); n != 1 || err != nil {
		t.Errorf("Collect = %d, %v", n, err)
	}
	got := names(t, f)
	if want := []string{digests[0], "notes.txt"}; len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("files = %v, want %v", got, want)
	}
}

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/node"
	"ledge/cmd/ledgetest"
	"ledge/store"
	"ledge/store/bus"
)

func TestStoreErrorHasItsCode(t *testing.T) {
	for _, tt := range []struct {
		err  error
		code int
	}{
		{&store.Damage{Stream: "LEDGE_EVENTS", Seq: 1}, exit.Damaged},
		{bus.ErrListen, exit.Port},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}, exit.Folder},
		{errors.New("not ready"), 0},
		{context.Canceled, 0},
	} {
		got := node.WithCode(fmt.Errorf("open: %w", tt.err))
		if e, _ := errors.AsType[exit.Error](got); e.Code != tt.code || !errors.Is(got, tt.err) {
			t.Errorf("%v: %v with code %d, want %d", tt.err, got, e.Code, tt.code)
		}
	}
}

// TestNoDataFolder holds that what only looks makes nothing.
func TestNoDataFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	for _, command := range []string{"verify", "log"} {
		_, errs, code := ledgetest.Run(t, command, "--data-dir", dir)
		if want := "no data folder " + dir + "; check --data-dir"; code != exit.Folder || !strings.Contains(errs, want) {
			t.Errorf("ledge %s: exit code %d, %q; want %d and %q", command, code, errs, exit.Folder, want)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was made: %v", err)
	}
}

// A folder of something else is neither called whole nor made a data folder.
func TestNotADataFolder(t *testing.T) {
	dir := filepath.Dir(ledgetest.MustWriteFile(t, "ours.txt", "ours"))
	for _, command := range []string{"verify", "log", "rebuild"} {
		out, errs, code := ledgetest.Run(t, command, "--data-dir", dir)
		if want := "no data folder " + dir; code != exit.Folder || out != "" || !strings.Contains(errs, want) {
			t.Errorf("ledge %s: exit code %d, %q, %q; want %d and %q", command, code, out, errs, exit.Folder, want)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("in it: %v, %v", files, err)
	}
}

// TestPayloadsAreCollected holds that after a start the payloads are removed that no reading refers to, and no other.
func TestPayloadsAreCollected(t *testing.T) {
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	if a := p.PostImage(ledgetest.LargeBody); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	p.Stop()
	orphan := filepath.Join(dir, "payloads", strings.Repeat("0f", 32))
	if err := os.WriteFile(orphan, []byte("left"), 0o600); err != nil {
		t.Fatal(err)
	}
	p = ledgetest.Start(t, dir)
	ledgetest.Until(t, "one payload to be left", func() bool { return len(ledgetest.Payloads(p)) < 2 })
	if kept := ledgetest.Payloads(p); len(kept) != 1 || kept[0] == orphan {
		t.Errorf("kept %v", kept)
	}
}

// TestPayloadsLeaveTheReserve holds that a large body is refused where a small one is.
func TestPayloadsLeaveTheReserve(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir(), "--disk-reserve", ledgetest.BelowReadings(t))
	for _, body := range []string{"small", ledgetest.LargeBody} {
		if a := p.PostImage(body); a.Status != http.StatusInsufficientStorage || !strings.Contains(a.Body, "disk-reserve") {
			t.Errorf("%d bytes: %d %s", len(body), a.Status, a.Body)
		}
	}
	p.Stop()
	if left := ledgetest.Payloads(p); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestVerifyAfterRetention holds that verify says what it cannot compare.
func TestVerifyAfterRetention(t *testing.T) {
	dir := t.TempDir()
	p := ledgetest.Start(t, dir, "--readings-max-bytes", "1MiB")
	ledgetest.Until(t, "the front of the log to go", func() bool {
		if a := p.PostImage(ledgetest.LargeBody[:200_000]); a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		return p.Log.Count("the front of the log is gone") > 0
	})
	p.Stop()
	out, errs, code := ledgetest.Run(t, "verify", "--data-dir", dir, "--readings-max-bytes", "1MiB")
	if code != exit.OK || strings.Count(out, "equals the fold") < 2 || !strings.Contains(out, "readings.db: ") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}

package main

import (
	"bytes"
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
	"ledge/store"
	"ledge/store/tap"
)

func TestStoreErrorHasItsCode(t *testing.T) {
	for _, tt := range []struct {
		err  error
		code int
	}{
		{&store.Damage{Stream: "LEDGE_EVENTS", Seq: 1}, exit.Damaged},
		{tap.ErrListen, exit.Port},
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

// TestStopWhileStarting holds that a stop is not taken for damage.
func TestStopWhileStarting(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	code := execute(ctx, []string{
		"serve", "--data-dir", t.TempDir(), "--metadata-port", "0", "--device-rest-port", "0", "--notifications-port", "0", "--console-port", "0", "--data-port", "0", "--tap-port", "-1",
	}, &out, &out)
	if code != exit.OK || !strings.Contains(out.String(), "stopped while starting") {
		t.Errorf("exit code %d\n%s", code, &out)
	}
}

// TestNoDataFolder holds that what only looks makes nothing.
func TestNoDataFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	for _, command := range []string{"verify", "log"} {
		_, errs, code := ledge(t, command, "--data-dir", dir)
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
	dir := filepath.Dir(mustWriteFile(t, "ours.txt", "ours"))
	for _, command := range []string{"verify", "log", "rebuild"} {
		out, errs, code := ledge(t, command, "--data-dir", dir)
		if want := "no data folder " + dir; code != exit.Folder || out != "" || !strings.Contains(errs, want) {
			t.Errorf("ledge %s: exit code %d, %q, %q; want %d and %q", command, code, out, errs, exit.Folder, want)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("in it: %v, %v", files, err)
	}
}

// largeBody is larger than what a message holds.
var largeBody = strings.Repeat("large", 100_000)

func (p *process) postImage(body string) answer {
	return p.call(http.MethodPost, p.deviceREST+"/api/v2/resource/sample-image/jpeg", "image/jpeg", body)
}

// payloads are the files of bodies, whatever their names.
func (p *process) payloads() []string {
	p.tb.Helper()
	files, err := filepath.Glob(filepath.Join(p.dir, "payloads", "*"))
	if err != nil {
		p.tb.Fatal(err)
	}
	return files
}

// TestPayloadsAreCollected holds that after a start the payloads are removed that no reading refers to, and no other.
func TestPayloadsAreCollected(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir)
	if a := p.postImage(largeBody); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	p.stop()
	orphan := filepath.Join(dir, "payloads", strings.Repeat("0f", 32))
	if err := os.WriteFile(orphan, []byte("left"), 0o600); err != nil {
		t.Fatal(err)
	}
	p = start(t, dir)
	until(t, "one payload to be left", func() bool { return len(p.payloads()) < 2 })
	if kept := p.payloads(); len(kept) != 1 || kept[0] == orphan {
		t.Errorf("kept %v", kept)
	}
}

// TestPayloadsLeaveTheReserve holds that a large body is refused where a small one is.
func TestPayloadsLeaveTheReserve(t *testing.T) {
	p := start(t, t.TempDir(), "--disk-reserve", belowReadings(t))
	for _, body := range []string{"small", largeBody} {
		if a := p.postImage(body); a.status != http.StatusInsufficientStorage || !strings.Contains(a.body, "disk-reserve") {
			t.Errorf("%d bytes: %d %s", len(body), a.status, a.body)
		}
	}
	p.stop()
	if left := p.payloads(); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestVerifyAfterRetention holds that verify says what it cannot compare.
func TestVerifyAfterRetention(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir, "--readings-max-bytes", "1MiB")
	until(t, "the front of the log to go", func() bool {
		if a := p.postImage(largeBody[:200_000]); a.status != http.StatusOK {
			t.Fatalf("%d %s", a.status, a.body)
		}
		return p.log.count("the oldest events are gone by the limits") > 0
	})
	p.stop()
	out, errs, code := ledge(t, "verify", "--data-dir", dir, "--readings-max-bytes", "1MiB")
	if code != exit.OK || strings.Count(out, "equals the fold") < 2 || !strings.Contains(out, "readings.db: ") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}

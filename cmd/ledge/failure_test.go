package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/services"
	"ledge/cmd/ledgetest"
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
		got := storeError(fmt.Errorf("open: %w", tt.err))
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

// TestServiceThatFails holds that a service that cannot go on is a reason to end.
func TestServiceThatFails(t *testing.T) {
	p := mustProgram(t)
	p.servers.byName[services.DeviceREST].listener.Close()
	select {
	case err := <-p.Failed():
		if !strings.Contains(err.Error(), services.DeviceREST) {
			t.Error(err)
		}
	case <-time.After(ledgetest.Timeout):
		t.Fatal("it goes on")
	}
}

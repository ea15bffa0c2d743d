package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// A command that is interrupted says what it leaves, and leaves that.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	ledgetest.Start(t, dir).Stop()
	at := []string{"--data-dir", dir, "--log-level", "debug"}
	for _, tt := range []struct{ command, gone, says string }{
		{"log", "", "not all of the log is printed; nothing is changed"},
		{"verify", "", "not all is verified; nothing is changed"},
		{"rebuild", "no-such", "nothing is thrown away"},
		{"rebuild", datadir.StateFiles[0], "the state is folded in part"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		errs := &cancelling{file: filepath.Join(dir, tt.gone), cancel: cancel}
		errs.old, _ = os.Open(errs.file)
		if tt.gone == "" { // it says nothing before the end
			cancel()
		}
		code := execute(ctx, append([]string{tt.command}, at...), new(bytes.Buffer), errs)
		if text := errs.String(); code != exit.Failure || !strings.Contains(text, "ledge: interrupted: "+tt.says) {
			t.Errorf("%s: exit code %d, %s; want %d and %q", tt.command, code, text, exit.Failure, tt.says)
		}
		cancel()
		_ = errs.old.Close()
	}
	ledgetest.Verify(t, dir)
}

// cancelling ends a context with the first write that finds a file gone, or another file in its place.
type cancelling struct {
	bytes.Buffer
	file   string
	old    *os.File // is open, so that no other file gets its inode; nil for none
	cancel func()
}

func (c *cancelling) Write(b []byte) (int, error) {
	now, err := os.Stat(c.file)
	opened, oldErr := c.old.Stat()
	if err != nil || oldErr != nil || !os.SameFile(now, opened) {
		c.cancel()
	}
	return c.Buffer.Write(b)
}

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// cancelling ends a context with the first write that finds a file gone.
type cancelling struct {
	bytes.Buffer
	file   string
	cancel func()
}

func (c *cancelling) Write(b []byte) (int, error) {
	if _, err := os.Stat(c.file); err != nil {
		c.cancel()
	}
	return c.Buffer.Write(b)
}

// A command that is interrupted says what it leaves, and leaves that.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	start(t, dir).stop()
	at := []string{"--data-dir", dir, "--log-level", "debug", "--log-format", "text"}
	for _, tt := range []struct{ command, gone, says string }{
		{"log", "no-such", "not all of the log is printed; nothing is changed"},
		{"verify", "no-such", "not all is verified; nothing is changed"},
		{"rebuild", "no-such", "nothing is thrown away"},
		{"rebuild", stateFiles[0], "the state is folded in part"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		errs := &cancelling{file: filepath.Join(dir, tt.gone), cancel: cancel}
		code := execute(ctx, append([]string{tt.command}, at...), new(bytes.Buffer), errs)
		if text := errs.String(); code != exitFailure || !strings.Contains(text, "ledge: interrupted: "+tt.says) {
			t.Errorf("%s: exit code %d, %s; want %d and %q", tt.command, code, text, exitFailure, tt.says)
		}
		cancel()
	}
	verify(t, dir)
}

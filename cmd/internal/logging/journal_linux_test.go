package logging

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"syscall"
	"testing"
)

// unwrapping is a writer around another one.
type unwrapping struct{ io.Writer }

func (u unwrapping) Unwrap() io.Writer { return u.Writer }

// TestFormat holds that the log is text only if JOURNAL_STREAM names the pipe that it goes to.
func TestFormat(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	info, err := write.Stat()
	if err != nil {
		t.Fatal(err)
	}
	at := info.Sys().(*syscall.Stat_t)
	journal := fmt.Sprintf("%d:%d", at.Dev, at.Ino)
	for stream, want := range map[string]string{
		journal: "time=", "": "{", fmt.Sprintf("%d:%d", at.Dev, at.Ino+1): "{", fmt.Sprintf("%d:%d", at.Dev+1, at.Ino): "{", "8": "{",
	} {
		t.Setenv("JOURNAL_STREAM", stream)
		for _, to := range []io.Writer{write, unwrapping{write}} {
			New(to, slog.LevelInfo).Info("hello")
			line := make([]byte, 1024)
			n, err := read.Read(line)
			if err != nil || !bytes.HasPrefix(line[:n], []byte(want)) {
				t.Errorf("JOURNAL_STREAM=%s: %q, %v; want it to begin with %s", stream, line[:n], err, want)
			}
		}
	}
	t.Setenv("JOURNAL_STREAM", journal)
	buffer := new(bytes.Buffer)
	if New(buffer, slog.LevelInfo).Info("hello"); !bytes.HasPrefix(buffer.Bytes(), []byte("{")) {
		t.Errorf("in memory: %s", buffer)
	}
}

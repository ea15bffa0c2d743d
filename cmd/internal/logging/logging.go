// Package logging makes the log of the program: its level, its format, and the limits of the lines that clients cause.
package logging

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"log"
	"log/slog"
	"os"
)

// New returns a logger that writes lines of a level or above to w: text if w is a terminal or the journal of systemd, JSON elsewhere.
// Lines that repeat are limited.
func New(w io.Writer, level slog.Leveler) *slog.Logger {
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: cutValue}
	if IsTerminal(w) || isJournal(w) {
		return slog.New(newLimitedHandler(slog.NewTextHandler(w, o)))
	}
	return slog.New(newLimitedHandler(slog.NewJSONHandler(w, o)))
}

// IsTerminal reports whether w is a terminal, or a writer with a method Unwrap that returns one.
func IsTerminal(w io.Writer) bool {
	info := infoOf(w)
	return info != nil && info.Mode()&os.ModeCharDevice != 0
}

// infoOf returns the information of the file that w is or unwraps to, nil for another writer.
func infoOf(w io.Writer) fs.FileInfo {
	if outer, ok := w.(interface{ Unwrap() io.Writer }); ok {
		w = outer.Unwrap()
	}
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	return info
}

// NewServerLog returns the log for the ErrorLog of an http.Server. Its lines about one client are Debug. If no client can connect, such as
// when the process may open no more files, the line is a warning.
func NewServerLog(to *slog.Logger) *log.Logger { return log.New(serverErrors{to}, "", 0) }

// serverErrors writes the lines of an http.Server to a logger.
type serverErrors struct{ to *slog.Logger }

func (e serverErrors) Write(line []byte) (int, error) {
	level := slog.LevelDebug
	if bytes.HasPrefix(line, []byte("http: Accept error")) {
		level = slog.LevelWarn
	}
	e.to.Log(context.Background(), level, string(bytes.TrimSpace(line)))
	return len(line), nil
}

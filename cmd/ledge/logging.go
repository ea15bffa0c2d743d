package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
)

// newLogger logs to w as the settings say: text on a terminal and JSON elsewhere, unless told. Lines that repeat are limited.
func newLogger(c *Config, w io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{Level: c.LogLevel, ReplaceAttr: shortValue}
	if c.LogFormat == "text" || c.LogFormat == "auto" && isTerminal(w) {
		return slog.New(newLimitedLog(slog.NewTextHandler(w, o)))
	}
	return slog.New(newLimitedLog(slog.NewJSONHandler(w, o)))
}

// logLevel is the setting log-level. It may change while the program logs.
type logLevel struct{ *slog.LevelVar }

// Set implements pflag.Value.
func (l logLevel) Set(text string) error {
	if l.UnmarshalText([]byte(text)) != nil {
		return errors.New("use debug, info, warn or error")
	}
	return nil
}

// String implements pflag.Value.
func (l logLevel) String() string { return strings.ToLower(l.Level().String()) }

// Type implements pflag.Value.
func (l logLevel) Type() string { return "string" }

func isTerminal(w io.Writer) bool {
	if b, ok := w.(besideProgress); ok {
		w = b.w
	}
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// serverErrors takes the lines of an http.Server: those on one client are Debug; that none can connect, as where the
// process may have no more files open, is a warning.
type serverErrors struct{ to *slog.Logger }

func (e serverErrors) Write(line []byte) (int, error) {
	level := slog.LevelDebug
	if bytes.HasPrefix(line, []byte("http: Accept error")) {
		level = slog.LevelWarn
	}
	e.to.Log(context.Background(), level, string(bytes.TrimSpace(line)))
	return len(line), nil
}

package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"ledge/cmd/ledgetest"
)

func limitedLogger(t *testing.T) (*slog.Logger, *logLines, *strings.Builder) {
	t.Helper()
	var out strings.Builder
	h := newLimitedLog(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: shortValue})).(limitedLog)
	h.lines.interval = ledgetest.Timeout // the test ends the interval
	began := time.Now()
	h.lines.now = func() time.Time { return began }
	return slog.New(h), h.lines, &out
}

// TestLogLinesAreLimited holds that a client's lines are cut off and counted, and that neither another client's nor another message's are.
func TestLogLinesAreLimited(t *testing.T) {
	logger, lines, out := limitedLogger(t)
	for n := range 1000 {
		logger.Warn("refused", "client", "10.0.0.1", "n", n)
		logger.With("remote", fmt.Sprint("10.0.0.2:", n)).Warn("left")
	}
	logger.Warn("refused", "client", "10.0.0.3")
	logger.Error("disk broken")
	for text, want := range map[string]int{"10.0.0.1": logLinesOfClient, "10.0.0.2": logLinesOfClient, "10.0.0.3": 1, "disk broken": 1} {
		if got := strings.Count(out.String(), text); got != want {
			t.Errorf("%s: %d lines, want %d", text, got, want)
		}
	}
	out.Reset()
	later := lines.now().Add(logInterval)
	lines.now = func() time.Time { return later }
	lines.report()
	if got := out.String(); strings.Count(got, "count=980") != 2 || !strings.Contains(got, "message=refused") || !strings.Contains(got, "10.0.0.1") {
		t.Errorf("reported: %s", got)
	}
	logger.Warn("refused", "client", "10.0.0.1", "n", "again")
	if !strings.Contains(out.String(), "again") {
		t.Error("nothing passes in the next interval")
	}
	if len(lines.limiters) != 2 { // of the last line: the others were forgotten
		t.Errorf("%d limiters are left", len(lines.limiters))
	}
}

// TestLogLinesOfManyClients holds that many clients, and many messages, do not have more logged than one allowance.
func TestLogLinesOfManyClients(t *testing.T) {
	logger, lines, out := limitedLogger(t)
	for n := range 5000 {
		logger.Warn("refused", "client", fmt.Sprint("client-", n))
		logger.Warn(fmt.Sprint("message ", n))
	}
	if got := strings.Count(out.String(), "refused"); got != logLinesOfAll {
		t.Errorf("%d lines of many clients, want %d", got, logLinesOfAll)
	}
	if got := len(lines.limiters); got > logMessages+2 {
		t.Errorf("%d limiters", got)
	}
	if got := strings.Count(out.String(), "message "); got > logMessages+logLinesOfAll {
		t.Errorf("%d lines of many messages", got)
	}
}

func TestLongValuesAreCut(t *testing.T) {
	logger, _, out := limitedLogger(t)
	logger.Warn("x", "text", strings.Repeat("a", 1<<20), "error", errors.New(strings.Repeat("b", 1<<20)))
	if n := out.Len(); n > 3*logValueBytes || strings.Count(out.String(), "1048576 bytes") != 2 {
		t.Errorf("%d bytes", n)
	}
}

func BenchmarkLimitedLog(b *testing.B) {
	logger := slog.New(newLimitedLog(slog.NewTextHandler(io.Discard, nil)))
	for b.Loop() {
		logger.Warn("refused", "client", "10.0.0.1")
	}
}

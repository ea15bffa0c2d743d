package ledgetest

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"ledge/cmd/internal/exit"
)

// LogLine is what the tests look at of `ledge log --json`.
type LogLine struct {
	Stream, Subject, Type, Actor string
	Seq                          uint64
	Time                         time.Time
}

// Logged returns the lines that `ledge log --json` prints of a data folder.
func Logged(t *testing.T, dir string, args ...string) (lines []LogLine) {
	t.Helper()
	out, stderr, code := Run(t, append([]string{"log", "--json", "--data-dir", dir}, args...)...)
	if code == exit.Failure && strings.Contains(stderr, "no message on the log has") {
		return nil
	}
	if code != exit.OK {
		t.Fatalf("log %v: exit code %d, %s", args, code, stderr)
	}
	for text := range strings.Lines(out) {
		var line LogLine
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

// DocPage finds the pages that a text names.
var DocPage = regexp.MustCompile(`docs/[a-z/-]+\.md`)

package ledgetest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ledge/cmd/internal/datadir"
)

// Folders is a data folder with some 200 events in two blocks and the same at later times.
type Folders struct {
	Clean  string // after a clean stop
	Killed string // after a kill, a few events later
	Longer string // stopped clean, some more events later
}

// NewFolders makes the same node each time, but for ids and times.
func NewFolders(tb testing.TB) Folders {
	tb.Helper()
	dir := tb.TempDir()
	p := Start(tb, dir)
	SubscribeElsewhere(p)
	for i := range 90 {
		p.AddDevice(fmt.Sprintf("early-%d", i))
	}
	for i := range 3 {
		addLargeDevices(p, fmt.Sprintf("large-%d", i), 16)
	}
	for i := range 50 {
		p.AddDevice(fmt.Sprintf("late-%d", i))
	}
	p.Call("POST", p.DeviceREST+"/api/v2/resource/sample-numeric/int", "text/plain", "1")
	AwaitNotified(tb, p)
	p.Stop()
	n := Folders{Clean: Clone(tb, dir)}
	p = Start(tb, dir)
	p.AddDevice("later")
	AwaitNotified(tb, p)
	list(p) // so that the checkpoints are in the files
	p.Kill()
	n.Killed = Clone(tb, dir)
	p = Start(tb, dir)
	for i := range 5 {
		p.AddDevice(fmt.Sprintf("longer-%d", i))
	}
	AwaitNotified(tb, p)
	p.Stop()
	n.Longer = dir
	return n
}

// list asks for lists of changes and of notifications, and waits until what they show is in the files.
func list(p *Node) {
	p.TB.Helper()
	for _, all := range []string{p.Metadata + "/api/v2/device/all", p.Notifications + "/api/v2/notification/status/NEW"} {
		if a := p.Call("GET", all, "", ""); a.Status != 200 {
			p.TB.Fatalf("%s: %d %s", all, a.Status, a.Body)
		}
	}
	for i, stream := range []string{"LEDGE_EVENTS", "LEDGE_NOTIFICATIONS"} {
		Until(p.TB, datadir.StateFiles[i]+" to be flushed", func() bool {
			blocks, _ := filepath.Glob(filepath.Join(p.Dir, "nats", "jetstream", "*", "streams", stream, "msgs", "*.blk"))
			flushed := writtenAt(filepath.Join(p.Dir, datadir.StateFiles[i]))
			// A flush that began before the last event may end after it; the next one follows half a second later.
			return time.Since(flushed) > time.Second && !slices.ContainsFunc(blocks, func(b string) bool { return writtenAt(b).After(flushed) })
		})
	}
}

// writtenAt is when a file was written to last.
func writtenAt(path string) time.Time {
	st, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return st.ModTime()
}

// addLargeDevices fills a block of the log, which has 8 MB, with few events.
func addLargeDevices(p *Node, name string, n int) {
	p.TB.Helper()
	var list []string
	var want []int
	for i := range n {
		list = append(list, largeDeviceJSON(fmt.Sprintf("%s-%d", name, i), 300_000))
		want = append(want, 201)
	}
	p.PostJSON("POST", p.Metadata+"/api/v2/device", "["+strings.Join(list, ",")+"]", want...)
}

func largeDeviceJSON(name string, bytes int) string {
	return strings.Replace(DeviceJSON(name), `{"other":{}}`, fmt.Sprintf(`{"other":{"large":%q}}`, strings.Repeat("x", bytes)), 1)
}

// HasCleanMark reports whether the log of changes in dir was closed clean.
func HasCleanMark(dir string) bool {
	text, _ := os.ReadFile(filepath.Join(dir, "nats", "LEDGE_EVENTS.manifest"))
	return bytes.Contains(text, []byte(`"end":`))
}

// CheckLine holds that a command has printed one line for people, and that this is like want.
func CheckLine(t *testing.T, what, printed string, want *regexp.Regexp) {
	t.Helper()
	var lines []string
	for line := range strings.Lines(printed) {
		if !strings.HasPrefix(line, "{") {
			lines = append(lines, line)
		}
	}
	if len(lines) != 1 || !want.MatchString(lines[0]) {
		t.Errorf("%s says %q, want one line like %s", what, lines, want)
	}
}

package damage

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// damages are what can be wrong with a folder. log is the stream that the refusal names; where it is empty the damage
// is of what can be made again, and Ledge serves; says is what the line, or the warning, must say.
var damages = []struct {
	name   string
	killed bool // done to the folder of a killed process
	do     func(tb testing.TB, dir string, n, other ledgetest.Folders)
	log    string
	says   string
}{
	{"last block cut", false, cut("LEDGE_EVENTS", "2"), "LEDGE_EVENTS", `sequence \d+`},
	{"last block cut after a kill", true, cut("LEDGE_EVENTS", "2"), "LEDGE_EVENTS", `sequence \d+`},
	{"first block cut", false, cut("LEDGE_EVENTS", "1"), "LEDGE_EVENTS", `sequence \d+`},
	{"first block cut after a kill", true, cut("LEDGE_EVENTS", "1"), "LEDGE_EVENTS", `sequence \d+`},
	{"notifications cut", false, cut("LEDGE_NOTIFICATIONS", "1"), "LEDGE_NOTIFICATIONS", `sequence \d+`},
	{"notifications cut after a kill", true, cut("LEDGE_NOTIFICATIONS", "1"), "LEDGE_NOTIFICATIONS", `sequence \d+`},
	{"readings cut after a kill", true, cut("LEDGE_READINGS", "1"), "LEDGE_READINGS", `sequence 1`},
	{"byte flipped in the first block", false, flip("1"), "LEDGE_EVENTS", `sequence \d+`},
	{"byte flipped in the first block without an index", false, both(flip("1"), noIndex), "LEDGE_EVENTS", `sequence \d+`},
	{"byte flipped in the first block after a kill", true, flip("1"), "LEDGE_EVENTS", `sequence \d+`},
	{"byte flipped in the last block", false, flip("2"), "LEDGE_EVENTS", `sequence \d+`},
	{"byte flipped in the last block without an index", false, both(flip("2"), noIndex), "LEDGE_EVENTS", `sequence \d+`},
	{"byte flipped in the last block after a kill", true, flip("2"), "LEDGE_EVENTS", `sequence \d+`},
	{"time of a record flipped", false, flipTime, "LEDGE_EVENTS", `sequence 1\b`},
	{"time of a record flipped after a kill", true, flipTime, "LEDGE_EVENTS", `sequence 1\b`},
	{"first block deleted", false, without("nats/jetstream/LEDGE/streams/LEDGE_EVENTS/msgs/1.blk"), "LEDGE_EVENTS", `sequence \d+`},
	{"first block deleted after a kill", true, without("nats/jetstream/LEDGE/streams/LEDGE_EVENTS/msgs/1.blk"), "LEDGE_EVENTS", `sequence \d+`},
	{"last block deleted", false, without("nats/jetstream/LEDGE/streams/LEDGE_EVENTS/msgs/2.blk"), "LEDGE_EVENTS", `sequence \d+`},
	{"last block deleted after a kill", true, without("nats/jetstream/LEDGE/streams/LEDGE_EVENTS/msgs/2.blk"), "LEDGE_EVENTS", `sequence \d+`},
	{"meta.sum removed", false, without("nats/jetstream/LEDGE/streams/LEDGE_EVENTS/meta.sum"), "", `description of a stream written anew`},
	{"meta.inf emptied", false, emptied("nats/jetstream/LEDGE/streams/LEDGE_EVENTS/meta.inf"), "", `description of a stream written anew`},
	{"meta.inf garbage", true, garbage("nats/jetstream/LEDGE/streams/LEDGE_EVENTS/meta.inf"), "", `description of a stream written anew`},
	{"stream removed", false, without("nats/jetstream/LEDGE/streams/LEDGE_EVENTS"), "LEDGE_EVENTS", `sequence 1\b`},
	{"stream removed after a kill", true, without("nats/jetstream/LEDGE/streams/LEDGE_EVENTS"), "LEDGE_EVENTS", `sequence 1\b.*(1.blk is missing|checkpoint is at \d+)`},
	{"notifications removed after a kill", true, without("nats/jetstream/LEDGE/streams/LEDGE_NOTIFICATIONS"), "LEDGE_NOTIFICATIONS", `sequence 1\b.*checkpoint is at \d+`},
	{"whole log removed", false, without("nats"), "LEDGE_EVENTS", `sequence 1\b.*checkpoint is at \d+`},
	{"events of another node", false, otherLog, "LEDGE_EVENTS", `sequence \d+`},
	{"whole log of another node", false, both(without("nats"), func(tb testing.TB, dir string, _, other ledgetest.Folders) {
		ledgetest.CopyTree(tb, filepath.Join(other.Clean, "nats"), filepath.Join(dir, "nats"), ledgetest.Everything)
	}), "LEDGE_EVENTS", `files of two data folders are mixed`},
	{"events of another node after a kill", true, otherLog, "LEDGE_EVENTS", `sequence \d+`},
	{"state of a longer past", false, longerState, "LEDGE_EVENTS", `sequence \d+.*checkpoint is at \d+`},
	{"state of a longer past after a kill", true, longerState, "LEDGE_EVENTS", `sequence \d+.*checkpoint is at \d+`},

	{"state garbage", false, garbage("state.db"), "", `projection is rebuilt from the log`},
	{"state garbage after a kill", true, garbage("state.db"), "", `projection is rebuilt from the log`},
	{"state cut", true, func(tb testing.TB, dir string, _, _ ledgetest.Folders) {
		ledgetest.Alter(tb, filepath.Join(dir, "state.db"), func(b []byte) []byte { return b[:len(b)/2] })
	}, "", `projection is rebuilt from the log`},
	{"state emptied", false, emptied("state.db"), "", `projection caught up`},
	{"state removed", false, without("state.db"), "", `projection caught up`},
	{"index garbage", false, garbage("nats/jetstream/LEDGE/streams/LEDGE_EVENTS/msgs/index.db"), "", `ready`},
	{"index removed", false, noIndex, "", `ready`},
	// Before, these were whole by verify. New devices raised no notification, as the position was beyond the end.
	{"older changes beside newer notifications", false, newerNotifications, "LEDGE_EVENTS", `sequence \d+.*the position of notifications and callbacks is at \d+`},
	{"older changes beside newer notifications without their state", false, both(newerNotifications, without("notifications.db")), "LEDGE_EVENTS", `sequence \d+.*(notifications or callbacks follow event|the position of notifications and callbacks is at) \d+`},
	{"notifications of another node", false, otherNotifications, "LEDGE_NOTIFICATIONS.manifest", `it is of node \w+, and LEDGE_EVENTS.manifest is of node \w+`},
	{"readings' state of another node", false, func(tb testing.TB, dir string, _, other ledgetest.Folders) {
		ledgetest.CopyTree(tb, other.Clean, dir, func(rel string) bool { return rel == "readings.db" })
	}, "readings.db", `it is of node \w+, and LEDGE_EVENTS.manifest is of node \w+`},
	// Before, this one was called torn.
	{"a copy of a block under a higher number", false, func(tb testing.TB, dir string, _, _ ledgetest.Folders) {
		text, err := os.ReadFile(ledgetest.Block(dir, "LEDGE_EVENTS", "1"))
		if err == nil {
			err = os.WriteFile(ledgetest.Block(dir, "LEDGE_EVENTS", "3"), text, 0o600)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}, "LEDGE_EVENTS", `3.blk has the records of 1.blk: the file was renamed or copied`},
	{"manifest removed", false, without("nats/LEDGE_EVENTS.manifest"), "", `the log had no manifest`},
	{"manifest of the readings removed", true, without("nats/LEDGE_READINGS.manifest"), "", `the log had no manifest`},
	{"manifest garbage", false, garbage("nats/LEDGE_EVENTS.manifest"), "LEDGE_EVENTS.manifest", ``},
}

type damage = func(tb testing.TB, dir string, n, other ledgetest.Folders)

func both(a, b damage) damage {
	return func(tb testing.TB, dir string, n, other ledgetest.Folders) {
		a(tb, dir, n, other)
		b(tb, dir, n, other)
	}
}

func cut(stream, n string) damage {
	return func(tb testing.TB, dir string, _, _ ledgetest.Folders) {
		ledgetest.Alter(tb, ledgetest.Block(dir, stream, n), func(b []byte) []byte { return b[:len(b)-10] })
	}
}

func flip(n string) damage {
	return func(tb testing.TB, dir string, _, _ ledgetest.Folders) {
		ledgetest.Alter(tb, ledgetest.Block(dir, "LEDGE_EVENTS", n), func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
	}
}

// flipTime alters when the server stored the first event, which the chain does not cover.
func flipTime(tb testing.TB, dir string, _, _ ledgetest.Folders) {
	ledgetest.Alter(tb, ledgetest.Block(dir, "LEDGE_EVENTS", "1"), func(b []byte) []byte { b[12] ^= 1; return b })
}

func without(path string) damage {
	return func(tb testing.TB, dir string, _, _ ledgetest.Folders) {
		ledgetest.Remove(tb, filepath.Join(dir, filepath.FromSlash(path)))
	}
}

func emptied(path string) damage {
	return func(tb testing.TB, dir string, _, _ ledgetest.Folders) {
		ledgetest.Alter(tb, filepath.Join(dir, filepath.FromSlash(path)), func([]byte) []byte { return nil })
	}
}

func garbage(path string) damage {
	return func(tb testing.TB, dir string, _, _ ledgetest.Folders) {
		ledgetest.Alter(tb, filepath.Join(dir, filepath.FromSlash(path)), func(b []byte) []byte {
			return []byte(strings.Repeat("garbage ", len(b)/8+1))
		})
	}
}

func noIndex(tb testing.TB, dir string, _, _ ledgetest.Folders) {
	for _, stream := range ledgetest.StreamsByAge {
		ledgetest.Remove(tb, filepath.Join(ledgetest.StreamFolder(dir, stream), "msgs", "index.db"))
	}
}

func otherLog(tb testing.TB, dir string, _, other ledgetest.Folders) {
	from := other.Clean
	if !ledgetest.HasCleanMark(dir) {
		from = other.Killed
	}
	ledgetest.Remove(tb, ledgetest.StreamFolder(dir, "LEDGE_EVENTS"))
	ledgetest.CopyTree(tb, ledgetest.StreamFolder(from, "LEDGE_EVENTS"), ledgetest.StreamFolder(dir, "LEDGE_EVENTS"), ledgetest.Everything)
}

// newerNotifications replaces the notifications of the changes with later ones.
func newerNotifications(tb testing.TB, dir string, n, _ ledgetest.Folders) {
	replaceNotifications(tb, n.Longer, dir)
}

func otherNotifications(tb testing.TB, dir string, _, other ledgetest.Folders) {
	replaceNotifications(tb, other.Clean, dir)
}

func replaceNotifications(tb testing.TB, from, dir string) {
	ledgetest.Remove(tb, ledgetest.StreamFolder(dir, "LEDGE_NOTIFICATIONS"))
	ledgetest.CopyTree(tb, from, dir, func(rel string) bool { return strings.Contains(strings.ToLower(rel), "notifications") })
}

func longerState(tb testing.TB, dir string, n, _ ledgetest.Folders) {
	ledgetest.CopyTree(tb, n.Longer, dir, func(rel string) bool { return rel == "state.db" })
}

// isSecondOfPair reports whether the same damage is also done to the folder of a node that was stopped clean.
func isSecondOfPair(name string) bool {
	first, killed := strings.CutSuffix(name, " after a kill")
	for _, tt := range damages {
		if killed && tt.name == first {
			return true
		}
	}
	return false
}

func TestDamage(t *testing.T) {
	t.Parallel()
	n, other := ledgetest.NewFolders(t), ledgetest.NewFolders(t)
	for _, tt := range damages {
		if isSecondOfPair(tt.name) && os.Getenv("TEST_LEDGE_FAULTS") != "all" {
			continue // for `make faults`
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			from := n.Clean
			if tt.killed {
				from = n.Killed
			}
			damaged := func() string {
				dir := ledgetest.Clone(t, from)
				tt.do(t, dir, n, other)
				return dir
			}
			if tt.log == "" {
				mustServe(t, damaged(), tt.says)
				return
			}
			line := regexp.MustCompile(`^ledge: .*` + tt.log + `.*` + tt.says + `.*ledge restore. makes a data folder of a backup`)
			dir := damaged()
			for range 2 {
				mustRefuse(t, dir, line)
			}
			if strings.HasPrefix(tt.name, "meta.") { // every event is whole
				return
			}
			mustBeFound(t, dir, line)
			dir = damaged()
			mustBeFound(t, dir, line)
			mustRefuse(t, dir, line)
		})
	}
}

// mustRefuse holds that `ledge serve` ends with one line that says what is wrong.
func mustRefuse(t *testing.T, dir string, want *regexp.Regexp) {
	t.Helper()
	p := ledgetest.Launch(t, dir)
	select {
	case <-p.Exited:
	case <-ready(p):
		t.Fatalf("ledge serves a damaged folder\n%s", p.Log)
	}
	if code := p.Wait(); code != exit.Damaged {
		t.Errorf("ledge serve: exit code %d, want %d", code, exit.Damaged)
	}
	ledgetest.CheckLine(t, "ledge serve", p.Log.String(), want)
}

// ready is closed when the process is.
func ready(p *ledgetest.Node) <-chan struct{} {
	ready := make(chan struct{})
	go func() {
		if p.WaitReady() == nil {
			close(ready)
		}
	}()
	return ready
}

// mustBeFound holds that `ledge verify` names the damage, and changes nothing.
func mustBeFound(t *testing.T, dir string, want *regexp.Regexp) {
	t.Helper()
	defer ledgetest.MustLeave(t, dir)()
	_, errs, code := ledgetest.Run(t, "verify", "--data-dir", dir)
	if code != exit.Damaged {
		t.Errorf("ledge verify: exit code %d, want %d", code, exit.Damaged)
	}
	ledgetest.CheckLine(t, "ledge verify", errs, want)
}

// mustServe holds that a folder is as before, after a start that says what it had to do.
func mustServe(t *testing.T, dir, says string) {
	t.Helper()
	p := ledgetest.Start(t, dir)
	if !regexp.MustCompile(says).MatchString(p.Log.String()) {
		t.Errorf("ledge serve does not say %q\n%s", says, p.Log)
	}
	if a := p.Call("GET", p.Metadata+"/api/v2/device/name/late-49", "", ""); a.Status != 200 {
		t.Errorf("the last device: %d %s", a.Status, a.Body)
	}
	last := ledgetest.Verify(t, dir)
	p.AddDevice("next")
	if code := p.Stop(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, p.Log)
	}
	if got := ledgetest.Verify(t, dir); got != last+1 {
		t.Errorf("the log ended at %d and goes on with %d", last, got)
	}
}

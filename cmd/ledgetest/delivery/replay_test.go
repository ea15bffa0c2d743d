package delivery

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ledge/bridge/porttest"
	"ledge/cmd/ledgetest"
)

// replayed is the answer to a replay.
type replayed struct {
	From, Last, Next uint64
	Count, Dropped   int
	More             bool
}

func replayURL(p *ledgetest.Node, name string) string {
	return p.Notifications + "/api/v2/subscription/name/" + name + "/replay"
}

// replay orders a replay and holds that it is answered 200.
func replay(p *ledgetest.Node, name, query string) (r replayed) {
	p.TB.Helper()
	a := p.Call(http.MethodPost, replayURL(p, name)+query, "", "")
	var body struct{ Replay replayed }
	if err := json.Unmarshal([]byte(a.Body), &body); err != nil || a.Status != http.StatusOK {
		p.TB.Fatalf("replay: %d %s", a.Status, a.Body)
	}
	return body.Replay
}

// cursor returns the last sequence of a subscription's cursor.
func cursor(p *ledgetest.Node, name string) uint64 {
	p.TB.Helper()
	a := p.Call(http.MethodGet, p.Notifications+"/api/v2/subscription/name/"+name+"/cursor", "", "")
	var body struct{ Cursor struct{ Last uint64 } }
	if err := json.Unmarshal([]byte(a.Body), &body); err != nil || a.Status != http.StatusOK {
		p.TB.Fatalf("cursor: %d %s", a.Status, a.Body)
	}
	return body.Cursor.Last
}

// receives holds that the next bodies are those wanted: a name of a device, or a whole content.
func receives(s *ledgetest.Subscriber, want ...string) {
	s.TB.Helper()
	for i, w := range want {
		if _, body := s.Next(); body != w && !strings.Contains(body, fmt.Sprintf(`"deviceName":%q`, w)) {
			s.TB.Fatalf("message %d: got %.200s, want %.200s", i, body, w)
		}
	}
}

// TestReplayForWhoJoinsLate joins after everything and after a crash, and gets exactly what matched, in order; then, from
// where that ended, exactly what came since.
func TestReplayForWhoJoinsLate(t *testing.T) {
	dir := t.TempDir()
	p := ledgetest.Start(t, dir, "--log-level", "debug")
	port := porttest.Hold(t)
	p.AddDevice("before")
	ledgetest.AddNamed(p, "late", "DEVICE_CHANGED", port)
	ledgetest.AddNamed(p, "fire", "FIRE", port)
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprint("cam-", i))
		p.AddDevice(want[i])
	}
	p.Notify("FIRE", "1", "2")
	p.Kill()

	p = ledgetest.Start(t, dir, "--log-level", "debug")
	p.AddDevice("after")
	want = append(want, "after")
	s := p.Subscribe(port, "late")
	first := replay(p, "late", "?from=1")
	receives(s, want...)
	if first.Count != len(want) || first.Dropped != 0 || first.More || first.Next != first.Last+1 {
		t.Errorf("got %+v, want %d", first, len(want))
	}
	if at := cursor(p, "late"); at == 0 || at > first.Last {
		t.Errorf("the cursor is at %d, the replay went to %d", at, first.Last)
	}
	since := time.Now().UTC().Add(time.Millisecond) // what is recorded from the next millisecond on
	ledgetest.Until(t, "the next millisecond", func() bool { return time.Now().After(since) })
	p.AddDevice("live")
	receives(s, "live")
	for _, from := range []string{fmt.Sprint(first.Next), fmt.Sprint(since.UnixMilli()), since.Format(time.RFC3339Nano)} {
		if got := replay(p, "late", "?from="+from); got.Count != 1 {
			t.Errorf("from %s: got %+v, want one", from, got)
		}
		receives(s, "live")
	}
	if got := replay(p, "late", fmt.Sprint("?from=", cursor(p, "late")+1)); got.Count != 0 {
		t.Errorf("from behind the cursor: got %+v, want nothing", got)
	}
	fire := p.Subscribe(port, "fire")
	replay(p, "fire", "")
	receives(fire, "1", "2")
	recordsReplays(p, 5)
}

// recordsReplays holds that so many replays are on record, and the first says what it was.
func recordsReplays(p *ledgetest.Node, want int) {
	p.TB.Helper()
	var got []string
	for _, f := range ledgetest.Facts(p.TB, p.Dir) {
		if f.Type == "notifications.replayed/1" {
			got = append(got, string(f.Data))
		}
	}
	if len(got) != want || !strings.Contains(got[0], `"subscription":"late","from":1`) || !strings.Contains(got[0], `"count":21`) {
		p.TB.Errorf("%d replays are on record, want %d: %v", len(got), want, got)
	}
}

func TestReplayIsRefused(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	ledgetest.AddNamed(p, "deaf", "DEVICE_CHANGED", porttest.Hold(t))
	for _, tt := range []struct {
		name, query string
		status      int
		says        string
	}{
		{"none", "", 404, `subscription name \"none\" does not exist`},
		{"deaf", "?from=noon", 400, `from: \"noon\" is not a position on the record; give a sequence`},
		{"deaf", "?from=1000", 400, "from: sequence 1000 is beyond the end"},
		{"deaf", "?limit=100001", 400, "limit: 100001 is too many; give at most 100000"},
		{"deaf", "", 409, "nobody subscribes to the ZeroMQ channels"},
	} {
		if a := p.Call(http.MethodPost, replayURL(p, tt.name)+tt.query, "", ""); a.Status != tt.status || !strings.Contains(a.Body, tt.says) {
			t.Errorf("%s%s: got %d %s, want %d %s", tt.name, tt.query, a.Status, a.Body, tt.status, tt.says)
		}
	}
}

const receiveLater = `
import sys, zmq
s = zmq.Context.instance().socket(zmq.SUB)
s.setsockopt(zmq.RCVHWM, 1)
s.setsockopt(zmq.RCVBUF, 8192)
s.setsockopt(zmq.SUBSCRIBE, b"")
s.connect(sys.argv[1])
sys.stdin.readline()
while True:
    print(s.recv_multipart()[1].decode()[:10], flush=True)
`

// TestReplayToASlowSubscriber replays far more than the queue of a subscriber holds that does not read yet: it loses
// nothing, and what is live goes on meanwhile.
func TestReplayToASlowSubscriber(t *testing.T) {
	t.Parallel()
	ledgetest.NeedLibzmq(t)
	p := ledgetest.Start(t, t.TempDir(), "--log-level", "debug")
	port := porttest.Hold(t)
	ledgetest.AddNamed(p, "slow", "BULK", port)
	var want []string
	for i := range 300 {
		want = append(want, fmt.Sprintf("%010d", i))
		p.Notify("BULK", want[i]+strings.Repeat("x", 100<<10))
	}
	cmd := exec.Command(ledgetest.Python, "-c", receiveLater, fmt.Sprintf("tcp://127.0.0.1:%d", port))
	go_, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out := (&ledgetest.Shell{T: t}).Background(cmd)
	answered := make(chan replayed, 1)
	go func() { answered <- replay(p, "slow", "") }()
	ledgetest.Await(p, "a subscriber", func() bool { return p.Log.Count(`"topic subscribed"`) > 0 })
	p.Notify("BULK", "live")
	if len(answered) > 0 {
		t.Fatal("the replay did not wait: the test does not hold the subscriber back")
	}
	_, _ = io.WriteString(go_, "\n")
	got, again := <-answered, false
	for got.Dropped > 0 || got.More { // on a slow machine: go on as docs/reference/replay.md says
		from := got.Next
		if got.Dropped > 0 {
			from = got.From
		}
		got, again = replay(p, "slow", fmt.Sprintf("?from=%d", from)), true
	}
	ledgetest.Await(p, "all messages", func() bool {
		lines := strings.Fields(out.String())
		return slices.Contains(lines, "live") && !slices.ContainsFunc(want, func(one string) bool { return !slices.Contains(lines, one) })
	})
	lines := slices.DeleteFunc(strings.Fields(out.String()), func(l string) bool { return l == "live" })
	if !again && !slices.Equal(lines, want) {
		t.Errorf("got %v", lines)
	}
}

// TestReplayDoc types the commands of docs/reference/replay.md.
func TestReplayDoc(t *testing.T) {
	t.Parallel()
	ledgetest.NeedLibzmq(t)
	text := ledgetest.MustRead(t, "../../../docs/reference/replay.md")
	blocks := ledgetest.ShellBlocks(text)
	if len(blocks) != 4 {
		t.Fatalf("docs/reference/replay.md has %d blocks, want 4", len(blocks))
	}
	p := ledgetest.StartSeed(t)
	sh := ledgetest.NewShell(p, t)
	place := filepath.Join(t.TempDir(), "late.place")
	run := func() *ledgetest.Output { return sh.Start(strings.Replace(blocks[1], "late.place", place, 1)) }
	sh.Run(blocks[0])
	first := run()
	ledgetest.Until(t, "the subscriber", func() bool { return strings.Contains(first.String(), "up to date") })
	if got := first.String(); strings.Count(got, `['late', '{"deviceName":"sample-image",`) != 1 {
		t.Errorf("late.py printed %s", got)
	}
	if out := sh.Run(blocks[2]); !strings.Contains(out, `"count":1,"dropped":0,"more":false`) {
		t.Errorf("by hand: %s", out)
	}
	if out := sh.Run(blocks[3]); !strings.Contains(out, `"cursor":{"subscription":"late","last":`) {
		t.Errorf("the cursor: %s", out)
	}
	second := run()
	ledgetest.Until(t, "the second subscriber", func() bool { return strings.Contains(second.String(), "up to date") })
	if got := second.String(); strings.Contains(got, "sample-image") {
		t.Errorf("started again, late.py printed %s", got)
	}
	want, _, _ := strings.Cut(text[strings.Index(text, "```json\n")+8:], "\n")
	var documented, answered map[string]any
	a := p.Call(http.MethodPost, replayURL(p, "late"), "", "")
	if json.Unmarshal([]byte(want), &documented) != nil || json.Unmarshal([]byte(a.Body), &answered) != nil {
		t.Fatalf("%s, %s", want, a.Body)
	}
	for key := range documented["replay"].(map[string]any) {
		if _, ok := answered["replay"].(map[string]any)[key]; !ok {
			t.Errorf("docs/reference/replay.md has %q in the answer, which has not: %s", key, a.Body)
		}
	}
}

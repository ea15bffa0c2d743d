package main

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
)

// replayed is the answer to a replay.
type replayed struct {
	From, Last, Next uint64
	Count, Dropped   int
	More             bool
}

func (p *process) replayURL(name string) string {
	return p.notifications + "/api/v2/subscription/name/" + name + "/replay"
}

// replay orders a replay and holds that it is answered 200.
func (p *process) replay(name, query string) (r replayed) {
	p.tb.Helper()
	a := p.call(http.MethodPost, p.replayURL(name)+query, "", "")
	var body struct{ Replay replayed }
	if err := json.Unmarshal([]byte(a.body), &body); err != nil || a.status != http.StatusOK {
		p.tb.Fatalf("replay: %d %s", a.status, a.body)
	}
	return body.Replay
}

// cursor returns the last sequence of a subscription's cursor.
func (p *process) cursor(name string) uint64 {
	p.tb.Helper()
	a := p.call(http.MethodGet, p.notifications+"/api/v2/subscription/name/"+name+"/cursor", "", "")
	var body struct{ Cursor struct{ Last uint64 } }
	if err := json.Unmarshal([]byte(a.body), &body); err != nil || a.status != http.StatusOK {
		p.tb.Fatalf("cursor: %d %s", a.status, a.body)
	}
	return body.Cursor.Last
}

func (p *process) addNamed(name, category string, port int) {
	p.tb.Helper()
	p.postJSON(http.MethodPost, p.notifications+"/api/v2/subscription", fmt.Sprintf(`[{"apiVersion":"v2","subscription":{"name":%q,"receiver":"r","adminState":"UNLOCKED",`+
		`"categories":[%q],"channels":[{"type":"ZeroMQ","host":"127.0.0.1","port":%d,"topic":%q}]}}]`, name, category, port, name), 201)
}

// subscribeElsewhere adds a subscription that no device change matches: without any, changes raise no notification.
func (p *process) subscribeElsewhere() {
	p.tb.Helper()
	p.postJSON(http.MethodPost, p.notifications+"/api/v2/subscription", `[{"apiVersion":"v2","subscription":{"name":"elsewhere","receiver":"r",`+
		`"adminState":"UNLOCKED","categories":["elsewhere"],"channels":[{"type":"REST","host":"127.0.0.1","port":1,"path":"/","httpMethod":"POST"}]}}]`, 201)
}

func (p *process) notify(category string, contents ...string) {
	p.tb.Helper()
	for _, content := range contents {
		p.postJSON(http.MethodPost, p.notifications+"/api/v2/notification", fmt.Sprintf(
			`[{"apiVersion":"v2","notification":{"category":%q,"content":%q,"sender":"test","severity":"NORMAL"}}]`, category, content), 201)
	}
}

// receives holds that the next bodies are those wanted: a name of a device, or a whole content.
func (s *subscriber) receives(want ...string) {
	s.tb.Helper()
	for i, w := range want {
		if _, body := s.next(); body != w && !strings.Contains(body, fmt.Sprintf(`"deviceName":%q`, w)) {
			s.tb.Fatalf("message %d: got %.200s, want %.200s", i, body, w)
		}
	}
}

// TestReplayForWhoJoinsLate joins after everything and after a crash, and gets exactly what matched, in order; then, from
// where that ended, exactly what came since.
func TestReplayForWhoJoinsLate(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir, "--log-level", "debug")
	port := porttest.Hold(t)
	p.addDevice("before")
	p.addNamed("late", "DEVICE_CHANGED", port)
	p.addNamed("fire", "FIRE", port)
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprint("cam-", i))
		p.addDevice(want[i])
	}
	p.notify("FIRE", "1", "2")
	p.kill()

	p = start(t, dir, "--log-level", "debug")
	p.addDevice("after")
	want = append(want, "after")
	s := p.subscribe(port, "late")
	first := p.replay("late", "?from=1")
	s.receives(want...)
	if first.Count != len(want) || first.Dropped != 0 || first.More || first.Next != first.Last+1 {
		t.Errorf("got %+v, want %d", first, len(want))
	}
	if at := p.cursor("late"); at == 0 || at > first.Last {
		t.Errorf("the cursor is at %d, the replay went to %d", at, first.Last)
	}
	since := time.Now().UTC().Add(time.Millisecond) // what is recorded from the next millisecond on
	until(t, "the next millisecond", func() bool { return time.Now().After(since) })
	p.addDevice("live")
	s.receives("live")
	for _, from := range []string{fmt.Sprint(first.Next), fmt.Sprint(since.UnixMilli()), since.Format(time.RFC3339Nano)} {
		if got := p.replay("late", "?from="+from); got.Count != 1 {
			t.Errorf("from %s: got %+v, want one", from, got)
		}
		s.receives("live")
	}
	if got := p.replay("late", fmt.Sprint("?from=", p.cursor("late")+1)); got.Count != 0 {
		t.Errorf("from behind the cursor: got %+v, want nothing", got)
	}
	fire := p.subscribe(port, "fire")
	p.replay("fire", "")
	fire.receives("1", "2")
	p.recordsReplays(5)
}

// recordsReplays holds that so many replays are on record, and the first says what it was.
func (p *process) recordsReplays(want int) {
	p.tb.Helper()
	var got []string
	for _, f := range facts(p.tb, p.dir) {
		if f.Type == "notifications.replayed/1" {
			got = append(got, string(f.Data))
		}
	}
	if len(got) != want || !strings.Contains(got[0], `"subscription":"late","from":1`) || !strings.Contains(got[0], `"count":21`) {
		p.tb.Errorf("%d replays are on record, want %d: %v", len(got), want, got)
	}
}

func TestReplayIsRefused(t *testing.T) {
	p := start(t, t.TempDir())
	p.addNamed("deaf", "DEVICE_CHANGED", porttest.Hold(t))
	for _, tt := range []struct {
		name, query string
		status      int
		says        string
	}{
		{"none", "", 404, `subscription name \"none\" does not exist`},
		{"deaf", "?from=noon", 400, `from: \"noon\" is no place on the record; give a sequence`},
		{"deaf", "?from=1000", 400, "from: sequence 1000 is beyond the end"},
		{"deaf", "?limit=100001", 400, "limit: 100001 is too many; give at most 100000"},
		{"deaf", "", 409, "nobody subscribes to the ZeroMQ channels"},
	} {
		if a := p.call(http.MethodPost, p.replayURL(tt.name)+tt.query, "", ""); a.status != tt.status || !strings.Contains(a.body, tt.says) {
			t.Errorf("%s%s: got %d %s, want %d %s", tt.name, tt.query, a.status, a.body, tt.status, tt.says)
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
	needLibzmq(t)
	p := start(t, t.TempDir(), "--log-level", "debug")
	port := porttest.Hold(t)
	p.addNamed("slow", "BULK", port)
	var want []string
	for i := range 300 {
		want = append(want, fmt.Sprintf("%010d", i))
		p.notify("BULK", want[i]+strings.Repeat("x", 100<<10))
	}
	cmd := exec.Command(python, "-c", receiveLater, fmt.Sprintf("tcp://127.0.0.1:%d", port))
	go_, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out := (&shell{t: t}).background(cmd)
	answered := make(chan replayed, 1)
	go func() { answered <- p.replay("slow", "") }()
	p.await("a subscriber", func() bool { return p.log.count(`"topic subscribed"`) > 0 })
	p.notify("BULK", "live")
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
		got, again = p.replay("slow", fmt.Sprintf("?from=%d", from)), true
	}
	p.await("all messages", func() bool {
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
	needLibzmq(t)
	text := mustRead(t, "../../docs/reference/replay.md")
	blocks := shellBlocks(text)
	if len(blocks) != 4 {
		t.Fatalf("docs/reference/replay.md has %d blocks, want 4", len(blocks))
	}
	p := startSeed(t)
	sh := p.shell(t)
	place := filepath.Join(t.TempDir(), "late.place")
	run := func() *syncBuffer { return sh.start(strings.Replace(blocks[1], "late.place", place, 1)) }
	sh.run(blocks[0])
	first := run()
	until(t, "the subscriber", func() bool { return strings.Contains(first.String(), "up to date") })
	if got := first.String(); strings.Count(got, `['late', '{"deviceName":"sample-image",`) != 1 {
		t.Errorf("late.py printed %s", got)
	}
	if out := sh.run(blocks[2]); !strings.Contains(out, `"count":1,"dropped":0,"more":false`) {
		t.Errorf("by hand: %s", out)
	}
	if out := sh.run(blocks[3]); !strings.Contains(out, `"cursor":{"subscription":"late","last":`) {
		t.Errorf("the cursor: %s", out)
	}
	second := run()
	until(t, "the second subscriber", func() bool { return strings.Contains(second.String(), "up to date") })
	if got := second.String(); strings.Contains(got, "sample-image") {
		t.Errorf("started again, late.py printed %s", got)
	}
	want, _, _ := strings.Cut(text[strings.Index(text, "```json\n")+8:], "\n")
	var documented, answered map[string]any
	a := p.call(http.MethodPost, p.replayURL("late"), "", "")
	if json.Unmarshal([]byte(want), &documented) != nil || json.Unmarshal([]byte(a.body), &answered) != nil {
		t.Fatalf("%s, %s", want, a.body)
	}
	for key := range documented["replay"].(map[string]any) {
		if _, ok := answered["replay"].(map[string]any)[key]; !ok {
			t.Errorf("docs/reference/replay.md has %q in the answer, which has not: %s", key, a.body)
		}
	}
}

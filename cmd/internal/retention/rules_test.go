package retention

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/node"
	"ledge/cmd/internal/node/nodetest"
	"ledge/domain"
)

// retain runs the rules of a configuration until the end of the test or stop.
func retain(t *testing.T, d *node.Node, c *config.Config) (r *ruleRemover, stop func()) {
	t.Helper()
	r = newRuleRemover(c.ReadingsRetention, d)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; ctx.Err() == nil {
			t.Errorf("retention ended: %v", err)
		}
	}
	t.Cleanup(stop)
	return r, stop
}

// removals returns what the log says of removals: how many data events went, by the rule that has removed them.
func removals(t *testing.T, d *node.Node) map[string]int {
	t.Helper()
	gone := map[string]int{}
	for r, err := range d.Readings.Log.Read(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := r.Event.(domain.DataEventsRemoved); ok {
			if gone[e.Rule] += len(e.Events); r.Actor != "ledge" || strings.Join(e.Subject(), ".") != "cleanup.retention.removed" {
				t.Errorf("removed by %s as %v", r.Actor, e.Subject())
			}
		}
	}
	return gone
}

// TestRetentionByRules keeps of each rule the newest, by count and by bytes, what there was at the start and what comes, and
// leaves alone what no rule is about. The first rule that matches holds.
func TestRetentionByRules(t *testing.T) {
	c := configOf(t, "--data-dir", t.TempDir(), "--readings-retention", "p.few.* count=300, p.small-1.* bytes=100KiB, p.small-2.*, p.*.r count=1000")
	d := mustOpenData(t, c)
	devices := []string{"few", "small-1", "small-2", "rest-1", "rest-2"}
	nodetest.PostInTurns(t, d, 900, 1<<10, devices...)
	before := map[string][]domain.DataEvent{}
	for _, device := range devices {
		before[device] = nodetest.EventsOf(t, d, device)
	}
	want := map[string]int{"few": 297, "small-1": 99, "small-2": 900, "rest-1": 495, "rest-2": 495}
	r, stop := retain(t, d, c)
	check := func(when string) {
		t.Helper()
		for device, n := range want {
			nodetest.Until(t, fmt.Sprintf("%s: %d of %s", when, n, device), func() bool { return len(nodetest.EventsOf(t, d, device)) <= n })
			if list := nodetest.EventsOf(t, d, device); len(list) != n || list[n-1].ID != before[device][len(before[device])-1].ID {
				t.Errorf("%s: %d of %s are left, want the last %d", when, len(list), device, n)
			}
		}
	}
	check("at the start")
	if got, want := removals(t, d), map[string]int{"p.few.* count=300": 603, "p.small-1.* bytes=100KiB": 801, "p.*.r count=1000": 810}; !mapsEqual(got, want) {
		t.Errorf("on record: %v, want %v", got, want)
	}
	for range 3 { // up to the limit
		nodetest.PostInTurns(t, d, 1, 1<<10, "few")
	}
	nodetest.Submit(t, d, nodetest.NewReading("rest-1", "other", 1<<10), domain.RemoveDataEvent{ID: before["few"][len(before["few"])-1].ID})
	if n := len(nodetest.EventsOf(t, d, "few")); n != 299 {
		t.Errorf("%d of few, want 299", n)
	}
	nodetest.PostInTurns(t, d, 2, 1<<10, "few") // over what was counted, but not what is there after the removal by others, and then over that
	nodetest.Until(t, "few to be over", func() bool { return len(nodetest.EventsOf(t, d, "few")) == 297 })
	want["few"], want["rest-1"] = 297, 496
	before["few"], before["rest-1"] = nodetest.EventsOf(t, d, "few"), nodetest.EventsOf(t, d, "rest-1")
	check("later")
	stop()
	for i, use := range r.use() {
		kept := []int{297, 99, 900, 990}[i]
		if use.Kept != int64(kept) || use.KeptBytes != int64(kept)<<10 || use.Removed != []int64{607, 801, 0, 810}[i] {
			t.Errorf("metrics: %+v", use)
		}
	}
	nodetest.MustBeFold(t, d)
}

func mapsEqual(a, b map[string]int) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// TestRetentionByAge removes by the time of record, whatever the origin says, what there was at the start and what comes.
func TestRetentionByAge(t *testing.T) {
	t.Parallel()
	c := configOf(t, "--data-dir", t.TempDir(), "--readings-retention", "p.old.* age=1s, p.young.* age=1h")
	d := mustOpenData(t, c)
	nodetest.PostInTurns(t, d, 50, 10, "old", "young", "other")
	r, _ := retain(t, d, c)
	gone := func() bool { return len(nodetest.EventsOf(t, d, "old")) == 0 }
	nodetest.Until(t, "those at the start to go", gone)
	nodetest.PostInTurns(t, d, 50, 10, "old", "young")
	nodetest.Until(t, "those that came to go", gone)
	if young, other := len(nodetest.EventsOf(t, d, "young")), len(nodetest.EventsOf(t, d, "other")); young != 100 || other != 50 {
		t.Errorf("%d and %d are left, want 100 and 50", young, other)
	}
	ancient := nodetest.NewReading("young", "r", 10).(domain.PostReading)
	ancient.Reading.Origin = 0
	nodetest.Submit(t, d, ancient)
	node.Wake(r.woken)
	nodetest.PostInTurns(t, d, 1, 10, "old")
	nodetest.Until(t, "the last to go", gone)
	if n := len(nodetest.EventsOf(t, d, "young")); n != 101 {
		t.Errorf("%d are left, want 101: an origin of 0 is not an age", n)
	}
	if got := removals(t, d); got["p.old.* age=1s"] != 101 || len(got) != 1 {
		t.Errorf("on record: %v", got)
	}
}

// TestRetentionGivesDiskBack holds that the files of the log shrink when its front holds nothing but what was removed: not
// before an old one that stays is gone, and never beyond an answer that is kept.
func TestRetentionGivesDiskBack(t *testing.T) {
	c := configOf(t, "--data-dir", t.TempDir(), "--readings-retention", "p.big.* count=3")
	d := mustOpenData(t, c)
	bytes := func() int64 {
		s, err := d.Readings.Log.Stats()
		if err != nil {
			t.Fatal(err)
		}
		return s.Bytes
	}
	nodetest.Submit(t, d, nodetest.NewReading("stays", "r", 10))
	for range 40 {
		nodetest.Submit(t, d, nodetest.NewReading("big", "r", 1<<20))
	}
	full := bytes()
	_, stop := retain(t, d, c)
	nodetest.Until(t, "three to be left", func() bool { return len(nodetest.EventsOf(t, d, "big")) == 3 })
	if first, now := d.Readings.Log.First(), bytes(); first != 1 || now < full {
		t.Errorf("the log begins at %d and takes %d of %d bytes, with its first event in the state", first, now, full)
	}
	nodetest.Submit(t, d, domain.RemoveDataEvent{ID: nodetest.EventsOf(t, d, "stays")[0].ID})
	nodetest.Until(t, "the front to go", func() bool { return bytes() < full/3 })
	nodetest.MustBeFold(t, d)

	keyed := domain.Request{Stamp: domain.Stamp{EventID: nodetest.NewID(), At: time.Now(), Key: &domain.Key{Hash: "k", Digest: "d", Until: time.Now().UnixMilli() + 3_600_000}}, Command: nodetest.NewReading("big", "r", 10), MostAnswers: 10}
	if out, err := d.Readings.Appender.Submit(t.Context(), keyed); err != nil || out[0].Err != nil {
		t.Fatal(err, out)
	}
	at := d.Readings.Log.First()
	for range 40 {
		nodetest.Submit(t, d, nodetest.NewReading("big", "r", 1<<20))
	}
	nodetest.Until(t, "three to be left again", func() bool { return len(nodetest.EventsOf(t, d, "big")) == 3 })
	stop()
	if first := d.Readings.Log.First(); first > at+5 {
		t.Errorf("the log begins at %d: the answer that was kept at %d or so would be lost in a rebuild", first, at+5)
	}
	nodetest.MustBeFold(t, d)
	if r, err := d.Readings.Log.Verify(t.Context(), nil); err != nil || r.First == 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

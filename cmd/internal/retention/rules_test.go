package retention

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ledge/cmd/internal/node"
	"ledge/cmd/internal/node/nodetest"
	"ledge/domain"
)

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
	want := map[string]int{"few": 300, "small-1": 100, "small-2": 900, "rest-1": 500, "rest-2": 500}
	s := sweeperOf(d, c)
	check := func(when string) {
		t.Helper()
		s.sweep(t.Context())
		for device, n := range want {
			if list := nodetest.EventsOf(t, d, device); len(list) != n || list[n-1].ID != before[device][len(before[device])-1].ID {
				t.Errorf("%s: %d of %s are left, want the last %d", when, len(list), device, n)
			}
		}
	}
	check("at the start")
	if got, want := removals(t, d), map[string]int{"p.few.* count=300": 600, "p.small-1.* bytes=100KiB": 800, "p.*.r count=1000": 800}; !mapsEqual(got, want) {
		t.Errorf("on record: %v, want %v", got, want)
	}
	nodetest.PostInTurns(t, d, 3, 1<<10, "few") // over what was counted, but two of them come in the place of those that others remove
	few := nodetest.EventsOf(t, d, "few")
	nodetest.Submit(t, d, nodetest.NewReading("rest-1", "other", 1<<10), domain.RemoveDataEvent{ID: few[0].ID}, domain.RemoveDataEvent{ID: few[1].ID})
	want["rest-1"] = 501
	before["few"], before["rest-1"] = few, nodetest.EventsOf(t, d, "rest-1")
	check("later")
	for i, use := range s.rules.Load().use() {
		kept := []int{300, 100, 900, 1000}[i]
		if use.Kept != int64(kept) || use.KeptBytes != int64(kept)<<10 || use.Removed != []int64{601, 800, 0, 800}[i] {
			t.Errorf("metrics: %+v", use)
		}
	}
	nodetest.MustBeFold(t, d)
}

func mapsEqual(a, b map[string]int) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// TestRetentionByAge removes by the time of record, whatever the origin says, what there was at the start and what comes.
func TestRetentionByAge(t *testing.T) {
	t.Parallel()
	c := configOf(t, "--data-dir", t.TempDir(), "--readings-retention", "p.old.* age=1h, p.young.* age=2h")
	d := mustOpenData(t, c)
	s := sweeperOf(d, c)
	check := func(when string, want map[string]int) {
		t.Helper()
		s.sweep(t.Context())
		for device, n := range want {
			if got := len(nodetest.EventsOf(t, d, device)); got != n {
				t.Errorf("%s: %d of %s are left, want %d", when, got, device, n)
			}
		}
	}
	nodetest.PostInTurns(t, d, 50, 10, "old", "young", "other")
	ancient := nodetest.NewReading("young", "r", 10).(domain.PostReading)
	ancient.Reading.Origin = 0
	nodetest.Submit(t, d, ancient)
	check("at once", map[string]int{"old": 50, "young": 51, "other": 50})
	d.Now = func() time.Time { return time.Now().Add(time.Hour) }
	check("an hour later", map[string]int{"old": 0, "young": 51, "other": 50})
	nodetest.PostInTurns(t, d, 50, 10, "old", "young")
	check("what came then", map[string]int{"old": 0, "young": 101, "other": 50})
	d.Now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	check("two hours later", map[string]int{"old": 0, "young": 0, "other": 50})
	if got := removals(t, d); got["p.old.* age=1h"] != 100 || got["p.young.* age=2h"] != 101 || len(got) != 2 {
		t.Errorf("on record: %v", got)
	}
}

// TestRetentionGivesDiskBack holds that the files of the log shrink when its front holds nothing but what was removed: not
// before an old one that stays is gone, and never beyond an answer that is kept.
func TestRetentionGivesDiskBack(t *testing.T) {
	c := configOf(t, "--data-dir", t.TempDir(), "--readings-retention", "p.big.* count=3")
	d := mustOpenData(t, c)
	s := sweeperOf(d, c)
	bytes := func() int64 {
		s, err := d.Readings.Log.Stats()
		if err != nil {
			t.Fatal(err)
		}
		return s.Bytes
	}
	nodetest.Submit(t, d, nodetest.NewReading("stays", "r", 10))
	post := func() {
		for range 40 {
			nodetest.Submit(t, d, nodetest.NewReading("big", "r", 1<<20))
		}
	}
	post()
	full := bytes()
	s.sweep(t.Context())
	if first, n, now := d.Readings.Log.First(), len(nodetest.EventsOf(t, d, "big")), bytes(); first != 1 || n != 3 || now < full {
		t.Errorf("%d are left, and the log begins at %d and takes %d of %d bytes, with its first event in the state", n, first, now, full)
	}
	nodetest.Submit(t, d, domain.RemoveDataEvent{ID: nodetest.EventsOf(t, d, "stays")[0].ID})
	if s.sweep(t.Context()); bytes() >= full/3 {
		t.Errorf("the log takes %d of %d bytes", bytes(), full)
	}
	nodetest.MustBeFold(t, d)

	keyed := domain.Request{Stamp: domain.Stamp{EventID: nodetest.NewID(), At: time.Now(), Key: &domain.Key{Hash: "k", Digest: "d", Until: time.Now().UnixMilli() + 3_600_000}}, Command: nodetest.NewReading("big", "r", 10), MostAnswers: 10}
	if out, err := d.Readings.Appender.Submit(t.Context(), keyed); err != nil || out[0].Err != nil {
		t.Fatal(err, out)
	}
	at := d.Readings.Log.First()
	post()
	s.sweep(t.Context())
	if first, n := d.Readings.Log.First(), len(nodetest.EventsOf(t, d, "big")); n != 3 || first > at+5 {
		t.Errorf("%d are left, and the log begins at %d: the answer that was kept at %d or so would be lost in a rebuild", n, first, at+5)
	}
	nodetest.MustBeFold(t, d)
	if r, err := d.Readings.Log.Verify(t.Context(), nil); err != nil || r.First == 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

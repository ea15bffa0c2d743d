package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// retain runs the rules of a configuration until the end of the test or stop.
func (d *data) retain(t *testing.T, c *Config) (r *retention, stop func()) {
	t.Helper()
	r = newRetention(c, d)
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

// eventsOf returns the data events of a device, in the order of the log.
func (d *data) eventsOf(t *testing.T, device string) (list []domain.DataEvent) {
	t.Helper()
	v, done := d.values.View()
	defer done()
	ids, _, err := v.Keys(domain.ListDataEvents, domain.Page{Limit: 100_000}, domain.Filter{Index: domain.IndexDevice, Value: device})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		e, _ := v.DataEvents.Get(id)
		list = append(list, e)
	}
	slices.Reverse(list)
	return list
}

// alternately posts n readings of each device.
func (d *data) alternately(t *testing.T, n, bytes int, devices ...string) {
	t.Helper()
	var commands []domain.Command
	for range n {
		for _, device := range devices {
			commands = append(commands, ledgetest.Reading(device, "r", bytes))
		}
	}
	for some := range slices.Chunk(commands, 1000) {
		d.submit(t, some...)
	}
}

// removals returns what the log says of removals: how many data events went, by the rule that has removed them.
func (d *data) removals(t *testing.T) map[string]int {
	t.Helper()
	gone := map[string]int{}
	for r, err := range d.store.Readings().Read(t.Context(), 0, 0) {
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
	d.alternately(t, 900, 1<<10, devices...)
	before := map[string][]domain.DataEvent{}
	for _, device := range devices {
		before[device] = d.eventsOf(t, device)
	}
	want := map[string]int{"few": 297, "small-1": 99, "small-2": 900, "rest-1": 495, "rest-2": 495}
	r, stop := d.retain(t, c)
	check := func(when string) {
		t.Helper()
		for device, n := range want {
			ledgetest.Until(t, fmt.Sprintf("%s: %d of %s", when, n, device), func() bool { return len(d.eventsOf(t, device)) <= n })
			if list := d.eventsOf(t, device); len(list) != n || list[n-1].ID != before[device][len(before[device])-1].ID {
				t.Errorf("%s: %d of %s are left, want the last %d", when, len(list), device, n)
			}
		}
	}
	check("at the start")
	if got, want := d.removals(t), map[string]int{"p.few.* count=300": 603, "p.small-1.* bytes=100KiB": 801, "p.*.r count=1000": 810}; !ledgetest.MapsEqual(got, want) {
		t.Errorf("on record: %v, want %v", got, want)
	}
	for range 3 { // up to the limit
		d.alternately(t, 1, 1<<10, "few")
	}
	d.submit(t, ledgetest.Reading("rest-1", "other", 1<<10), domain.RemoveDataEvent{ID: before["few"][len(before["few"])-1].ID})
	if n := len(d.eventsOf(t, "few")); n != 299 {
		t.Errorf("%d of few, want 299", n)
	}
	d.alternately(t, 2, 1<<10, "few") // over what was counted, but not what is there after the removal by others, and then over that
	ledgetest.Until(t, "few to be over", func() bool { return len(d.eventsOf(t, "few")) == 297 })
	want["few"], want["rest-1"] = 297, 496
	before["few"], before["rest-1"] = d.eventsOf(t, "few"), d.eventsOf(t, "rest-1")
	check("later")
	stop()
	for i, use := range r.use() {
		kept := []int{297, 99, 900, 990}[i]
		if use.Kept != int64(kept) || use.KeptBytes != int64(kept)<<10 || use.Removed != []int64{607, 801, 0, 810}[i] {
			t.Errorf("metrics: %+v", use)
		}
	}
	d.isFold(t)
}

// TestRetentionByAge removes by the time of record, whatever the origin says, what there was at the start and what comes.
func TestRetentionByAge(t *testing.T) {
	t.Parallel()
	c := configOf(t, "--data-dir", t.TempDir(), "--readings-retention", "p.old.* age=1s, p.young.* age=1h")
	d := mustOpenData(t, c)
	d.alternately(t, 50, 10, "old", "young", "other")
	r, _ := d.retain(t, c)
	gone := func() bool { return len(d.eventsOf(t, "old")) == 0 }
	ledgetest.Until(t, "those at the start to go", gone)
	d.alternately(t, 50, 10, "old", "young")
	ledgetest.Until(t, "those that came to go", gone)
	if young, other := len(d.eventsOf(t, "young")), len(d.eventsOf(t, "other")); young != 100 || other != 50 {
		t.Errorf("%d and %d are left, want 100 and 50", young, other)
	}
	ancient := ledgetest.Reading("young", "r", 10).(domain.PostReading)
	ancient.Reading.Origin = 0
	d.submit(t, ancient)
	wake(r.woken)
	d.alternately(t, 1, 10, "old")
	ledgetest.Until(t, "the last to go", gone)
	if n := len(d.eventsOf(t, "young")); n != 101 {
		t.Errorf("%d are left, want 101: an origin of 0 is not an age", n)
	}
	if got := d.removals(t); got["p.old.* age=1s"] != 101 || len(got) != 1 {
		t.Errorf("on record: %v", got)
	}
}

// TestRetentionGivesDiskBack holds that the files of the log shrink when its front holds nothing but what was removed: not
// before an old one that stays is gone, and never beyond an answer that is kept.
func TestRetentionGivesDiskBack(t *testing.T) {
	c := configOf(t, "--data-dir", t.TempDir(), "--readings-retention", "p.big.* count=3")
	d := mustOpenData(t, c)
	bytes := func() int64 {
		s, err := d.store.Readings().Stats()
		if err != nil {
			t.Fatal(err)
		}
		return s.Bytes
	}
	d.submit(t, ledgetest.Reading("stays", "r", 10))
	for range 40 {
		d.submit(t, ledgetest.Reading("big", "r", 1<<20))
	}
	full := bytes()
	_, stop := d.retain(t, c)
	ledgetest.Until(t, "three to be left", func() bool { return len(d.eventsOf(t, "big")) == 3 })
	if first, now := d.store.Readings().First(), bytes(); first != 1 || now < full {
		t.Errorf("the log begins at %d and takes %d of %d bytes, with its first event in the state", first, now, full)
	}
	d.submit(t, domain.RemoveDataEvent{ID: d.eventsOf(t, "stays")[0].ID})
	ledgetest.Until(t, "the front to go", func() bool { return bytes() < full/3 })
	d.isFold(t)

	keyed := domain.Request{Stamp: domain.Stamp{EventID: ledgetest.NewID(), At: time.Now(), Key: &domain.Key{Hash: "k", Digest: "d", Until: time.Now().UnixMilli() + 3_600_000}}, Command: ledgetest.Reading("big", "r", 10), MostAnswers: 10}
	if out, err := d.readings.Submit(t.Context(), keyed); err != nil || out[0].Err != nil {
		t.Fatal(err, out)
	}
	at := d.store.Readings().First()
	for range 40 {
		d.submit(t, ledgetest.Reading("big", "r", 1<<20))
	}
	ledgetest.Until(t, "three to be left again", func() bool { return len(d.eventsOf(t, "big")) == 3 })
	stop()
	if first := d.store.Readings().First(); first > at+5 {
		t.Errorf("the log begins at %d: the answer that was kept at %d or so would be lost in a rebuild", first, at+5)
	}
	d.isFold(t)
	if r, err := d.store.Readings().Verify(t.Context(), nil); err != nil || r.First == 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestRetentionGoesOnAfterAKill kills the program while it removes by a rule: the next one goes on, and verify and rebuild
// find all whole.
func TestRetentionGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	const all = 20_000
	const rule = "p.*.* count=500"
	var dir string
	var c *Config
	ledgetest.KilledInTheMiddle(t, func() bool {
		dir = t.TempDir()
		c = configOf(t, "--data-dir", dir)
		d := mustOpenData(t, c)
		d.alternately(t, all, 1<<10, "gone")
		_ = d.close()
		p := ledgetest.Start(t, dir, "--readings-retention", rule)
		ledgetest.Until(t, "the first to go", func() bool { return p.CountEvents("gone") < all })
		p.Kill()
		d = mustOpenData(t, c)
		defer d.close()
		return len(d.eventsOf(t, "gone")) > 500
	})
	p := ledgetest.Start(t, dir, "--readings-retention", rule)
	ledgetest.Until(t, "the rule to be kept", func() bool { return ledgetest.KeptByRule(p) == 495 })
	p.WaitLog("the front of the log is gone")
	if code := p.Stop(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, p.Log)
	}
	ledgetest.Verify(t, dir)
	for _, when := range []string{"before", "after"} {
		d := mustOpenData(t, c)
		if n := len(d.eventsOf(t, "gone")); n != 495 || d.store.Readings().First() == 1 {
			t.Errorf("%s a rebuild: %d are left, want 495; the log begins at %d", when, n, d.store.Readings().First())
		}
		d.isFold(t)
		_ = d.close()
		if out, errs, code := ledgetest.Run(t, "rebuild", "--data-dir", dir); code != exit.OK {
			t.Fatalf("rebuild: %d %s %s", code, out, errs)
		}
	}
}

package main

import (
	"regexp"
	"strconv"
	"testing"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/node/nodetest"
)

var keptEvents = regexp.MustCompile(`ledge_retention_kept_events{rule="[^"]*"} ([0-9.e+]+)`)

// keptByRule asks for the metric.
func (p *process) keptByRule() int {
	p.tb.Helper()
	text := p.call("GET", p.coreData+"/metrics", "", "").body
	found := keptEvents.FindStringSubmatch(text)
	if found == nil {
		p.tb.Fatalf("no ledge_retention_kept_events in\n%s", text)
	}
	n, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		p.tb.Fatal(err)
	}
	return int(n)
}

// TestRetentionGoesOnAfterAKill kills the program while it removes by a rule: the next one goes on, and verify and rebuild
// find all whole.
func TestRetentionGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	const all = 20_000
	const rule = "p.*.* count=500"
	var dir string
	var c *config.Config
	killedInTheMiddle(t, func() bool {
		dir = t.TempDir()
		c = configOf(t, "--data-dir", dir)
		d := mustOpenData(t, c)
		nodetest.PostInTurns(t, d, all, 1<<10, "gone")
		_ = d.Close()
		p := start(t, dir, "--readings-retention", rule)
		until(t, "the first to go", func() bool { return p.countEvents("gone") < all })
		p.kill()
		d = mustOpenData(t, c)
		defer d.Close()
		return len(nodetest.EventsOf(t, d, "gone")) > 500
	})
	p := start(t, dir, "--readings-retention", rule)
	until(t, "the rule to be kept", func() bool { return p.keptByRule() == 495 })
	p.waitLog("the front of the log is gone")
	if code := p.stop(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, p.log)
	}
	verify(t, dir)
	for _, when := range []string{"before", "after"} {
		d := mustOpenData(t, c)
		if n := len(nodetest.EventsOf(t, d, "gone")); n != 495 || d.Readings.Log.First() == 1 {
			t.Errorf("%s a rebuild: %d are left, want 495; the log begins at %d", when, n, d.Readings.Log.First())
		}
		nodetest.MustBeFold(t, d)
		_ = d.Close()
		if out, errs, code := ledge(t, "rebuild", "--data-dir", dir); code != exit.OK {
			t.Fatalf("rebuild: %d %s %s", code, out, errs)
		}
	}
}

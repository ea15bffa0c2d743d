package lifecycle

import (
	"regexp"
	"strconv"
	"testing"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/node/nodetest"
	"ledge/cmd/internal/server/servertest"
	"ledge/cmd/ledgetest"
)

var keptEvents = regexp.MustCompile(`ledge_retention_kept_events{rule="[^"]*"} ([0-9.e+]+)`)

// keptByRule asks for the metric.
func keptByRule(p *ledgetest.Node) int {
	p.TB.Helper()
	text := p.Call("GET", p.CoreData+"/metrics", "", "").Body
	found := keptEvents.FindStringSubmatch(text)
	if found == nil {
		return -1 // not counted yet
	}
	n, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		p.TB.Fatal(err)
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
		c = servertest.ConfigOf(t, "--data-dir", dir)
		d := servertest.MustOpenNode(t, c)
		nodetest.PostInTurns(t, d, all, 1<<10, "gone")
		_ = d.Close()
		p := ledgetest.Start(t, dir, "--readings-retention", rule)
		ledgetest.Until(t, "the first to go", func() bool { return p.CountEvents("gone") < all })
		p.Kill()
		d = servertest.MustOpenNode(t, c)
		defer d.Close()
		return len(nodetest.EventsOf(t, d, "gone")) > 500
	})
	p := ledgetest.Start(t, dir, "--readings-retention", rule)
	ledgetest.Until(t, "the rule to be kept", func() bool { return keptByRule(p) == 500 })
	p.WaitLog("the front of the log is gone")
	if code := p.Stop(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, p.Log)
	}
	ledgetest.Verify(t, dir)
	for _, when := range []string{"before", "after"} {
		d := servertest.MustOpenNode(t, c)
		if n := len(nodetest.EventsOf(t, d, "gone")); n != 500 || d.Readings.Log.First() == 1 {
			t.Errorf("%s a rebuild: %d are left, want 500; the log begins at %d", when, n, d.Readings.Log.First())
		}
		nodetest.MustBeFold(t, d)
		_ = d.Close()
		if out, errs, code := ledgetest.Run(t, "rebuild", "--data-dir", dir); code != exit.OK {
			t.Fatalf("rebuild: %d %s %s", code, out, errs)
		}
	}
}

package main

import (
	"testing"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/node/nodetest"
	"ledge/cmd/ledgetest"
)

// TestRetentionGoesOnAfterAKill kills the program while it removes by a rule: the next one goes on, and verify and rebuild
// find all whole.
func TestRetentionGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	const all = 20_000
	const rule = "p.*.* count=500"
	var dir string
	var c *config.Config
	ledgetest.KilledInTheMiddle(t, func() bool {
		dir = t.TempDir()
		c = ledgetest.ConfigOf(t, "--data-dir", dir)
		d := mustOpenData(t, c)
		nodetest.PostInTurns(t, d, all, 1<<10, "gone")
		_ = d.Close()
		p := ledgetest.Start(t, dir, "--readings-retention", rule)
		ledgetest.Until(t, "the first to go", func() bool { return p.CountEvents("gone") < all })
		p.Kill()
		d = mustOpenData(t, c)
		defer d.Close()
		return len(nodetest.EventsOf(t, d, "gone")) > 500
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
		if n := len(nodetest.EventsOf(t, d, "gone")); n != 495 || d.Readings.Log.First() == 1 {
			t.Errorf("%s a rebuild: %d are left, want 495; the log begins at %d", when, n, d.Readings.Log.First())
		}
		nodetest.MustBeFold(t, d)
		_ = d.Close()
		if out, errs, code := ledgetest.Run(t, "rebuild", "--data-dir", dir); code != exit.OK {
			t.Fatalf("rebuild: %d %s %s", code, out, errs)
		}
	}
}

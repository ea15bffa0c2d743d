package faults

import (
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// TestKill kills the process at any moment, under load and while it starts and stops, and holds after each restart that
// everything acknowledged is there and nothing by half.
func TestKill(t *testing.T) {
	t.Parallel()
	rounds := 40
	if testing.Short() {
		rounds = 10
	}
	random := rand.New(rand.NewPCG(*ledgetest.Seed, 0))
	l, dir := ledgetest.NewWorkload(t, *ledgetest.Seed), t.TempDir()
	for round := range rounds {
		if random.IntN(4) == 0 {
			killWhileStarting(t, dir, 1+random.IntN(25))
		}
		p := ledgetest.Start(t, dir)
		l.Settle(l.Check(p, l.Known()))
		end := p.Kill
		if random.IntN(5) == 0 {
			end = func() { killWhileStopping(p) }
		}
		l.Run(p, 1+random.IntN(100), end, func(ledgetest.Refusal) {})
		if round%10 == 9 {
			ledgetest.Verify(t, dir)
		}
	}
	p := ledgetest.Start(t, dir)
	l.Settle(l.Check(p, l.Known()))
	ledgetest.AwaitNotified(t, p)
	if code := p.Stop(); code != exit.OK {
		t.Errorf("exit code %d at the end", code)
	}
	events := ledgetest.Verify(t, dir)
	all := ledgetest.Facts(t, dir)
	ledgetest.CheckReadings(t, dir, all, l.Acknowledged())
	t.Logf("%d kills, %d acknowledged requests, %d events, %d device changes notified", rounds, l.Acked.Load(), events, ledgetest.CheckNotified(t, all))
}

// killWhileStarting lets a process print some lines, or as many as it does until it is ready, and kills it.
func killWhileStarting(t *testing.T, dir string, lines int) {
	t.Helper()
	p := ledgetest.Launch(t, dir, "--log-level", "debug")
	for {
		printed := p.Log.String()
		if strings.Count(printed, "\n") >= lines || strings.Contains(printed, `"msg":"ready"`) {
			break
		}
		select {
		case <-p.Log.More:
		case <-p.Exited:
			t.Fatalf("ledge serve: %v\n%s", p.Err, p.Log)
		}
	}
	p.Kill()
}

// killWhileStopping asks the process to stop and kills it when it has begun to.
func killWhileStopping(p *ledgetest.Node) {
	_ = p.Cmd.Process.Signal(syscall.SIGTERM)
	ledgetest.Until(p.TB, "the stop to begin", func() bool { _, ok := p.Log.Find(`"msg":"stopping"`); return ok })
	p.Kill()
}

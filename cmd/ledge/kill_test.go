package main

import (
	"flag"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"ledge/cmd/internal/exit"
)

var seed = flag.Uint64("seed", 1, "seed of the durability tests")

// TestKill kills the process at any moment, under load and while it starts and stops, and holds after each restart that
// everything acknowledged is there and nothing by half.
func TestKill(t *testing.T) {
	t.Parallel()
	rounds := 40
	if testing.Short() {
		rounds = 10
	}
	random := rand.New(rand.NewPCG(*seed, 0))
	l, dir := newWorkload(t, *seed), t.TempDir()
	for round := range rounds {
		if random.IntN(4) == 0 {
			killWhileStarting(t, dir, 1+random.IntN(25))
		}
		p := start(t, dir)
		l.settle(l.check(p, l.known()))
		end := p.kill
		if random.IntN(5) == 0 {
			end = func() { killWhileStopping(p) }
		}
		l.run(p, 1+random.IntN(100), end, func(refusal) {})
		if round%10 == 9 {
			verify(t, dir)
		}
	}
	p := start(t, dir)
	l.settle(l.check(p, l.known()))
	awaitNotified(t, p)
	if code := p.stop(); code != exit.OK {
		t.Errorf("exit code %d at the end", code)
	}
	events := verify(t, dir)
	all := facts(t, dir)
	checkReadings(t, dir, all, l.acknowledged())
	t.Logf("%d kills, %d acknowledged requests, %d events, %d device changes notified", rounds, l.acked.Load(), events, checkNotified(t, all))
}

// killWhileStarting lets a process print some lines, or as many as it does until it is ready, and kills it.
func killWhileStarting(t *testing.T, dir string, lines int) {
	t.Helper()
	p := launch(t, dir, "--log-level", "debug")
	for {
		printed := p.log.String()
		if strings.Count(printed, "\n") >= lines || strings.Contains(printed, `"msg":"ready"`) {
			break
		}
		select {
		case <-p.log.more:
		case <-p.exited:
			t.Fatalf("ledge serve: %v\n%s", p.err, p.log)
		}
	}
	p.kill()
}

// killWhileStopping asks the process to stop and kills it when it has begun to.
func killWhileStopping(p *process) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	until(p.tb, "the stop to begin", func() bool { _, ok := p.log.find(`"msg":"stopping"`); return ok })
	p.kill()
}

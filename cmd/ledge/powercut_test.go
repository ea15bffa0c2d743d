package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// afterCut is what a power cut may leave beside the log.
var afterCut = []struct {
	name string
	// make completes the copy of a log in dir. clean is the folder at the last clean stop, running a copy of the state
	// while it was written to.
	make func(tb testing.TB, dir, clean, running string)
}{
	{"the log alone", func(testing.TB, string, string, string) {}},
	{"an old index of the log", func(tb testing.TB, dir, clean, _ string) { copyTree(tb, clean, dir, isIndex) }},
	{"the state of the last clean stop", func(tb testing.TB, dir, clean, _ string) { copyTree(tb, clean, dir, isState) }},
	{"a state of another boot", func(tb testing.TB, dir, _, running string) {
		copyTree(tb, running, dir, isState)
		reboot(tb, dir)
	}},
	{"a state of another boot, cut off", func(tb testing.TB, dir, _, running string) {
		copyTree(tb, running, dir, isState)
		reboot(tb, dir)
		for _, file := range stateFiles {
			alter(tb, dir+"/"+file, func(b []byte) []byte { return b[:len(b)/2] })
		}
	}},
	{"garbage behind the last block", func(tb testing.TB, dir, _, _ string) {
		for _, stream := range streamsByAge {
			alter(tb, block(dir, stream, "1"), func(b []byte) []byte { return append(b, bytes.Repeat([]byte{0xff}, 99)...) })
		}
	}},
	{"zeros behind the last block", func(tb testing.TB, dir, _, _ string) {
		for _, stream := range streamsByAge {
			alter(tb, block(dir, stream, "1"), func(b []byte) []byte { return append(b, make([]byte, 4096)...) })
		}
	}},
}

// TestPowerCut copies the log at acknowledged moments, while clients go on, and starts from that copy alone, with what
// else a power cut may leave: what was acknowledged before the copy began is there.
func TestPowerCut(t *testing.T) {
	cuts := 3
	if testing.Short() {
		cuts = 1
	}
	random := rand.New(rand.NewPCG(*seed, 1))
	l, dir := newWorkload(t, *seed), t.TempDir()
	for cut := range cuts {
		p := start(t, dir, l.flags()...)
		l.settle(l.check(p, l.known()))
		l.run(p, 1+random.IntN(50), func() { p.stop() }, func(refusal) {})
		clean := clone(t, dir)
		p = start(t, dir, l.flags()...)
		l.settle(l.check(p, l.known()))
		log, running := t.TempDir(), t.TempDir()
		var then known
		var readings map[string]bool
		l.run(p, 20+random.IntN(100), func() {
			copyTree(t, dir, running, isState)
			then, readings = l.known(), l.acknowledged()
			copyLog(t, dir, log)
			p.kill()
		}, nil)
		for _, tt := range afterCut {
			t.Run(fmt.Sprintf("%d: %s", cut, tt.name), func(t *testing.T) {
				after := clone(t, log)
				tt.make(t, after, clean, running)
				checkAfterCut(t, l, after, then, readings)
			})
		}
	}
}

// checkAfterCut starts on what a power cut left: all that was known is there, the log is whole and goes on with the
// next sequence, and no notification is missing or there twice.
func checkAfterCut(t *testing.T, l *workload, dir string, then known, readings map[string]bool) {
	t.Helper()
	p := start(t, dir, l.flags()...)
	on := &workload{tb: t, clients: l.clients}
	on.check(p, then)
	last := verify(t, dir)
	p.addDevice("next")
	if got := verify(t, dir); got != last+1 {
		t.Errorf("the log ended at %d and goes on with %d", last, got)
	}
	awaitNotified(t, p)
	if code := p.stop(); code != exitOK {
		t.Errorf("exit code %d\n%s", code, p.log)
	}
	verify(t, dir)
	all := facts(t, dir)
	checkNotified(t, all)
	checkReadings(t, dir, all, readings)
}

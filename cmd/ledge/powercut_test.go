package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
)

// beside are folders from which a power cut may have left something beside the log: that of the last clean stop, a copy
// of the state while it was written to, and the folder as it was later.
type beside struct{ clean, running, later string }

// afterCut is what a power cut may leave; leave completes the copy of a log in dir.
var afterCut = []struct {
	name  string
	leave func(tb testing.TB, dir string, b beside)
}{
	{"the log alone", func(testing.TB, string, beside) {}},
	{"an old index of the log", func(tb testing.TB, dir string, b beside) { copyTree(tb, b.clean, dir, isIndex) }},
	{"an index that names what was not synced", func(tb testing.TB, dir string, b beside) { copyTree(tb, b.later, dir, isIndex) }},
	{"the state of the last clean stop", func(tb testing.TB, dir string, b beside) { copyTree(tb, b.clean, dir, isState) }},
	{"the state as it was on the disk", func(tb testing.TB, dir string, b beside) {
		copyTree(tb, b.running, dir, isState)
	}},
	{"a state with other rows", func(tb testing.TB, dir string, b beside) {
		copyTree(tb, b.running, dir, isState)
		alter(tb, filepath.Join(dir, "state.db"), func(b []byte) []byte {
			return bytes.ReplaceAll(b, []byte("UNLOCKED"), []byte("OUTDATED"))
		})
	}},
	{"a state that is cut off", func(tb testing.TB, dir string, b beside) {
		copyTree(tb, b.running, dir, isState)
		for _, file := range datadir.StateFiles {
			alter(tb, filepath.Join(dir, file), func(b []byte) []byte { return b[:len(b)/2] })
		}
	}},
	{"garbage behind the last block", func(tb testing.TB, dir string, _ beside) {
		for _, stream := range streamsByAge {
			alter(tb, block(dir, stream, "1"), func(b []byte) []byte { return append(b, bytes.Repeat([]byte{0xff}, 99)...) })
		}
	}},
	{"zeros behind the last block", func(tb testing.TB, dir string, _ beside) {
		for _, stream := range streamsByAge {
			alter(tb, block(dir, stream, "1"), func(b []byte) []byte { return append(b, make([]byte, 4096)...) })
		}
	}},
}

// TestPowerCut copies the log at acknowledged moments, while clients go on, and starts from that copy alone, with what
// else a power cut may leave: what was acknowledged before the copy began is there.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	cuts := 2
	if testing.Short() {
		cuts = 1
	}
	random := rand.New(rand.NewPCG(*seed, 1))
	l, dir := newWorkload(t, *seed), t.TempDir()
	for cut := range cuts {
		p := start(t, dir)
		l.settle(l.check(p, l.known()))
		l.run(p, 1+random.IntN(50), func() { p.stop() }, func(refusal) {})
		clean := clone(t, dir)
		p = start(t, dir)
		l.settle(l.check(p, l.known()))
		log, running := t.TempDir(), t.TempDir()
		var then known
		var readings map[string]bool
		l.run(p, 20+random.IntN(100), func() {
			p.call(http.MethodGet, p.metadata+"/api/v2/device/all", "", "") // brings what is folded into the file
			copyTree(t, dir, running, isState)
			then, readings = l.known(), l.acknowledged()
			copyLog(t, dir, log)
			l.awaitMore(10)
			p.stop()
		}, func(refusal) {})
		later := clone(t, dir)
		for _, tt := range afterCut {
			t.Run(fmt.Sprintf("%d: %s", cut, tt.name), func(t *testing.T) {
				after := clone(t, log)
				tt.leave(t, after, beside{clean, running, later})
				checkAfterCut(t, l, after, then, readings)
			})
		}
	}
}

// checkAfterCut starts on what a power cut left: all that was known is there, the log is whole and goes on with the
// next sequence, and no notification is missing or there twice.
func checkAfterCut(t *testing.T, l *workload, dir string, then known, readings map[string]bool) {
	t.Helper()
	p := startTwice(t, dir)
	on := &workload{tb: t, clients: l.clients}
	on.check(p, then)
	last := verify(t, dir)
	p.addDevice("next")
	if got := verify(t, dir); got != last+1 {
		t.Errorf("the log ended at %d and goes on with %d", last, got)
	}
	awaitNotified(t, p)
	if code := p.stop(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, p.log)
	}
	verify(t, dir)
	all := facts(t, dir)
	checkNotified(t, all)
	checkReadings(t, dir, all, readings)
}

// startTwice is start, as a service manager does it: a process that finds its state damaged ends, and the next one folds it from the log.
func startTwice(t *testing.T, dir string) *process {
	t.Helper()
	p := launch(t, dir)
	if p.waitReady() == nil {
		a, err := tryCall(http.MethodGet, p.metadata+"/api/v2/device/all?limit=-1", "", "") // reads each row
		if err == nil && a.status == http.StatusOK {
			return p
		}
	}
	if code := p.wait(); code != exit.State {
		t.Fatalf("exit code %d, want %d\n%s", code, exit.State, p.log)
	}
	return start(t, dir)
}

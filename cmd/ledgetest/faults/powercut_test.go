package faults

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
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
	{"an old index of the log", func(tb testing.TB, dir string, b beside) { ledgetest.CopyTree(tb, b.clean, dir, ledgetest.IsIndex) }},
	{"an index that names what was not synced", func(tb testing.TB, dir string, b beside) { ledgetest.CopyTree(tb, b.later, dir, ledgetest.IsIndex) }},
	{"the state of the last clean stop", func(tb testing.TB, dir string, b beside) { ledgetest.CopyTree(tb, b.clean, dir, ledgetest.IsState) }},
	{"the state as it was on the disk", func(tb testing.TB, dir string, b beside) {
		ledgetest.CopyTree(tb, b.running, dir, ledgetest.IsState)
	}},
	{"a state with other rows", func(tb testing.TB, dir string, b beside) {
		ledgetest.CopyTree(tb, b.running, dir, ledgetest.IsState)
		ledgetest.Alter(tb, filepath.Join(dir, "state.db"), func(b []byte) []byte {
			return bytes.ReplaceAll(b, []byte("UNLOCKED"), []byte("OUTDATED"))
		})
	}},
	{"a state that is cut off", func(tb testing.TB, dir string, b beside) {
		ledgetest.CopyTree(tb, b.running, dir, ledgetest.IsState)
		for _, file := range datadir.StateFiles {
			ledgetest.Alter(tb, filepath.Join(dir, file), func(b []byte) []byte { return b[:len(b)/2] })
		}
	}},
	{"garbage behind the last block", func(tb testing.TB, dir string, _ beside) {
		for _, stream := range ledgetest.StreamsByAge {
			ledgetest.Alter(tb, ledgetest.Block(dir, stream, "1"), func(b []byte) []byte { return append(b, bytes.Repeat([]byte{0xff}, 99)...) })
		}
	}},
	{"zeros behind the last block", func(tb testing.TB, dir string, _ beside) {
		for _, stream := range ledgetest.StreamsByAge {
			ledgetest.Alter(tb, ledgetest.Block(dir, stream, "1"), func(b []byte) []byte { return append(b, make([]byte, 4096)...) })
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
	random := rand.New(rand.NewPCG(*ledgetest.Seed, 1))
	l, dir := ledgetest.NewWorkload(t, *ledgetest.Seed), t.TempDir()
	for cut := range cuts {
		p := ledgetest.Start(t, dir)
		l.Settle(l.Check(p, l.Known()))
		l.Run(p, 1+random.IntN(50), func() { p.Stop() }, func(ledgetest.Refusal) {})
		clean := ledgetest.Clone(t, dir)
		p = ledgetest.Start(t, dir)
		l.Settle(l.Check(p, l.Known()))
		log, running := t.TempDir(), t.TempDir()
		var then ledgetest.Known
		var readings map[string]bool
		l.Run(p, 20+random.IntN(100), func() {
			p.Call(http.MethodGet, p.Metadata+"/api/v2/device/all", "", "") // brings what is folded into the file
			ledgetest.CopyTree(t, dir, running, ledgetest.IsState)
			then, readings = l.Known(), l.Acknowledged()
			ledgetest.CopyLog(t, dir, log)
			l.AwaitMore(10)
			p.Stop()
		}, func(ledgetest.Refusal) {})
		later := ledgetest.Clone(t, dir)
		for _, tt := range afterCut {
			t.Run(fmt.Sprintf("%d: %s", cut, tt.name), func(t *testing.T) {
				after := ledgetest.Clone(t, log)
				tt.leave(t, after, beside{clean, running, later})
				checkAfterCut(t, l, after, then, readings)
			})
		}
	}
}

// checkAfterCut starts on what a power cut left: all that was known is there, the log is whole and goes on with the
// next sequence, and no notification is missing or there twice.
func checkAfterCut(t *testing.T, l *ledgetest.Workload, dir string, then ledgetest.Known, readings map[string]bool) {
	t.Helper()
	p := startTwice(t, dir)
	on := &ledgetest.Workload{TB: t, Clients: l.Clients}
	on.Check(p, then)
	last := ledgetest.Verify(t, dir)
	p.AddDevice("next")
	if got := ledgetest.Verify(t, dir); got != last+1 {
		t.Errorf("the log ended at %d and goes on with %d", last, got)
	}
	ledgetest.AwaitNotified(t, p)
	if code := p.Stop(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, p.Log)
	}
	ledgetest.Verify(t, dir)
	all := ledgetest.Facts(t, dir)
	ledgetest.CheckNotified(t, all)
	ledgetest.CheckReadings(t, dir, all, readings)
}

// startTwice is start, as a service manager does it: a process that finds its state damaged ends, and the next one folds it from the log.
func startTwice(t *testing.T, dir string) *ledgetest.Node {
	t.Helper()
	p := ledgetest.Launch(t, dir)
	if p.WaitReady() == nil {
		a, err := ledgetest.TryCall(http.MethodGet, p.Metadata+"/api/v2/device/all?limit=-1", "", "") // reads each row
		if err == nil && a.Status == http.StatusOK {
			return p
		}
	}
	if code := p.Wait(); code != exit.State {
		t.Fatalf("exit code %d, want %d\n%s", code, exit.State, p.Log)
	}
	return ledgetest.Start(t, dir)
}

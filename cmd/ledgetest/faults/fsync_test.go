package faults

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"ledge/cmd/ledgetest"
)

// TestPowerCutLeavesWhatWasSynced traces the system calls of the process from an empty folder on, and starts from
// nothing but the bytes and the names that had been synced at some acknowledged moments.
func TestPowerCutLeavesWhatWasSynced(t *testing.T) {
	t.Parallel()
	trace, runner := ledgetest.MustTrace(t)
	cuts := 4
	if testing.Short() {
		cuts = 1
	}
	random := rand.New(rand.NewPCG(*ledgetest.Seed, 2))
	l, dir := ledgetest.NewWorkload(t, *ledgetest.Seed), t.TempDir()
	p := ledgetest.LaunchUnder(t, runner, dir)
	if err := p.WaitReady(); err != nil {
		t.Fatalf("ledge serve: %v\n%s", err, p.Log)
	}
	type moment struct {
		known    ledgetest.Known
		readings map[string]bool
		at       time.Time
	}
	var moments []moment
	l.Run(p, 1+random.IntN(50), func() {
		for range cuts - 1 {
			moments = append(moments, moment{l.Known(), l.Acknowledged(), time.Now()})
			l.AwaitMore(1 + random.IntN(100))
		}
		moments = append(moments, moment{l.Known(), l.Acknowledged(), time.Now()})
		ledgetest.KillTraced(t, p)
	}, nil)
	calls := readTrace(t, trace)
	for i, m := range moments {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			d := &disk{root: dir, files: map[string]*file{}, names: map[string]*file{}}
			after := t.TempDir()
			files := d.cut(t, calls, m.at, after)
			t.Logf("%d files, %d readings", files, len(m.readings))
			checkAfterCut(t, l, after, m.known, m.readings)
		})
	}
}

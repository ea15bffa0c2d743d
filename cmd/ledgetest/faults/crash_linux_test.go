//go:build amd64 || arm64

package faults

import (
	"strings"
	"sync"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/faults"
	"ledge/cmd/ledgetest"
)

// moment is what had been acknowledged before an operation.
type moment struct {
	op       int
	known    ledgetest.Known
	readings map[string]bool
}

// recording is a run of the program from an empty folder to its clean stop.
type recording struct {
	*ledgetest.Workload
	*faults.Recording
	ready, loaded int // the numbers of the first operations after the start, and after the load
	moments       []moment
}

// record runs the program on a recorded folder until so many requests were acknowledged.
func record(t *testing.T, requests int) *recording {
	t.Helper()
	f := faults.Mount(t, "")
	r := &recording{Workload: ledgetest.NewWorkload(t, *ledgetest.Seed), moments: []moment{{known: ledgetest.Known{}}}}
	p := ledgetest.Start(t, dataOf(f.Dir))
	r.ready = f.Count()
	var mu sync.Mutex
	r.OnAck = func() {
		mu.Lock()
		defer mu.Unlock()
		m := moment{known: r.Known(), readings: r.Acknowledged()}
		m.op = f.Count() // read last: all of m was acknowledged before this operation
		r.moments = append(r.moments, m)
	}
	r.Run(p, requests, func() {
		r.loaded = f.Count()
		if code := p.Stop(); code != exit.OK {
			t.Errorf("exit code %d\n%s", code, p.Log)
		}
	}, func(ledgetest.Refusal) {})
	r.OnAck()
	r.Recording = f.Recording()
	f.Close()
	return r
}

// before returns what had been acknowledged before operation n.
func (r *recording) before(n int) moment {
	last := r.moments[0]
	for _, m := range r.moments {
		if m.op > n {
			break
		}
		last = m
	}
	return last
}

// after makes a folder with image and judges it.
func (r *recording) after(t *testing.T, n int, image func(n int, dir string) error, flags ...string) outcome {
	return scratch(t, func(dir string) outcome {
		if err := image(n, dir); err != nil {
			return outcomef(broken, "%v", err)
		}
		m := r.before(n)
		o := judge(r.Workload, t, dataOf(dir), m.known, m.readings, flags...)
		o.why = strings.ReplaceAll(o.why, dir, "")
		if n < len(r.Ops) {
			o.why += ", before " + r.Ops[n].String()
		}
		return o
	})
}

// changedSettings are of streams that are there already, so that the start writes their configuration anew.
var changedSettings = []string{"--readings-max-age", "240h", "--notifications-max-bytes", "512MiB"}

// TestCrashes ends the program at every file operation, by a kill and by a power cut, and starts on what is left: all
// that was acknowledged is there, and nothing by half.
func TestCrashes(t *testing.T) {
	t.Parallel()
	requests, few := 40, 3
	if faultsAll() {
		requests = 150
	}
	r := record(t, requests)
	t.Logf("%d operations: %d until ready, %d until the stop", len(r.Ops), r.ready, r.loaded)
	for _, phase := range []struct {
		name     string
		from, to int
	}{{"first start", 0, r.ready}, {"load", r.ready, r.loaded}, {"stop", r.loaded, len(r.Ops)}} {
		n := phase.to - phase.from + 1
		r.row(t, &faultRow{name: "kill in the " + phase.name, prefer: r.renamed(phase.from, n)}, n, few, func(t *testing.T, i int) outcome {
			return r.after(t, phase.from+i, r.Killed)
		})
		cuts := n * faults.Modes
		r.row(t, &faultRow{name: "power cut in the " + phase.name}, cuts, 2*few, func(t *testing.T, i int) outcome {
			mode := faults.Mode(i / n)
			return r.after(t, phase.from+i%n, func(at int, dir string) error { return r.Cut(at, mode, *ledgetest.Seed, dir) })
		})
	}
	r.row(t, &faultRow{name: "power cut, and another in the recovery"}, len(r.Ops)*faults.Modes, few, r.cutTwice)
	r.row(t, &faultRow{name: "kill by a signal"}, len(r.Ops), 2, r.killed)
	r.starts(t, "with changed settings", len(r.Ops), few, changedSettings...)
	r.starts(t, "after a kill", r.loaded, few)
}

// renamed reports whether the operation before a position is a rename: a file is new, and what belongs to it is not yet.
func (r *recording) renamed(from, n int) func(position int) bool {
	return func(i int) bool {
		at := from + i%n
		return at > 0 && r.Ops[at-1].Kind == faults.Rename
	}
}

// row runs one row beside the others.
func (r *recording) row(t *testing.T, row *faultRow, n, few int, one func(*testing.T, int) outcome) {
	row.crash = true
	t.Run(row.name, func(t *testing.T) {
		t.Parallel()
		row.try(t, n, few, one)
	})
}

// cutTwice cuts the power, starts, and cuts it again at some operation of that start.
func (r *recording) cutTwice(t *testing.T, i int) outcome {
	n, mode := i/faults.Modes, faults.Mode(i%faults.Modes)
	return scratch(t, func(dir string) outcome {
		if err := r.Cut(n, mode, *ledgetest.Seed, dir); err != nil {
			return outcomef(broken, "%v", err)
		}
		second := faults.Mount(t, dir)
		defer second.Close()
		p, named, o := serveOn(t, dataOf(second.Dir))
		if o.verdict != recovered || named != "" {
			return outcomef(max(o.verdict, found), "%s%s, before %v", named, o.why, r.Ops[n])
		}
		p.Kill()
		again := &recording{Workload: r.Workload, Recording: second.Recording(), moments: []moment{r.before(n)}}
		again.moments[0].op = 0
		return again.after(t, i*7919%(len(again.Ops)+1), func(n int, dir string) error { return again.Cut(n, mode, *ledgetest.Seed+1, dir) })
	})
}

// starts ends a start on the folder as it was at operation n, by a kill and by a power cut, and starts again.
func (r *recording) starts(t *testing.T, name string, n, few int, flags ...string) {
	dir := t.TempDir()
	if err := r.Killed(n, dir); err != nil {
		t.Fatal(err)
	}
	f := faults.Mount(t, dir)
	p := ledgetest.Start(t, dataOf(f.Dir), flags...)
	p.Kill()
	m := r.before(n)
	m.op = 0
	again := &recording{Workload: r.Workload, Recording: f.Recording(), moments: []moment{m}}
	f.Close()
	ends := len(again.Ops) + 1
	r.row(t, &faultRow{name: "kill in a start " + name, prefer: again.renamed(0, ends)}, ends, few, func(t *testing.T, i int) outcome {
		return again.after(t, i, again.Killed, flags...)
	})
	r.row(t, &faultRow{name: "power cut in a start " + name}, ends*faults.Modes, few, func(t *testing.T, i int) outcome {
		mode := faults.Mode(i / ends)
		return again.after(t, i%ends, func(at int, dir string) error { return again.Cut(at, mode, *ledgetest.Seed, dir) }, flags...)
	})
}

// killed kills the program by a signal when it comes to an operation. What the folder then holds is what the other rows
// take from a recording.
func (r *recording) killed(t *testing.T, n int) outcome {
	k := failingRun(t, func(f *faults.FS, kill func()) { f.Set(faults.Rule{From: n + 1, To: n + 1, Do: kill}) })
	return scratch(t, func(dir string) outcome {
		if err := k.Killed(len(k.Ops), dir); err != nil {
			return outcomef(broken, "%v", err)
		}
		o := judge(k.Workload, t, dataOf(dir), k.Known(), k.Acknowledged())
		o.why = strings.ReplaceAll(o.why, dir, "")
		return o
	})
}

//go:build amd64 || arm64

package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/faults"
	"ledge/cmd/ledgetest"
)

// closing is a recording of a start that closes a stretch of the log of changes while clients work.
type closing struct {
	*recording
	flags    []string
	from, to int // the operations of the closing
	archives int // how many there are in the end
	block    int // the first block that is on the log in the end
}

// TestArchiveCrashes ends the program while it closes a stretch of the log, by a kill and by a power cut, and fails the
// device of its archives. All that was acknowledged is there each time, every event is on the log or in an archive, and the
// next start brings the closing to its end.
func TestArchiveCrashes(t *testing.T) {
	t.Parallel()
	l, dir := ledgetest.NewWorkload(t, *ledgetest.Seed), t.TempDir()
	p := ledgetest.Start(t, dataOf(dir))
	p.AddDevice("large") // beside whose changes the others add nearly nothing to the log
	for i := range 30 {
		ledgetest.DescribeDevice(p, "large", fmt.Sprint(i, strings.Repeat(" large", 5000)))
	}
	l.Insist(p, 8)
	ledgetest.AwaitNotified(t, p)
	if code := p.Stop(); code != exit.OK {
		t.Fatalf("exit code %d\n%s", code, p.Log)
	}
	ledgetest.SplitLog(t, dataOf(dir))
	for i, name := range []string{"first", "second", "third"} { // the third removes the oldest of the snapshots
		c := closeArchive(l, t, dir, i)
		if name != "second" || faultsAll() {
			c.rows(t, name)
		}
		dir = t.TempDir()
		if err := c.Killed(len(c.Ops), dir); err != nil {
			t.Fatal(err)
		}
	}
}

// closeArchive records a start on a copy of a folder that closes one more stretch.
func closeArchive(l *ledgetest.Workload, t *testing.T, dir string, before int) *closing {
	t.Helper()
	f := faults.Mount(t, dir)
	defer f.Close()
	c := &closing{recording: &recording{Workload: l, moments: []moment{{known: l.Known(), readings: l.Acknowledged()}}}, archives: before + 1}
	c.flags = []string{"--events-max-bytes", ledgetest.LimitBelow(t, dataOf(dir))}
	p := ledgetest.Launch(t, dataOf(f.Dir), c.flags...)
	if err := p.WaitReady(); err != nil {
		t.Fatalf("%v\n%s", err, p.Log)
	}
	var mu sync.Mutex
	l.OnAck = func() {
		mu.Lock()
		defer mu.Unlock()
		m := moment{known: l.Known(), readings: l.Acknowledged()}
		m.op = f.Count() // read last: all of m was acknowledged before this operation
		c.moments = append(c.moments, m)
	}
	l.Insist(p, 2) // all of it is answered, so that the next recording knows where it begins
	p.WaitLog(`"msg":"a stretch of the log of changes is archived"`)
	ledgetest.Until(t, "the snapshots to be dropped", func() bool { return len(ledgetest.SnapshotsIn(dataOf(f.Dir))) <= 2 })
	c.to = f.Count()
	p.Kill()
	l.OnAck = nil
	c.Recording = f.Recording()
	c.from = slices.IndexFunc(c.Ops, isOfClosing)
	c.block = ledgetest.FirstBlock(dataOf(f.Dir))
	if why := c.closed(dataOf(f.Dir)); why != "" || c.from < 0 || c.block == 1 {
		t.Fatalf("closing from %d on, up to block %d: %s\n%s", c.from, c.block, why, p.Log)
	}
	t.Logf("the closing: operations %d to %d of %d", c.from, c.to, len(c.Ops))
	return c
}

// isOfClosing reports whether an operation is about a file that only the closing of a stretch writes.
func isOfClosing(op faults.Op) bool {
	return strings.Contains(op.Path, "archive") || strings.Contains(op.Path, "snapshots")
}

func isOfArchive(op faults.Op) bool { return strings.Contains(op.Path, "data/archive") }

// closed returns why the closing of the stretch is not at its end; "" where it is, and has left nothing behind.
func (c *closing) closed(dir string) string {
	archives, _ := filepath.Glob(filepath.Join(dir, "archive", "*"))
	left, _ := filepath.Glob(filepath.Join(dir, "archive-fold-*"))
	for _, path := range slices.Concat(archives, ledgetest.SnapshotsIn(dir)) {
		if strings.HasSuffix(path, ".new") {
			left = append(left, path)
		}
	}
	switch first, snapshots := ledgetest.FirstBlock(dir), ledgetest.SnapshotsIn(dir); {
	case len(left) > 0:
		return fmt.Sprintf("left: %q", left)
	case len(archives) != c.archives:
		return fmt.Sprintf("archives %q, want %d", archives, c.archives)
	case len(snapshots) != min(c.archives, 2):
		return fmt.Sprintf("snapshots %q, want %d", snapshots, min(c.archives, 2))
	case c.block > 0 && first != c.block:
		return fmt.Sprintf("the log begins with block %d, want %d", first, c.block)
	}
	return ""
}

// rows are those of one closing.
func (c *closing) rows(t *testing.T, name string) {
	n, few := c.to-c.from+1, 2
	name = " while the " + name + " stretch is closed"
	c.row(t, &faultRow{name: "kill" + name, prefer: c.renamed(c.from, n)}, n, few, func(t *testing.T, i int) outcome {
		return c.after(t, c.from+i, c.Killed)
	})
	c.row(t, &faultRow{name: "power cut" + name}, n*faults.Modes, few, func(t *testing.T, i int) outcome {
		return c.after(t, c.from+i/faults.Modes, c.cut(i))
	})
	c.row(t, &faultRow{name: "power cut, and another in the recovery," + name}, n*faults.Modes, 1, c.cutTwice)
	for _, d := range archiveFaults {
		ops := 0
		for _, op := range c.Ops {
			if d.matches(op) {
				ops++
			}
		}
		c.row(t, &faultRow{name: d.name + name}, ops, 1, func(t *testing.T, i int) outcome { return c.fails(t, d, i+1) })
	}
}

// archiveFaults fail what is written into the folder of archives.
var archiveFaults = []archiveFault{
	{"archive on a full disk", []faults.Kind{faults.Write, faults.Create, faults.Mkdir}, syscall.ENOSPC},
	{"archive on a failing disk", []faults.Kind{faults.Write, faults.Create, faults.Mkdir, faults.Fsync, faults.FsyncDir, faults.Rename}, syscall.EIO},
}

type archiveFault struct {
	name  string
	kinds []faults.Kind
	err   syscall.Errno
}

func (d archiveFault) matches(op faults.Op) bool {
	return isOfArchive(op) && slices.Contains(d.kinds, op.Kind)
}

func (c *closing) cut(i int) func(n int, dir string) error {
	return func(n int, dir string) error { return c.Cut(n, faults.Mode(i%faults.Modes), *ledgetest.Seed, dir) }
}

// after makes a folder with image and judges it.
func (c *closing) after(t *testing.T, n int, image func(n int, dir string) error) outcome {
	return scratch(t, func(dir string) outcome {
		if err := image(n, dir); err != nil {
			return outcomef(broken, "%v", err)
		}
		o := c.judge(t, dataOf(dir), c.before(n))
		o.why = strings.ReplaceAll(o.why, dir, "")
		if n < len(c.Ops) {
			o.why += ", before " + c.Ops[n].String()
		}
		return o
	})
}

// judge starts on what a crash has left as all rows do, and then lets a second start bring the closing to its end.
func (c *closing) judge(t *testing.T, dir string, m moment) outcome {
	o := judge(c.Workload, t, dir, m.known, m.readings)
	if o.verdict != recovered {
		return o
	}
	p, named, o := serveOn(t, dir, c.flags...)
	if o.verdict != recovered || named != "" {
		return outcomef(max(o.verdict, found), "in the second start: %s%s", o.why, named)
	}
	defer p.Kill()
	why := "it has not begun"
	for deadline := time.Now().Add(ledgetest.Timeout); why != ""; why = c.closed(dir) {
		if time.Now().After(deadline) {
			warned, _ := p.Log.Find("not archived; tried again later")
			return outcomef(broken, "the closing does not come to its end: %s; %s", why, warned)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := c.Find(p, m.known); err != nil {
		return outcomef(lost, "after the closing: %v", err)
	}
	if code := p.Stop(); code != exit.OK {
		return outcomef(broken, "ledge serve: exit code %d at the stop: %s", code, lastLine(p.Log.String()))
	}
	damage, touched, err := verifyCopy(dir)
	if err == nil {
		err = ledgetest.WholeHistory(dir)
	}
	switch {
	case err != nil:
		return outcomef(lost, "after the closing: %v", err)
	case damage != "":
		return outcomef(broken, "after the closing: %s", damage)
	}
	return outcome{touched: touched}
}

// cutTwice cuts the power, starts, brings the closing to its end, and cuts the power again at an operation of that start.
func (c *closing) cutTwice(t *testing.T, i int) outcome {
	n := c.from + i/faults.Modes
	return scratch(t, func(dir string) outcome {
		if err := c.cut(i)(n, dir); err != nil {
			return outcomef(broken, "%v", err)
		}
		second := faults.Mount(t, dir)
		defer second.Close()
		p, named, o := serveOn(t, dataOf(second.Dir), c.flags...)
		if o.verdict != recovered || named != "" {
			return outcomef(max(o.verdict, found), "%s%s, before %v", named, o.why, c.Ops[n])
		}
		ledgetest.Until(t, "the closing to end", func() bool { return c.closed(dataOf(second.Dir)) == "" })
		p.Kill()
		again := *c
		again.recording = &recording{Workload: c.Workload, Recording: second.Recording(), moments: []moment{c.before(n)}}
		again.moments[0].op = 0
		return again.after(t, i*7919%(len(again.Ops)+1), func(n int, dir string) error {
			return again.Cut(n, faults.Mode(i%faults.Modes), *ledgetest.Seed+1, dir)
		})
	})
}

// fails runs the program with a fault from an operation in the folder of archives on. It warns and goes on; when the power
// is cut then, all is there, and the next start closes the stretch.
func (c *closing) fails(t *testing.T, d archiveFault, position int) outcome {
	return scratch(t, func(dir string) outcome {
		if err := c.Killed(0, dir); err != nil {
			return outcomef(broken, "%v", err)
		}
		f := faults.Mount(t, dir)
		defer f.Close()
		f.Set(faults.Rule{Match: d.matches, From: position, Err: d.err})
		p, named, o := serveOn(t, dataOf(f.Dir), c.flags...)
		if o.verdict != recovered || named != "" {
			return outcomef(max(o.verdict, found), "with %v: %s%s", d.err, named, o.why)
		}
		ledgetest.Until(t, "a word about the archive", func() bool {
			_, warned := p.Log.Find("not archived; tried again later")
			_, closed := p.Log.Find(`"msg":"a stretch of the log of changes is archived"`)
			return warned || closed
		})
		m := c.moments[0]
		if _, err := c.Find(p, m.known); err != nil {
			return outcomef(lost, "with %v: %v", d.err, err)
		}
		p.AddDevice("beside") // the log takes changes all the same
		p.Kill()
		failed := f.Recording()
		left := filepath.Join(dir, "left")
		if err := failed.Cut(len(failed.Ops), faults.Mode(position%faults.Modes), *ledgetest.Seed, left); err != nil {
			return outcomef(broken, "%v", err)
		}
		defer os.RemoveAll(left)
		o = c.judge(t, dataOf(left), m)
		o.why = fmt.Sprintf("%s, with %v from operation %d in the archives on", strings.ReplaceAll(o.why, left, ""), d.err, position)
		return o
	})
}

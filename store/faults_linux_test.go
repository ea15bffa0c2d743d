package store_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ledge/domain"
	"ledge/store"
	"ledge/store/disktest"
	"ledge/store/storetest"

	"golang.org/x/sys/unix"
)

// ranAlone runs the calling test in a process of its own, where a limit touches nothing else, such as what `go test`
// itself writes; it is false in that process.
func ranAlone(t *testing.T) bool {
	t.Helper()
	const alone = "TEST_LEDGE_ALONE"
	if os.Getenv(alone) == t.Name() {
		return false
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
	cmd.Env = append(os.Environ(), alone+"="+t.Name())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return true
}

// limitFiles lets no file grow beyond size bytes until the test calls the function that it returns.
func limitFiles(t *testing.T, size int64) (lift func()) {
	t.Helper()
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	limit := old
	limit.Cur = uint64(size)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	lift = func() { _ = unix.Setrlimit(unix.RLIMIT_FSIZE, &old) }
	t.Cleanup(lift)
	return lift
}

func TestWriteErrorRestartsInPlace(t *testing.T) {
	if ranAlone(t) {
		return
	}
	o := options(t.TempDir())
	logged := &lines{}
	o.Logger, o.AckTimeout = newLogger(logged), time.Second
	s := mustOpen(t, o)
	p := storetest.NewProjection()
	a := storetest.MustAppender(t, s.Events(), p)
	readings := storetest.MustAppender(t, s.Readings(), storetest.NewProjection())
	storetest.MustSubmit(t, readings, storetest.Post("cam-1", []byte("one")))
	storetest.MustAdd(t, a, "before", 10)

	st, err := os.Stat(block(o.Dir, 1))
	if err != nil {
		t.Fatal(err)
	}
	lift := limitFiles(t, st.Size()+50*1100)
	var group []domain.Request
	for i := range 100 {
		group = append(group, storetest.AddLarge(fmt.Sprint("full-", i), 500))
	}
	got, err := a.Submit(t.Context(), group...)
	lift()
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for i, o := range got {
		switch {
		case o.Err == nil && o.Seq == uint64(11+i) && kept == i:
			kept++
		case domain.CodeOf(o.Err) != domain.Unavailable || o.Seq != 0 || domain.InDoubt(o.Err): // the log was read again
			t.Errorf("outcome %d: %+v", i, o)
		}
	}
	if kept == 0 || kept == 100 {
		t.Errorf("%d of 100 kept: the fault did not work", kept)
	}
	if logged.count("the log's server was started again") == 0 {
		t.Errorf("no restart:\n%s", logged.text.String())
	}
	if err := s.Health(t.Context()); err != nil {
		t.Errorf("health: %v", err)
	}
	if o := storetest.MustAdd(t, a, "after", 5); o[0].Seq != uint64(11+kept) {
		t.Errorf("after it the sequence is %d, want %d", o[0].Seq, 11+kept)
	}
	storetest.MustSubmit(t, readings, storetest.Post("cam-1", []byte("two")))
	if r, err := s.Events().Verify(t.Context(), nil); err != nil || r.Count != uint64(15+kept) || len(p.Events()) != 15+kept {
		t.Errorf("%+v, %v; %d applied", r, err, len(p.Events()))
	}
}

func TestWritesThatKeepFailingEnd(t *testing.T) {
	if ranAlone(t) {
		return
	}
	o := options(t.TempDir())
	o.AckTimeout = time.Second
	s := mustOpen(t, o)
	p := storetest.NewProjection()
	a := storetest.MustAppender(t, s.Events(), p)
	storetest.MustAdd(t, a, "before", 10)
	st, err := os.Stat(block(o.Dir, 1))
	if err != nil {
		t.Fatal(err)
	}
	lift := limitFiles(t, st.Size())
	for i := range 5 {
		got, err := a.Submit(t.Context(), storetest.Add(fmt.Sprint("no-", i)))
		if err == nil {
			err = got[0].Err
		}
		if domain.CodeOf(err) != domain.Unavailable {
			t.Errorf("submit %d: %v", i, err)
		}
	}
	lift()
	if err := mustFail(t, s); store.IsDamage(err) {
		t.Errorf("failed with %v", err)
	}
	if err := s.Health(t.Context()); err == nil || !strings.Contains(err.Error(), "LEDGE_EVENTS") {
		t.Errorf("health: %v", err)
	}
	_ = a.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, o) // a new start is the cure
	a = storetest.MustAppender(t, s.Events(), p)
	if o := storetest.MustAdd(t, a, "after", 1); o[0].Seq != 11 {
		t.Errorf("sequence %d", o[0].Seq)
	}
}

func TestDiskReserve(t *testing.T) {
	o := options(disktest.New(t, 12<<10))
	o.ReserveBytes, o.ReadingsReserveBytes = 2<<20, 6<<20
	s := mustOpen(t, o)
	events, readings := storetest.NewProjection(), storetest.NewProjection()
	a := storetest.MustAppender(t, s.Events(), events)
	b := storetest.MustAppender(t, s.Readings(), readings)
	full := 0
	for range 60 {
		got, err := b.Submit(t.Context(), storetest.Post("cam-1", make([]byte, 200<<10)))
		if err != nil {
			t.Fatal(err)
		}
		if got[0].Err != nil {
			if domain.CodeOf(got[0].Err) != domain.Full {
				t.Fatal(got[0].Err)
			}
			full++
		}
	}
	if full == 0 || full == 60 {
		t.Errorf("%d of 60 readings refused", full)
	}
	storetest.MustAdd(t, a, "still", 3) // readings fill up first
	if err := s.Health(t.Context()); err != nil {
		t.Errorf("health: %v", err)
	}
	for i := 0; ; i++ {
		got, err := a.Submit(t.Context(), storetest.AddLarge(fmt.Sprint("e", i), 200<<10))
		if err != nil {
			t.Fatal(err)
		}
		if domain.CodeOf(got[0].Err) == domain.Full && got[0].Err != nil {
			break
		}
		if i > 60 {
			t.Fatal("events are never refused")
		}
	}
	for l, p := range map[*store.Log]*storetest.Projection{s.Events(): events, s.Readings(): readings} {
		if r, err := l.Verify(t.Context(), nil); err != nil || r.Count != uint64(len(p.Events())) {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

// TestDiskFull has no reserve: the server runs into the end of the disk. What was answered stays, and when there is
// space again so does the log.
func TestDiskFull(t *testing.T) {
	o := options(disktest.New(t, 8<<10))
	o.AckTimeout = time.Second
	o.FreeBytes = func(string) (uint64, error) { return 1 << 40, nil }
	filler := o.Dir + "/filler"
	if err := os.WriteFile(filler, make([]byte, 4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, o)
	p := storetest.NewProjection()
	a := storetest.MustAppender(t, s.Events(), p)
	answered := 0
	for i := 0; ; i++ {
		got, err := a.Submit(t.Context(), storetest.AddLarge(fmt.Sprint("e", i), 100<<10))
		if err != nil || got[0].Err != nil {
			break
		}
		answered++
		if i > 100 {
			t.Fatal("the disk never fills")
		}
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	storetest.MustAdd(t, a, "again", 2)
	if r, err := s.Events().Verify(t.Context(), nil); err != nil || r.Count != uint64(answered+2) || len(p.Events()) != answered+2 {
		t.Errorf("%+v, %v; answered %d", r, err, answered)
	}
}

func TestReserveWithoutRoom(t *testing.T) {
	o := options(t.TempDir())
	o.ReserveBytes = 1 << 30
	free := uint64(1<<30 + 10_000)
	o.FreeBytes = func(string) (uint64, error) { return free, nil }
	s := mustOpen(t, o)
	a := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
	storetest.MustAdd(t, a, "fits", 1)
	free = 1 << 30
	got, err := a.Submit(context.Background(), storetest.Add("no"), storetest.Nothing())
	if err != nil || domain.CodeOf(got[0].Err) != domain.Full || got[1].Err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	free = 1 << 31
	storetest.MustAdd(t, a, "again", 1)
}

// openBlocks returns the block files of the events that this process holds open, once for each descriptor.
func openBlocks(t *testing.T, dir string) (open []string) {
	t.Helper()
	descriptors, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range descriptors {
		if path, err := os.Readlink(d); err == nil && strings.HasPrefix(path, eventsDir(dir)) && strings.Contains(path, ".blk") {
			open = append(open, path)
		}
	}
	return open
}

// TestOpenBlocks holds that of a log the last block alone stays open, and nothing once it is closed.
func TestOpenBlocks(t *testing.T) {
	o := options(t.TempDir())
	s := mustOpen(t, o)
	a := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
	for i := range 20 {
		storetest.MustSubmit(t, a, storetest.AddLarge(fmt.Sprint("s-", i), 700_000))
	}
	last := block(o.Dir, 2)
	if open := openBlocks(t, o.Dir); !slices.Equal(open, []string{last, last}) { // the server's descriptor and ours
		t.Errorf("%v are open, want %s twice", open, last)
	}
	_ = a.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if open := openBlocks(t, o.Dir); len(open) > 0 {
		t.Errorf("%v are still open", open)
	}
}

package store_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ledge/domain"
	"ledge/store"
	"ledge/store/storetest"
)

// disk remembers what is durable: sizes of files when they were synced, and names when their folder was.
type disk struct {
	mu    sync.Mutex
	sizes map[string]int64
	names map[string]bool
	syncs int
}

func (d *disk) synced(path string, size int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.syncs++
	if size >= 0 {
		d.sizes[path] = size
		return
	}
	files, _ := os.ReadDir(path)
	for _, f := range files {
		d.names[filepath.Join(path, f.Name())] = true
	}
}

// cut copies what a power cut leaves of the events to a new folder: the stream's own description, which was synced when it was made,
// and of the blocks what was synced, at most.
func (d *disk) cut(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) == ".db" {
			return err
		}
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) { // a manifest that was renamed meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		if filepath.Ext(path) == ".blk" && filepath.Dir(filepath.Dir(path)) == eventsDir(dir) {
			if !d.names[path] {
				return nil
			}
			b = b[:d.sizes[path]]
		}
		rel, _ := filepath.Rel(dir, path)
		if err := os.MkdirAll(filepath.Join(to, filepath.Dir(rel)), 0o750); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o640)
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func TestPowerCutLosesNothingThatWasAnswered(t *testing.T) {
	o := options(t.TempDir())
	s := mustOpen(t, o)
	d := &disk{sizes: map[string]int64{}, names: map[string]bool{}}
	s.Events().OnSync(d.synced)
	p := storetest.NewProjection()
	a := storetest.MustAppender(t, s.Events(), p)
	for i := range 30 { // each a group that does not end where a block does: three blocks
		var group []domain.Request
		for n := range 1 + i%20 {
			group = append(group, storetest.AddLarge(fmt.Sprintf("s-%d-%d", i, n), 70_000))
		}
		storetest.MustSubmit(t, a, group...)
		if i%7 != 0 {
			continue
		}
		after := mustOpen(t, options(d.cut(t, o.Dir)))
		if err := after.Health(t.Context()); err != nil {
			t.Fatalf("after group %d: %v", i, err)
		}
		seen, head := p.Checkpoint()
		if last, chain := after.Events().Last(); last != seen || chain != head {
			t.Fatalf("after group %d: the log ends at %d, answered was up to %d", i, last, seen)
		}
		b := storetest.MustAppender(t, after.Events(), storetest.NewProjection())
		if o := storetest.MustAdd(t, b, "next", 1); o[0].Seq != seen+1 {
			t.Errorf("after group %d: next sequence %d", i, o[0].Seq)
		}
		_ = b.Close()
		_ = after.Close()
	}
}

func TestGroupTakesOneSync(t *testing.T) {
	s := mustOpen(t, options(t.TempDir()))
	a := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
	storetest.MustAdd(t, a, "first", 1)
	d := &disk{sizes: map[string]int64{}, names: map[string]bool{}}
	s.Events().OnSync(d.synced)
	storetest.MustAdd(t, a, "group", 500)
	if d.syncs != 1 {
		t.Errorf("%d syncs for one group", d.syncs)
	}
}

// TestTornTail is a power cut after the server noted in its index what it had not synced.
func TestTornTail(t *testing.T) {
	dir, _ := mustFill(t)
	storetest.ForgetStop(t, dir)
	st, err := os.Stat(block(dir, 3))
	if err == nil {
		err = os.Truncate(block(dir, 3), st.Size()-10)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, options(dir))
	a := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
	if o := storetest.MustAdd(t, a, "next", 1); o[0].Seq != damagedEvents {
		t.Errorf("next sequence %d", o[0].Seq)
	}
}

// TestSelfTest holds that a start with another layout of the block files refuses, that it says what to do and changes nothing, and that a
// start leaves nothing of the test, neither its own nor that of one that was killed.
func TestSelfTest(t *testing.T) {
	o := options(t.TempDir())
	s := mustOpen(t, o)
	a := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
	storetest.MustAdd(t, a, "a", 3)
	_ = a.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := store.Open(t.Context(), store.WithLayout(o, t.TempDir()))
	if !errors.Is(err, store.ErrLayout) || store.IsDamage(err) || !strings.Contains(err.Error(), "use a released build") {
		t.Fatalf("err = %v", err)
	}
	left := filepath.Join(o.Dir, "jetstream", "LEDGE", "streams", "LEDGE_SELFTEST")
	if err := os.MkdirAll(filepath.Join(left, "msgs"), 0o700); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, filepath.Join(left, "msgs", "1.blk"), []byte("as a kill leaves it"))
	s = mustOpen(t, o)
	a = storetest.MustAppender(t, s.Events(), storetest.NewProjection())
	if got := storetest.MustAdd(t, a, "b", 1); got[0].Seq != 4 {
		t.Errorf("goes on at %d", got[0].Seq)
	}
	_ = a.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left of the test: %v", err)
	}
}

// TestSelfTestOnAFullDisk holds that a start that cannot write is not refused.
func TestSelfTestOnAFullDisk(t *testing.T) {
	o := options(t.TempDir())
	o.FreeBytes = func(string) (uint64, error) { return 0, nil }
	mustOpen(t, store.WithLayout(o, t.TempDir()))
}

// TestLayoutGuard moves the folder of the blocks after the start: the log refuses, and no answered event is lost.
func TestLayoutGuard(t *testing.T) {
	o := options(t.TempDir())
	s := mustOpen(t, o)
	p := storetest.NewProjection()
	a := storetest.MustAppender(t, s.Events(), p)
	storetest.MustAdd(t, a, "a", 3)
	folder := s.Events().BlockFolder()
	if err := errors.Join(os.Rename(folder, filepath.Join(t.TempDir(), "blocks")), os.Mkdir(folder, 0o700)); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, filepath.Join(folder, "1.blk"), []byte("stale"))
	for _, name := range []string{"b", "c"} {
		got, err := a.Submit(t.Context(), storetest.Add(name))
		if err == nil {
			err = got[0].Err
		}
		if domain.CodeOf(err) != domain.Unavailable {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	<-s.Failed()
	if len(p.Events()) != 3 {
		t.Errorf("%d events are applied", len(p.Events()))
	}
}

// TestRestart keeps sequence and chain over stops of every kind.
func TestRestart(t *testing.T) {
	o := options(t.TempDir())
	p := storetest.NewProjection()
	for i := range 4 {
		s := mustOpen(t, o)
		a := storetest.MustAppender(t, s.Events(), p)
		if got := storetest.MustAdd(t, a, fmt.Sprint("r", i), 5); got[0].Seq != uint64(5*i+1) {
			t.Errorf("start %d begins at %d", i, got[0].Seq)
		}
		if r, err := s.Events().Verify(t.Context(), nil); err != nil || r.Count != uint64(5*i+5) {
			t.Errorf("start %d: %+v, %v", i, r, err)
		}
		_ = a.Close()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 { // as after kill -9
			storetest.ForgetStop(t, o.Dir)
		}
	}
	if _, err := store.Open(t.Context(), store.Options{Dir: filepath.Join(o.Dir, "LEDGE_EVENTS.manifest")}); err == nil {
		t.Error("opened on a file")
	}
}

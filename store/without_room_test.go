package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"ledge/domain"
	"ledge/store"
	"ledge/store/disktest"
	"ledge/store/natsblock"
	"ledge/store/storetest"
)

// mustFillDisk takes all space of a disk and returns what gives it back.
func mustFillDisk(t *testing.T, path string) (free func()) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 64<<10))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return func() { mustRemove(t, path) }
}

// TestOpenWithoutRoom starts on a disk that is filled to the last byte. Whatever a start would write there, the events are
// read, appends are refused, and appends are taken when there is room again.
func TestOpenWithoutRoom(t *testing.T) {
	source := mustFillSmall(t)
	index := filepath.Join(eventsDir(source), "msgs", "index.db")
	x, err := natsblock.Decode("LEDGE_EVENTS", mustRead(t, index))
	if err != nil {
		t.Fatal(err)
	}
	for name, leave := range map[string]func(dir, index string){
		"no index":              func(_, index string) { mustRemove(t, index) },
		"index of a lost end":   func(_, index string) { mustWrite(t, index, newer(x)) },
		"index that is damaged": func(_, index string) { mustWrite(t, index, []byte("damaged")) },
		"no front on record":    func(dir, _ string) { mustRemove(t, filepath.Join(dir, "LEDGE_EVENTS.manifest")) },
		"no meta.sum that fits": func(_, index string) {
			mustWrite(t, filepath.Join(filepath.Dir(index), "..", "meta.sum"), []byte("0123456789abcdef"))
		},
		"torn end": func(_, index string) {
			path := filepath.Join(filepath.Dir(index), "1.blk")
			mustWrite(t, path, append(mustRead(t, path), "torn"...))
		},
	} {
		t.Run(name, func(t *testing.T) {
			disk := disktest.New(t, 2<<10)
			o := options(filepath.Join(disk, "nats"))
			if err := os.CopyFS(o.Dir, os.DirFS(source)); err != nil {
				t.Fatal(err)
			}
			storetest.ForgetStop(t, o.Dir)
			leave(o.Dir, filepath.Join(eventsDir(o.Dir), "msgs", "index.db"))
			free := mustFillDisk(t, filepath.Join(disk, "filler"))
			s := mustOpen(t, o)
			p := storetest.NewProjection()
			a := storetest.MustAppender(t, s.Events(), p)
			if n := len(storetest.MustRead(t, s.Events(), 1, 7)); n != 7 {
				t.Errorf("%d events, want 7", n)
			}
			if got, err := a.Submit(t.Context(), storetest.Add("full")); err != nil || domain.CodeOf(got[0].Err) != domain.Full {
				t.Errorf("append: %+v, %v", got, err)
			}
			free()
			storetest.MustAdd(t, a, "room", 2)
			_ = a.Close()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			s = mustOpen(t, o)
			if r, err := s.Events().Verify(t.Context(), nil); err != nil || r.Count != 9 {
				t.Errorf("%+v, %v; want 9 events", r, err)
			}
		})
	}
}

// TestDamageWithoutRoom starts on a full disk with damage: nothing is changed.
func TestDamageWithoutRoom(t *testing.T) {
	disk := disktest.New(t, 2<<10)
	o := options(filepath.Join(disk, "nats"))
	if err := os.CopyFS(o.Dir, os.DirFS(mustFillSmall(t))); err != nil {
		t.Fatal(err)
	}
	storetest.ForgetStop(t, o.Dir)
	path := filepath.Join(eventsDir(o.Dir), "msgs", "1.blk")
	b := mustRead(t, path)
	b[len(b)/3] ^= 1
	mustWrite(t, path, b)
	mustRemove(t, filepath.Join(eventsDir(o.Dir), "msgs", "index.db"))
	mustFillDisk(t, filepath.Join(disk, "filler"))
	before := files(t, o.Dir)
	if _, err := store.Open(t.Context(), o); !store.IsDamage(err) {
		t.Errorf("open: %v", err)
	}
	for name, text := range files(t, o.Dir) {
		if before[name] != text {
			t.Errorf("%s was changed", name)
		}
	}
}

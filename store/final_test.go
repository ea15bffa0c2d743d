package store_test

import (
	"io/fs"
	"syscall"
	"testing"

	"ledge/domain"
	"ledge/store"
	"ledge/store/storetest"
)

// TestFailedSyncIsFinal holds that after one failed fsync, of a block file or of the folder, nothing is acknowledged any
// more, although the next fsync succeeds; and that the next start, which writes the tail anew, has what was acknowledged.
func TestFailedSyncIsFinal(t *testing.T) {
	for _, c := range []struct {
		name  string
		fail  func(*store.Log, error)
		large int // of the event that is not synced: it begins a new block where that is so
	}{
		{"block", (*store.Log).FailSync, 10},
		{"folder", (*store.Log).FailFolderSync, 9 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := options(t.TempDir())
			s := mustOpen(t, o)
			p := storetest.NewProjection()
			a := storetest.MustAppender(t, s.Events(), p)
			storetest.MustAdd(t, a, "before", 3)
			c.fail(s.Events(), syscall.EIO)
			for i, name := range []string{"unsynced", "after"} {
				size := 10
				if i == 0 {
					size = c.large
				}
				got, err := a.Submit(t.Context(), storetest.AddLarge(name, size))
				if err == nil {
					err = got[0].Err
				}
				if domain.CodeOf(err) != domain.Unavailable || domain.InDoubt(err) != (name == "unsynced") {
					t.Errorf("%s: %v, in doubt: %t", name, err, domain.InDoubt(err))
				}
			}
			if err := s.Health(t.Context()); err == nil {
				t.Error("healthy")
			}
			if err := mustFail(t, s); store.IsDamage(err) {
				t.Errorf("failed with %v", err)
			}
			if n := len(p.Events()); n != 3 {
				t.Errorf("%d events are applied, want 3", n)
			}
			_ = a.Close()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = mustOpen(t, o)
			a = storetest.MustAppender(t, s.Events(), p)
			storetest.MustAdd(t, a, "again", 1)
			if r, err := s.Events().Verify(t.Context(), nil); err != nil || r.Count < 4 {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// TestFileThatCannotBeOpened has the file of a group not be opened, as without file descriptors: no fsync has failed, so the log is opened again, and
// the event, which is in its files, is answered as recorded.
func TestFileThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, options(t.TempDir()))
	a := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
	storetest.MustAdd(t, a, "before", 3)
	s.Events().FailSync(&fs.PathError{Op: "open", Path: "2.blk", Err: syscall.EMFILE})
	storetest.MustAdd(t, a, "after", 1)
	if err := s.Health(t.Context()); err != nil {
		t.Error(err)
	}
}

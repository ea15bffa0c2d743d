package store_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"ledge/domain"
	"ledge/store"
	"ledge/store/natsblock"
	"ledge/store/storetest"
)

// archiving opens a store with folders for archives and snapshots, and a key.
func archiving(t *testing.T) (o store.Options, key *store.SigningKey) {
	t.Helper()
	dir := t.TempDir()
	o = options(filepath.Join(dir, "nats"))
	o.ArchiveDir, o.SnapshotDir = filepath.Join(dir, "archive"), filepath.Join(dir, "snapshots")
	key, err := store.OpenSigningKey(filepath.Join(dir, "archive-key.pem"))
	must(t, err)
	return o, key
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// closeStretch archives the events up to a sequence and takes them off the log. The lines of the snapshot are of no concern here.
func closeStretch(t *testing.T, s *store.Store, o store.Options, key *store.SigningKey, last uint64, chain store.Chain) store.ArchiveRef {
	t.Helper()
	ref, err := s.Events().Archive(t.Context(), last, key)
	must(t, err)
	must(t, store.WriteSnapshot(o.SnapshotDir, last, chain, s.Archives().Known(), key, func(w io.Writer) error {
		_, err := io.WriteString(w, "{}\n")
		return err
	}))
	must(t, s.Events().DropArchived(t.Context(), last, chain))
	return ref
}

// TestArchive closes two stretches. The log begins behind them and gives its disk space back; with the archives it reads as
// one from event 1 on, now, after a stop and after a crash.
func TestArchive(t *testing.T) {
	t.Parallel()
	o, key := archiving(t)
	must(t, mustOpen(t, o).Close())
	denyPurge(t, o)
	s, p := mustOpen(t, o), storetest.NewProjection()
	a := storetest.MustAppender(t, s.Events(), p)
	for i := range 26 { // over several blocks
		storetest.MustSubmit(t, a, storetest.AddLarge(fmt.Sprint("service-", i), 1<<20))
	}
	ends := s.Events().BlockEnds()
	if len(ends) < 3 {
		t.Fatalf("%d blocks are full, want 3", len(ends))
	}
	want := p.Events()
	before, err := s.Events().Stats()
	must(t, err)
	if _, err := s.Events().DropBefore(t.Context(), ends[0].Last+1); err == nil {
		t.Fatal("events that are not archived were dropped")
	}
	var refs []store.ArchiveRef
	for _, i := range []int{0, 1} {
		refs = append(refs, closeStretch(t, s, o, key, ends[i].Last, want[ends[i].Last-1].Chain))
	}
	first := ends[1].Last + 1
	after, err := s.Events().Stats()
	must(t, err)
	if after.First != first || after.Bytes > before.Bytes/2 {
		t.Errorf("the log begins at %d with %d of %d bytes, want it to begin at %d", after.First, after.Bytes, before.Bytes, first)
	}
	check := func(s *store.Store) {
		t.Helper()
		for _, from := range []uint64{1, ends[0].Last + 1, first} {
			if got := storetest.MustRead(t, s.Events(), from, 0); !sameEvents(got, want[from-1:]) {
				t.Errorf("from %d: got %d events, want %d", from, len(got), len(want[from-1:]))
			}
		}
		if r, err := s.Events().Verify(t.Context(), nil); err != nil || r.First != first || r.Last != 26 {
			t.Errorf("%+v, %v, want %d to 26", r, err, first)
		}
		if got := s.Archives().Known(); !reflect.DeepEqual(got, refs) {
			t.Errorf("known archives %v, want %v", got, refs)
		}
		for _, ref := range refs {
			if _, public, err := s.Archives().CheckArchive(t.Context(), ref.File); err != nil || public != key.Public() {
				t.Errorf("%s: %v, key %s", ref.File, err, public)
			}
		}
	}
	check(s)
	must(t, a.Close())
	for _, clean := range []bool{true, false} {
		s = openAgain(t, s, o, clean)
		check(s)
	}
	missing := filepath.Join(o.ArchiveDir, refs[1].File)
	must(t, os.Rename(missing, missing+".away"))
	var gap *store.Gap
	for _, err := range s.Events().Read(t.Context(), 1, 0) {
		if err != nil && !errors.As(err, &gap) {
			t.Error(err)
		}
	}
	if gap == nil || gap.ArchiveRef != refs[1] || !strings.Contains(gap.Error(), fmt.Sprintf("events %d to %d are in archive %s, which is not in %s", refs[1].First, refs[1].Last, refs[1].File, o.ArchiveDir)) {
		t.Errorf("the gap is %v", gap)
	}
	must(t, os.Rename(missing+".away", missing))
	a = storetest.MustAppender(t, s.Events(), p)
	if got := storetest.MustSubmit(t, a, storetest.Add("next")); got[0].Seq != 27 {
		t.Errorf("sequence %d, want 27", got[0].Seq)
	}
}

// denyPurge gives the log of changes the description that earlier versions made, by which the server refuses to remove blocks.
func denyPurge(t *testing.T, o store.Options) {
	t.Helper()
	path := filepath.Join(o.Dir, "jetstream", "LEDGE", "streams", "LEDGE_EVENTS", "meta.")
	inf, err := os.ReadFile(path + "inf")
	must(t, err)
	sum, err := os.ReadFile(path + "sum")
	must(t, err)
	config, created, err := natsblock.DecodeMeta("LEDGE_EVENTS", inf, sum)
	must(t, err)
	config.DenyPurge = true
	inf, sum, err = natsblock.EncodeMeta(config, created)
	must(t, err)
	must(t, os.WriteFile(path+"inf", inf, 0o600))
	must(t, os.WriteFile(path+"sum", sum, 0o600))
}

func sameEvents(got, want []domain.Recorded) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if got[i].Seq != want[i].Seq || got[i].Chain != want[i].Chain || !reflect.DeepEqual(got[i].Event, want[i].Event) {
			return false
		}
	}
	return true
}

// TestSealedFiles flips each byte of an archive and of a snapshot, and cuts them at each length: every one is found. The
// log is as it was when an archive cannot be written.
func TestSealedFiles(t *testing.T) {
	t.Parallel()
	o, key := archiving(t)
	s, p := mustOpen(t, o), storetest.NewProjection()
	a := storetest.MustAppender(t, s.Events(), p)
	for i := range 3 {
		storetest.MustSubmit(t, a, storetest.Add(fmt.Sprint("service-", i)))
	}
	ref, err := s.Events().Archive(t.Context(), 3, key)
	must(t, err)
	_, chain := p.Checkpoint()
	must(t, store.WriteSnapshot(o.SnapshotDir, 3, chain, s.Archives().Known(), key, func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Repeat(`{"table":"devices"}`+"\n", 100))
		return err
	}))
	everyDamage(t, filepath.Join(o.ArchiveDir, ref.File), func() error {
		_, _, err := s.Archives().CheckArchive(t.Context(), ref.File)
		return err
	})
	everyDamage(t, filepath.Join(o.SnapshotDir, "LEDGE_EVENTS-000000000003.snapshot"), func() error {
		s, err := store.OpenSnapshot(o.SnapshotDir, 3)
		if err == nil {
			err = s.Check()
		}
		return err
	})
	must(t, os.Remove(filepath.Join(o.ArchiveDir, ref.File)))
	must(t, os.Mkdir(filepath.Join(o.ArchiveDir, ref.File), 0o750))
	if _, err := s.Events().Archive(t.Context(), 3, key); err == nil {
		t.Error("an archive was written over a folder")
	}
	if left, _ := filepath.Glob(filepath.Join(o.ArchiveDir, "*.new")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if got := storetest.MustRead(t, s.Events(), 1, 0); len(got) != 3 {
		t.Errorf("%d events, want 3", len(got))
	}
}

// everyDamage holds that check finds each flip of a byte, and each cut.
func everyDamage(t *testing.T, path string, check func() error) {
	t.Helper()
	must(t, check())
	whole, err := os.ReadFile(path)
	must(t, err)
	for i := range whole {
		text := append([]byte{}, whole...)
		text[i] ^= 1 << (i % 8)
		must(t, os.WriteFile(path, text, 0o600))
		if err := check(); !errors.Is(err, store.ErrSealed) {
			t.Fatalf("%s with byte %d flipped, of %d: %v", filepath.Base(path), i, len(whole), err)
		}
		if i%7 != 0 {
			continue
		}
		must(t, os.WriteFile(path, whole[:i], 0o600))
		if err := check(); !errors.Is(err, store.ErrSealed) {
			t.Fatalf("%s cut at byte %d, of %d: %v", filepath.Base(path), i, len(whole), err)
		}
	}
	must(t, os.WriteFile(path, whole, 0o600))
	must(t, check())
}

// TestSigningKey is made once, is read back, and is refused where others can read it.
func TestSigningKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "archive-key.pem")
	key, err := store.OpenSigningKey(path)
	must(t, err)
	again, err := store.OpenSigningKey(path)
	must(t, err)
	if info, _ := os.Stat(path); key.Public() != again.Public() || info.Mode() != 0o600 {
		t.Errorf("keys %s and %s, mode %v", key.Public(), again.Public(), info.Mode())
	}
	must(t, os.Chmod(path, 0o644))
	if _, err := store.OpenSigningKey(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("mode 0644: %v", err)
	}
	must(t, os.Remove(path))
	must(t, os.WriteFile(path, []byte("no key"), 0o600))
	if _, err := store.OpenSigningKey(path); err == nil || !strings.Contains(err.Error(), "is not an Ed25519 key") {
		t.Errorf("no key: %v", err)
	}
}

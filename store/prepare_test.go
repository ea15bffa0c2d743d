package store_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ledge/domain"
	"ledge/store"
	"ledge/store/natsblock"
	"ledge/store/storetest"

	"github.com/nats-io/nats-server/v2/server"
)

func mustCopy(t *testing.T, from string) (to string) {
	t.Helper()
	to = t.TempDir()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustWrite(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o640); err != nil {
		t.Fatal(err)
	}
}

// files are all files of a folder with their bytes.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.Walk(dir, func(path string, st os.FileInfo, err error) error {
		if err == nil && st.Mode().IsRegular() {
			found[strings.TrimPrefix(path, dir)] = string(mustRead(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// starts opens a store over a folder and closes it. The server must have recovered nothing by itself.
func starts(t *testing.T, dir string, events uint64) *lines {
	t.Helper()
	o, logged := options(dir), &lines{}
	o.Logger = newLogger(logged)
	s, err := store.Open(t.Context(), o)
	if err != nil {
		t.Errorf("open: %v", err)
		return logged
	}
	if r, err := s.Events().Verify(t.Context(), nil); err != nil || r.Count != events || r.Last != events {
		t.Errorf("%+v, %v; want %d events", r, err, events)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n := logged.count("Filestore"); n > 0 {
		t.Errorf("the server recovers by itself:\n%s", logged.text.String())
	}
	return logged
}

// TestServerRecoversNothing starts after stops that were not clean, with each kind of index that a crash may leave. No
// block is touched.
func TestServerRecoversNothing(t *testing.T) {
	source, _ := mustFill(t)
	index := filepath.Join(eventsDir(source), "msgs", "index.db")
	whole := mustRead(t, index)
	x, err := natsblock.Decode("LEDGE_EVENTS", whole)
	if err != nil {
		t.Fatal(err)
	}
	if got := x.Encode("LEDGE_EVENTS"); len(got) != len(whole) {
		t.Errorf("the server's index is written back with %d bytes, not %d", len(got), len(whole))
	}
	for name, damage := range map[string]func(dir string){
		"as it was left": func(string) {},
		"missing":        func(path string) { mustRemove(t, path) },
		"empty":          func(path string) { mustWrite(t, path, nil) },
		"cut short":      func(path string) { mustWrite(t, path, whole[:len(whole)/2]) },
		"stale":          func(path string) { mustWrite(t, path, older(x, 1)) },
		"of a lost end":  func(path string) { mustWrite(t, path, newer(x)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := mustCopy(t, source)
			storetest.ForgetStop(t, dir)
			damage(filepath.Join(eventsDir(dir), "msgs", "index.db"))
			before := modified(t, dir)
			starts(t, dir, damagedEvents)
			after := modified(t, dir)
			after[block(dir, 3)] = before[block(dir, 3)] // its end is written again, with the same bytes
			if !maps.Equal(before, after) {
				t.Errorf("blocks were written: %v, then %v", before, after)
			}
			got := mustRead(t, filepath.Join(eventsDir(dir), "msgs", "index.db"))
			if y, err := natsblock.Decode("LEDGE_EVENTS", got); err != nil || y.Last != x.Last || y.Checksum != x.Checksum ||
				y.Bytes != x.Bytes || !slices.Equal(y.Blocks, x.Blocks) || len(y.Subjects) != len(x.Subjects) {
				t.Errorf("the index is not that of the blocks: %v", err)
			}
		})
	}
}

// older is the index as it was when the stream had so many blocks; newer is one that knows of an event that is not there.
func older(x *natsblock.Index, blocks int) []byte {
	y := *x
	y.Blocks = y.Blocks[:blocks]
	end := y.Blocks[blocks-1]
	y.Last, y.LastTime, y.LastBlock, y.Messages, y.Bytes = end.Last, end.LastTime, end.Number, end.Last, end.Bytes
	y.Subjects = slices.DeleteFunc(slices.Clone(y.Subjects), func(s natsblock.Subject) bool { return s.First > end.Number })
	y.Checksum = [8]byte{1} // of an event that was written over since: a full scan is due
	return y.Encode("LEDGE_EVENTS")
}

func newer(x *natsblock.Index) []byte {
	y := *x
	y.Blocks = slices.Clone(y.Blocks)
	end := &y.Blocks[len(y.Blocks)-1]
	y.Last, end.Last, y.Messages, y.Checksum = y.Last+1, end.Last+1, y.Messages+1, [8]byte{1}
	return y.Encode("LEDGE_EVENTS")
}

// modified tells of each block when it was written last.
func modified(t *testing.T, dir string) map[string]time.Time {
	t.Helper()
	found := map[string]time.Time{}
	paths, _ := filepath.Glob(filepath.Join(eventsDir(dir), "msgs", "*.blk"))
	for _, path := range paths {
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		found[filepath.Join(eventsDir(dir), "msgs", st.Name())] = st.ModTime()
	}
	return found
}

// TestStaleIndex starts with the index of an earlier moment, over what was appended since, in the same block and in others.
func TestStaleIndex(t *testing.T) {
	o := options(t.TempDir())
	index := filepath.Join(eventsDir(o.Dir), "msgs", "index.db")
	p, count := storetest.NewProjection(), uint64(0)
	add := func(size, n int) {
		s := mustOpen(t, o)
		a := storetest.MustAppender(t, s.Events(), p)
		for range n {
			count++
			storetest.MustSubmit(t, a, storetest.AddLarge(fmt.Sprint("s-", count), size))
		}
		_ = a.Close()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	add(1000, 10)
	stale := mustRead(t, index)
	for _, n := range []int{3, 20} { // the second time it goes on into new blocks
		add(700_000, n)
		mustWrite(t, index, stale)
		storetest.ForgetStop(t, o.Dir)
		if logged := starts(t, o.Dir, count); logged.count("is not used") > 0 {
			t.Error("the index is not used")
		}
		x, err := natsblock.Decode("LEDGE_EVENTS", mustRead(t, index))
		if err != nil || x.Messages != count || len(x.Subjects) != 1 || x.Subjects[0].Total != count {
			t.Errorf("%d events: %v, %d messages, subjects %+v", count, err, x.Messages, x.Subjects)
		}
	}
}

// TestTornFirstGroup tears the first record of the first group, as a power cut may that drops a page: others of the group are
// whole, and nothing before it says that this log marks its groups.
func TestTornFirstGroup(t *testing.T) {
	for _, marked := range []bool{true, false} {
		o := options(t.TempDir())
		s := mustOpen(t, o)
		a := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
		storetest.MustSubmit(t, a, storetest.Add("a"), storetest.Add("b"), storetest.Add("c"))
		_ = a.Close()
		_ = s.Close()
		b := mustRead(t, block(o.Dir, 1))
		clear(b[:100])
		mustWrite(t, block(o.Dir, 1), b)
		storetest.ForgetStop(t, o.Dir)
		mustRemove(t, filepath.Join(eventsDir(o.Dir), "msgs", "index.db"))
		if !marked { // an earlier version has written the log
			mustStart(t, o.Dir, store.FrontsText("LEDGE_EVENTS", 1, ""))
		}
		in := mustInspect(t, o.Dir, store.InspectOptions{})[0]
		if torn := in.Torn != nil && in.Damage() == nil; torn != marked {
			t.Errorf("marked %t: inspection says %+v, %v", marked, in.Torn, in.Damage())
		}
		if s, err := store.Open(t.Context(), o); marked && err != nil || !marked && !store.IsDamage(err) {
			t.Errorf("marked %t: open: %v", marked, err)
		} else if err == nil {
			if last, _ := s.Events().Last(); last != 0 {
				t.Errorf("it ends at %d", last)
			}
			_ = s.Close()
		}
	}
}

// TestIndexOfNoEvent starts with the index that the server writes after the write of a log's first event has failed. It
// counts the event, and no block has it.
func TestIndexOfNoEvent(t *testing.T) {
	for _, front := range []bool{true, false} {
		o := options(t.TempDir())
		_ = mustOpen(t, o).Close()
		x := natsblock.Index{First: 2, Last: 1, Blocks: []natsblock.Block{{Number: 1, First: 2, Last: 1}}, LastBlock: 1}
		mustWrite(t, filepath.Join(eventsDir(o.Dir), "msgs", "index.db"), x.Encode("LEDGE_EVENTS"))
		if !front {
			mustRemove(t, filepath.Join(o.Dir, "LEDGE_EVENTS.manifest"))
		}
		storetest.ForgetStop(t, o.Dir)
		s := mustOpen(t, o)
		a := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
		if o := storetest.MustAdd(t, a, "first", 1); o[0].Seq != 1 {
			t.Errorf("front on record %t: the first event is %d", front, o[0].Seq)
		}
		_ = a.Close()
	}
}

// records are where the records of a block begin.
func records(b []byte) (at []int) {
	for i := 0; i < len(b); i += int(binary.LittleEndian.Uint32(b[i:]) &^ (1 << 31)) {
		at = append(at, i)
	}
	return at
}

// mustTear makes a store whose last group goes over two blocks; it returns the last event before the group.
func mustTear(t *testing.T) (dir string, last uint64) {
	t.Helper()
	dir = t.TempDir()
	s := mustOpen(t, options(dir))
	a := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
	for i := range 8 {
		storetest.MustSubmit(t, a, storetest.AddLarge(fmt.Sprint("s-", i), 900_000))
	}
	var group []domain.Request
	for i, size := range []int{2_000_000, 1000, 1000, 1000, 5_000_000, 9_000_000} {
		group = append(group, storetest.AddLarge(fmt.Sprint("g-", i), size))
	}
	storetest.MustSubmit(t, a, group...)
	_ = a.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	storetest.ForgetStop(t, dir)
	return dir, 8
}

// TestTornGroup tears the last group at each of its records, and loses each of its blocks. What is before is kept, and what
// is cut off is set aside.
func TestTornGroup(t *testing.T) {
	source, before := mustTear(t)
	blocks, _ := filepath.Glob(filepath.Join(eventsDir(source), "msgs", "*.blk"))
	if len(blocks) < 2 {
		t.Fatalf("%v", blocks)
	}
	seq := uint64(0)
	for n := 1; n <= len(blocks); n++ {
		b := mustRead(t, block(source, n))
		for _, at := range records(b) {
			if seq++; seq <= before {
				continue
			}
			seq := seq
			t.Run(fmt.Sprintf("block %d at %d", n, at), func(t *testing.T) {
				t.Parallel()
				dir := mustCopy(t, source)
				torn := bytes.Clone(b)
				clear(torn[at+100 : min(at+400, len(torn))])
				mustWrite(t, block(dir, n), torn)
				starts(t, dir, seq-1)
				kept, _ := filepath.Glob(filepath.Join(dir, "torn", fmt.Sprintf("LEDGE_EVENTS-%d-%d-*", n, at)))
				if len(kept) != 1 || !bytes.Equal(mustRead(t, kept[0]), torn[at:]) {
					t.Errorf("kept %v", kept)
				}
				starts(t, dir, seq-1)
			})
		}
	}
}

// TestDamageChangesNothing alters records that are followed by later groups, with and without a clean stop: the start is
// refused, and every file is as it was.
func TestDamageChangesNothing(t *testing.T) {
	source, _ := mustFill(t)
	for _, n := range []int{1, 2, 3} {
		b := mustRead(t, block(source, n))
		all := records(b)
		for _, i := range []int{0, 1, len(all) / 2, len(all) - 22} {
			for _, clean := range []bool{true, false} {
				t.Run(fmt.Sprintf("block %d, record %d, clean %t", n, i, clean), func(t *testing.T) {
					t.Parallel()
					dir := mustCopy(t, source)
					bad := bytes.Clone(b)
					bad[all[i]+300] ^= 1
					mustWrite(t, block(dir, n), bad)
					if !clean {
						storetest.ForgetStop(t, dir)
					}
					before := files(t, dir)
					_, err := store.Open(t.Context(), options(dir))
					if !store.IsDamage(err) {
						t.Errorf("open: %v", err)
					}
					if !maps.Equal(before, files(t, dir)) {
						t.Error("files were changed")
					}
				})
			}
		}
	}
}

// TestWitness has a projection remember events that the log has lost, or has others in the place of.
func TestWitness(t *testing.T) {
	source, p := mustFill(t)
	storetest.ForgetStop(t, source)
	last, chain := p.Checkpoint()
	events := p.Events()
	for name, c := range map[string]struct {
		damage func(dir string)
		seen   store.Checkpoint
		says   string
	}{
		"lost end":     {func(dir string) { mustCut(t, block(dir, 3), 2000) }, store.Checkpoint{Seq: last, Chain: chain}, "lost events 300 to 300"},
		"lost block":   {func(dir string) { mustRemove(t, block(dir, 3)) }, store.Checkpoint{Seq: last, Chain: chain}, " to 300"},
		"all lost":     {func(dir string) { mustRemove(t, eventsDir(dir)) }, store.Checkpoint{Seq: last, Chain: chain}, "lost events 1 to 300"},
		"another end":  {func(string) {}, store.Checkpoint{Seq: last, Chain: [32]byte{1}}, "at sequence 300"},
		"another past": {func(string) {}, store.Checkpoint{Seq: 7, Chain: [32]byte{1}}, "at sequence 7"},
		"none":         {func(string) {}, store.Checkpoint{}, ""},
		"the same":     {func(string) {}, store.Checkpoint{Seq: last, Chain: chain}, ""},
		"an earlier":   {func(string) {}, store.Checkpoint{Seq: 7, Chain: events[6].Chain}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := mustCopy(t, source)
			c.damage(dir)
			o := options(dir)
			o.Checkpoints = map[string]store.Checkpoint{"LEDGE_EVENTS": c.seen}
			before := files(t, dir)
			s, err := store.Open(t.Context(), o)
			if err == nil {
				err = s.Close()
			} else if !maps.Equal(before, files(t, dir)) {
				t.Error("files were changed")
			}
			if c.says == "" && err != nil || c.says != "" && (!store.IsDamage(err) || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}

func mustCut(t *testing.T, path string, bytes int64) {
	t.Helper()
	st, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, st.Size()-bytes)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestDescriptionIsMended has a crash leave each of the two files of a stream's description without the other, or from before
// a change.
func TestDescriptionIsMended(t *testing.T) {
	source, _ := mustFill(t)
	inf, sum := filepath.Join("jetstream/LEDGE/streams/LEDGE_EVENTS", server.JetStreamMetaFile), filepath.Join("jetstream/LEDGE/streams/LEDGE_EVENTS", server.JetStreamMetaFileSum)
	for name, damage := range map[string]func(dir string){
		"no meta.sum":      func(dir string) { mustRemove(t, filepath.Join(dir, sum)) },
		"no meta.inf":      func(dir string) { mustRemove(t, filepath.Join(dir, inf)) },
		"neither":          func(dir string) { mustRemove(t, filepath.Join(dir, inf)); mustRemove(t, filepath.Join(dir, sum)) },
		"empty meta.inf":   func(dir string) { mustWrite(t, filepath.Join(dir, inf), nil) },
		"another meta.inf": func(dir string) { mustWrite(t, filepath.Join(dir, inf), []byte(`{"name":"LEDGE_EVENTS"}`)) },
	} {
		for _, clean := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, clean %t", name, clean), func(t *testing.T) {
				t.Parallel()
				dir := mustCopy(t, source)
				damage(dir)
				if !clean {
					storetest.ForgetStop(t, dir)
				}
				starts(t, dir, damagedEvents)
				starts(t, dir, damagedEvents)
			})
		}
	}
}

// TestFrontOnRecord has the start of a log move by itself, and a crash keep it from moving.
func TestFrontOnRecord(t *testing.T) {
	o := options(t.TempDir())
	s, _, a := keepBytes(t, o, 300)
	early := mustCopy(t, o.Dir)
	dropped, err := s.Readings().DropBefore(t.Context(), 250)
	if err != nil || dropped == 1 {
		t.Fatalf("%d, %v", dropped, err)
	}
	_ = a.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	const name = "LEDGE_READINGS.manifest"
	path := filepath.Join(o.Dir, name)
	record := mustRead(t, path)

	t.Run("moved by itself", func(t *testing.T) {
		mustWrite(t, path, mustRead(t, filepath.Join(early, name)))
		if _, err := store.Open(t.Context(), o); !store.IsDamage(err) || !strings.Contains(err.Error(), "damaged at sequence 1:") {
			t.Errorf("open: %v", err)
		}
		mustWrite(t, path, []byte("{}"))
		if _, err := store.Open(t.Context(), o); !store.IsDamage(err) || !strings.Contains(err.Error(), name) {
			t.Errorf("open: %v", err)
		}
	})
	t.Run("not moved yet", func(t *testing.T) {
		mustWrite(t, filepath.Join(early, name), record)
		s := mustOpen(t, options(early))
		if first := s.Readings().First(); first != dropped {
			t.Errorf("first = %d, want %d", first, dropped)
		}
		if r, err := s.Readings().Verify(t.Context(), nil); err != nil || r.First != dropped || r.Last != 300 {
			t.Errorf("%+v, %v", r, err)
		}
		if _, err := os.Stat(filepath.Join(early, "jetstream/LEDGE/streams/LEDGE_READINGS/msgs/1.blk")); err == nil {
			t.Error("the first block is still there")
		}
	})
}

// TestStartAndVerifyAgree has in a log what a crash leaves, and what none leaves. A start and an inspection say the same of it.
func TestStartAndVerifyAgree(t *testing.T) {
	source := mustFillSmall(t)
	storetest.ForgetStop(t, source)
	whole := mustRead(t, block(source, 1))
	at := append(records(whole), len(whole)) // 4 events, and 3 of the next group
	join := func(parts ...[]byte) []byte { return slices.Concat(parts...) }
	cut := func(from, to int) []byte { return whole[at[from-1]:at[to]] }
	for name, tt := range map[string]struct {
		text    []byte
		last    uint64 // of what is kept
		damaged uint64 // 0 if the end is torn
	}{
		"zeros behind the end":               {join(whole, make([]byte, 3000)), 7, 0},
		"one of the last group is zeros":     {join(cut(1, 5), make([]byte, len(cut(6, 6))), cut(7, 7)), 5, 0},
		"one of the last group is missing":   {join(cut(1, 5), cut(7, 7)), 5, 0},
		"one of the group before is zeros":   {join(cut(1, 2), make([]byte, len(cut(3, 3))), cut(4, 7)), 0, 3},
		"one of the group before is missing": {join(cut(1, 2), cut(4, 7)), 0, 3},
		"one comes twice":                    {join(cut(1, 6), cut(6, 7)), 0, 6},
		"the first is missing":               {cut(2, 4), 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := mustCopy(t, source)
			mustWrite(t, block(dir, 1), tt.text)
			in := mustInspect(t, dir, store.InspectOptions{})[0]
			if d, _ := errors.AsType[*store.Damage](in.Damage()); (d != nil) != (tt.damaged > 0) || d != nil && d.Seq != tt.damaged {
				t.Errorf("inspection: %v, torn %v", in.Damage(), in.Torn)
			}
			s, err := store.Open(t.Context(), options(dir))
			if d, _ := errors.AsType[*store.Damage](err); (d != nil) != (tt.damaged > 0) || d != nil && d.Seq != tt.damaged {
				t.Fatalf("open: %v", err)
			}
			if err == nil {
				if last, _ := s.Events().Last(); last != tt.last || in.Last != last {
					t.Errorf("it ends at %d, by the inspection at %d, want %d", last, in.Last, tt.last)
				}
				_ = s.Close()
			}
		})
	}
}

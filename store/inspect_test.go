package store_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/store"
	"ledge/store/osfile"
	"ledge/store/storetest"
)

// mustFillSmall makes a store with a few small events on two streams and closes it.
func mustFillSmall(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s := mustOpen(t, options(dir))
	events := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
	storetest.MustAdd(t, events, "a", 4)
	storetest.MustAdd(t, events, "b", 3)
	readings := storetest.MustAppender(t, s.Readings(), storetest.NewProjection())
	storetest.MustSubmit(t, readings, storetest.Post("d", []byte("one")), storetest.Post("d", []byte("two")))
	_, _ = events.Close(), readings.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func mustInspect(t *testing.T, dir string, o store.InspectOptions) []store.Inspection {
	t.Helper()
	all, err := store.Inspect(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func readingsBlock(dir string) string {
	return filepath.Join(dir, "jetstream/LEDGE/streams/LEDGE_READINGS/msgs/1.blk")
}

func TestInspectWhole(t *testing.T) {
	dir := mustFillSmall(t)
	for i, want := range []uint64{7, 0, 2} {
		in := mustInspect(t, dir, store.InspectOptions{})[i]
		if in.Damage() != nil || in.Torn != nil || in.Meta != "" || in.Last != want || in.Count != want || in.First != min(want, 1) {
			t.Errorf("%+v", in)
		}
	}
}

// TestInspectNamesEveryFlip flips bytes of the blocks, with TEST_LEDGE_FAULTS=all each: none is silent after a clean stop, and after
// a kill only an unfinished write at the end is not damage.
func TestInspectNamesEveryFlip(t *testing.T) {
	dir := mustFillSmall(t)
	stride := 31
	if os.Getenv("TEST_LEDGE_FAULTS") == "all" {
		stride = 1
	}
	last := mustInspect(t, dir, store.InspectOptions{})[0]
	for _, clean := range []bool{true, false} {
		if !clean {
			storetest.ForgetStop(t, dir)
		}
		for i, path := range map[int]string{0: block(dir, 1), 2: readingsBlock(dir)} {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for at := 0; at < len(b); at += stride {
				for _, bit := range []byte{1, 0x80} {
					b[at] ^= bit
					mustRewrite(t, path, b)
					b[at] ^= bit
					in := mustInspect(t, dir, store.InspectOptions{})[i]
					switch damage := in.Damage(); {
					case damage == nil && (clean || in.Torn == nil || i == 0 && in.Last >= last.Last):
						t.Fatalf("%s, byte %d, bit %x, clean %v: %+v", path, at, bit, clean, in)
					case damage != nil && !store.IsDamage(damage):
						t.Fatalf("it is not damage: %v", damage)
					}
				}
			}
			mustRewrite(t, path, b)
		}
	}
}

// mustStart leaves a folder as an earlier version does, with a record of where the logs begin.
func mustStart(t *testing.T, dir, text string) {
	t.Helper()
	for _, stream := range store.Streams() {
		mustRemove(t, filepath.Join(dir, stream+".manifest"))
	}
	mustRewrite(t, filepath.Join(dir, "fronts.json"), []byte(text))
}

func mustRewrite(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o640); err != nil {
		t.Fatal(err)
	}
}

// TestInspectDamage holds what is said of a folder that is not whole, and that all behind it is looked at too.
func TestInspectDamage(t *testing.T) {
	from, _ := mustFill(t)
	whole := mustInspect(t, from, store.InspectOptions{})[0]
	cutBy := func(n int) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			b, err := os.ReadFile(block(dir, 3))
			if err != nil {
				t.Fatal(err)
			}
			mustRewrite(t, block(dir, 3), b[:len(b)-n])
		}
	}
	for _, tt := range []struct {
		name   string
		do     func(t *testing.T, dir string)
		killed bool // without the mark of a clean stop
		known  uint64
		faults int
		says   string
		torn   bool
		whole  uint64 // events; 0 for as many as there were less one for each fault
	}{
		{name: "nothing", do: func(*testing.T, string) {}},
		{name: "flips in two blocks", do: func(t *testing.T, dir string) {
			flip(t, block(dir, 1), 0.5)
			flip(t, block(dir, 2), 0.5)
		}, faults: 2, says: "(1.blk at offset "},
		{name: "a block deleted", do: func(t *testing.T, dir string) { mustRemove(t, block(dir, 2)) }, faults: 1, says: "it is missing (", whole: 1},
		{name: "the first block deleted", do: func(t *testing.T, dir string) { mustRemove(t, block(dir, 1)) }, faults: 1, says: "at sequence 1: it is missing (1 to ", whole: 1},
		{name: "cut off", do: cutBy(10), faults: 2, says: "its record is altered or cut off"},
		{name: "cut off after a kill", do: cutBy(10), killed: true, torn: true},
		{name: "cut off between two records after a kill", do: func(t *testing.T, dir string) {
			b, err := os.ReadFile(block(dir, 3))
			if err != nil {
				t.Fatal(err)
			}
			at, _ := record(t, b, damagedEvents)
			mustRewrite(t, block(dir, 3), b[:at])
		}, killed: true, whole: damagedEvents - 1},
		{name: "cut off, and a checkpoint knows", do: cutBy(10), killed: true, known: damagedEvents, faults: 2, says: "its record is altered"},
		{name: "zeros at the end after a kill", do: func(t *testing.T, dir string) {
			b, err := os.ReadFile(block(dir, 3))
			if err != nil {
				t.Fatal(err)
			}
			mustRewrite(t, block(dir, 3), append(b, make([]byte, 5000)...))
		}, killed: true, torn: true, whole: damagedEvents},
		{name: "a sequence far ahead", do: func(t *testing.T, dir string) { flipHead(t, block(dir, 2), 3, 9) }, faults: 1, says: "its record is altered"},
		{name: "another past", do: func(*testing.T, string) {}, known: 7, faults: 1, says: "not of the same past", whole: damagedEvents},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
			if tt.killed {
				storetest.ForgetStop(t, dir)
			}
			tt.do(t, dir)
			o := store.InspectOptions{}
			if tt.known > 0 {
				o.Known = map[string][]store.Known{"LEDGE_EVENTS": {{By: "a checkpoint", Seq: tt.known, Chain: store.Chain{1}}}}
			}
			in := mustInspect(t, dir, o)[0]
			if len(in.Faults) != tt.faults || (in.Torn != nil) != tt.torn {
				t.Fatalf("got %d faults, torn %v: %v", len(in.Faults), in.Torn, in.Faults)
			}
			if tt.faults > 0 && !strings.Contains(in.Damage().Error(), tt.says) {
				t.Errorf("got %v, want %q", in.Damage(), tt.says)
			}
			want := whole.Count - uint64(min(tt.faults, 2))
			if tt.torn || tt.name == "cut off" || strings.HasPrefix(tt.name, "cut off, and") {
				want = whole.Count - 1
			}
			if tt.whole > 1 {
				want = tt.whole
			}
			if tt.whole != 1 && in.Count != want {
				t.Errorf("%d whole events, want %d", in.Count, want)
			}
			if f := in.Faults; tt.whole == 1 && in.Count != whole.Count-(f[0].To-f[0].Seq+1) {
				t.Errorf("%d whole events and %v", in.Count, f)
			}
		})
	}
}

// TestInspectTellsTornFromDamage holds that a bad record is damage as soon as a later group begins behind it, and an
// unfinished write while only records of its own group do.
func TestInspectTellsTornFromDamage(t *testing.T) {
	dir := mustFillSmall(t)
	storetest.ForgetStop(t, dir)
	b, err := os.ReadFile(block(dir, 1))
	if err != nil {
		t.Fatal(err)
	}
	marks := func(seqs ...uint64) []byte { return store.MarkGroups(b, "LEDGE_EVENTS", 1, seqs...) }
	for _, tt := range []struct {
		marked []byte
		bad    uint64
		torn   bool
		last   uint64
	}{
		{marks(1, 5), 5, true, 4},
		{marks(1, 5), 6, true, 5},
		{marks(1, 5), 7, true, 6},
		{marks(1, 5), 4, false, 7},
		{marks(1, 5), 2, false, 7},
		{marks(1, 5, 7), 6, false, 7},
		{marks(), 6, false, 7}, // of before groups were marked
		{marks(), 7, true, 6},
	} {
		if bytes.Equal(tt.marked, marks()) {
			mustStart(t, dir, store.FrontsText("LEDGE_EVENTS", 1, ""))
		}
		text := append([]byte(nil), tt.marked...)
		at, _ := record(t, text, tt.bad)
		text[at+100] ^= 1
		mustRewrite(t, block(dir, 1), text)
		in := mustInspect(t, dir, store.InspectOptions{})[0]
		if (in.Torn != nil) != tt.torn || (in.Damage() == nil) != tt.torn || in.Last != tt.last {
			t.Errorf("sequence %d bad: %+v", tt.bad, in)
		}
		if tt.torn && (in.Torn.Offset != int64(at) || in.Torn.Bytes != int64(len(text)-at)) {
			t.Errorf("sequence %d bad: %+v where it begins at %d", tt.bad, in.Torn, at)
		}
	}
}

// TestInspectMeta holds that the two files of a stream's configuration are compared.
func TestInspectMeta(t *testing.T) {
	dir := mustFillSmall(t)
	for _, name := range []string{"meta.inf", "meta.sum"} {
		path := filepath.Join(eventsDir(dir), name)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)/2] ^= 1
		mustRewrite(t, path, b)
		if in := mustInspect(t, dir, store.InspectOptions{})[0]; !strings.Contains(in.Meta, "does not match") {
			t.Errorf("%s flipped: %q", name, in.Meta)
		}
		mustRemove(t, path)
		if in := mustInspect(t, dir, store.InspectOptions{})[0]; !strings.Contains(in.Meta, name+" is missing") {
			t.Errorf("%s removed: %q", name, in.Meta)
		}
		b[len(b)/2] ^= 1
		mustRewrite(t, path, b)
	}
}

// TestInspectFronts holds the beginning of a log against the recorded start.
func TestInspectFronts(t *testing.T) {
	dir := mustFillSmall(t)
	b, err := os.ReadFile(readingsBlock(dir))
	if err != nil {
		t.Fatal(err)
	}
	_, end := record(t, b, 1)
	first := chainAt(b[:end])
	for _, tt := range []struct {
		name    string
		starts  string
		block   []byte
		says    string
		from    uint64
		stopped bool
	}{
		{"none", "", b, "", 1, true},
		{"a crash left what was before the front", store.FrontsText("LEDGE_READINGS", 2, first), b, "", 2, true},
		{"moved", store.FrontsText("LEDGE_READINGS", 2, first), b[end:], "", 2, true},
		{"moved, and nobody knows what was before", store.FrontsText("LEDGE_READINGS", 2, ""), b[end:], "", 2, true},
		{"moved by itself", store.FrontsText("LEDGE_READINGS", 1, ""), b[end:], "LEDGE_READINGS is damaged at sequence 1", 2, true},
		{"another past", store.FrontsText("LEDGE_READINGS", 2, strings.Repeat("0f", 32)), b[end:], "chain hash differs", 0, true},
		{"altered", strings.Replace(store.FrontsText("LEDGE_READINGS", 2, first), ":2,", ":3,", 1), b, "fronts.json is damaged", 1, true},
	} {
		mustRewrite(t, readingsBlock(dir), tt.block)
		if tt.starts != "" {
			mustStart(t, dir, tt.starts)
		}
		all := mustInspect(t, dir, store.InspectOptions{})
		said := ""
		for _, in := range all {
			if err := in.Damage(); err != nil {
				said += err.Error()
			}
		}
		if tt.says == "" && said != "" || !strings.Contains(said, tt.says) || tt.says == "" && all[2].First != tt.from {
			t.Errorf("%s: from %d, %q, want %q", tt.name, all[2].First, said, tt.says)
		}
	}
}

// chainAt is the hash in the headers of a record.
func chainAt(r []byte) string {
	_, text, _ := strings.Cut(string(r), "Ledge-Chain: ")
	return text[:64]
}

// Inspect refuses a link in place of a block.
func TestInspectRefusesALink(t *testing.T) {
	dir := mustFillSmall(t)
	mustRemove(t, block(dir, 1))
	if err := os.Symlink("/dev/zero", block(dir, 1)); err != nil {
		t.Skip("the test needs symbolic links, which cannot be made here:", err)
	}
	if _, err := store.Inspect(t.Context(), dir, store.InspectOptions{}); !errors.Is(err, osfile.ErrNotRegular) {
		t.Error(err)
	}
}

// TestOpenFiles holds that the logs of a stopped node are read without a server as with one.
func TestOpenFiles(t *testing.T) {
	dir := mustFillSmall(t)
	f, err := store.OpenFiles(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{7, 0, 2} {
		l := f.Logs()[i]
		if got := storetest.MustRead(t, l, 0, 0); len(got) != want || l.First() != 1 {
			t.Errorf("%s: %d events from %d, want %d", l.Name(), len(got), l.First(), want)
		}
	}
	b, err := os.ReadFile(block(dir, 1))
	if err != nil {
		t.Fatal(err)
	}
	at, _ := record(t, b, 3)
	binary.LittleEndian.PutUint32(b[at:], 7)
	mustRewrite(t, block(dir, 1), b)
	if f, err = store.OpenFiles(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Logs()[0].Verify(t.Context(), nil); !store.IsDamage(err) || !strings.Contains(err.Error(), "sequence 3") {
		t.Error(err)
	}
}

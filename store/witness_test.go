package store_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ledge/store"
	"ledge/store/storetest"
)

// mustAgree holds that an inspection and a start call a folder damaged, in the same words.
func mustAgree(t *testing.T, o store.Options, in store.InspectOptions, says string) []store.Inspection {
	t.Helper()
	before := files(t, o.Dir)
	all := mustInspect(t, o.Dir, in)
	found := ""
	for _, one := range all {
		for _, f := range one.Faults {
			found += f.Error() + "\n"
		}
	}
	if !strings.Contains(found, says) {
		t.Errorf("inspection: %s, want %q", found, says)
	}
	if _, err := store.Open(t.Context(), o); !store.IsDamage(err) || !strings.Contains(err.Error(), says) {
		t.Errorf("open: %v, want %q", err, says)
	}
	for name, text := range files(t, o.Dir) {
		if before[name] != text {
			t.Errorf("%s was changed", name)
		}
	}
	return all
}

// TestManifestWithoutFirstSegment has a manifest whose checksum holds and whose first block file is missing in it. Before, an inspection found
// nothing, and a start refused.
func TestManifestWithoutFirstSegment(t *testing.T) {
	dir, _ := mustFill(t)
	storetest.ChangeManifest(t, filepath.Join(dir, "LEDGE_EVENTS.manifest"), func(m map[string]json.RawMessage) {
		var list []json.RawMessage
		if err := json.Unmarshal(m["segments"], &list); err != nil || len(list) < 2 {
			t.Fatalf("%d segments, %v", len(list), err)
		}
		m["segments"], _ = json.Marshal(list[1:])
	})
	mustAgree(t, options(dir), store.InspectOptions{}, "the log begins at 1, and its first block file with")
}

// TestManifestAndFirstBlockAreMissing has the state, or without one the index of the server, say that the log began earlier. Before, the log was whole,
// and retention had removed its beginning.
func TestManifestAndFirstBlockAreMissing(t *testing.T) {
	source := t.TempDir()
	s, a := manyBlocks(t, options(source), 1000)
	_, _ = a.Close(), s.Close()
	mustRemove(t, filepath.Join(source, "LEDGE_READINGS.manifest"))
	mustRemove(t, readingsBlock(source))
	for name, tt := range map[string]struct {
		first uint64 // that the state has
		says  string // of the damage; "" if the log is whole
		from  uint64
	}{
		"state":                                 {1, "and the projection has event 1", 1},
		"state that has forgotten a part of it": {3, "and the projection has event 3", 3},
		"index":                                 {0, "and index.db has event 1", 1},
		"state that has forgotten all of it":    {1000, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			o, to := options(mustCopy(t, source)), filepath.Join(t.TempDir(), "nats")
			o.Checkpoints = map[string]store.Checkpoint{store.ReadingsStream: {First: tt.first}}
			in := store.InspectOptions{Begun: map[string]uint64{store.ReadingsStream: tt.first}}
			if tt.says == "" {
				if all := mustInspect(t, o.Dir, in); all[2].Damage() != nil || !all[2].NoManifest || all[1].NoManifest {
					t.Errorf("%+v", all)
				}
				mustOpen(t, o)
				return
			}
			all := mustAgree(t, o, in, tt.says)
			list, err := store.Salvage(t.Context(), o.Dir, to, all, store.SalvageOptions{NewID: func() string { return "lost" }, Now: time.Now(), Logger: o.Logger})
			must(t, err)
			if r := list[2]; r.First != tt.from || r.Total != all[2].First-tt.from || r.Kept != all[2].Count {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestMisplacedBlocks has block files with other names than they were written under. All events are whole in them, and a salvage has all. Before, a
// salvage lost both of two block files that were exchanged, and a copy under a higher number was called an unfinished write.
func TestMisplacedBlocks(t *testing.T) {
	source, _ := mustFill(t)
	whole := mustInspect(t, source, store.InspectOptions{})[0]
	move := func(from, to int) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) { must(t, os.Rename(block(dir, from), block(dir, to))) }
	}
	for name, tt := range map[string]struct {
		do   []func(t *testing.T, dir string)
		says string
	}{
		"exchanged":        {[]func(*testing.T, string){move(1, 9), move(2, 1), move(9, 2)}, "1.blk has the records of 2.blk"},
		"renamed":          {[]func(*testing.T, string){move(2, 7)}, "7.blk has the records of 2.blk"},
		"copied":           {[]func(*testing.T, string){func(t *testing.T, dir string) { mustWrite(t, block(dir, 7), mustRead(t, block(dir, 1))) }}, "7.blk has the records of 1.blk"},
		"the last renamed": {[]func(*testing.T, string){move(3, 4)}, "4.blk has the records of 3.blk"},
	} {
		for _, killed := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				o, to := options(mustCopy(t, source)), filepath.Join(t.TempDir(), "nats")
				if killed {
					storetest.ForgetStop(t, o.Dir)
				}
				for _, do := range tt.do {
					do(t, o.Dir)
				}
				all := mustInspect(t, o.Dir, store.InspectOptions{})
				if in := all[0]; in.Count != whole.Count || in.Torn != nil || !strings.Contains(in.Damage().Error(), tt.says) {
					t.Errorf("%+v", in)
				}
				if _, err := store.Open(t.Context(), o); !store.IsDamage(err) {
					t.Errorf("open: %v", err)
				}
				list, err := store.Salvage(t.Context(), o.Dir, to, all, store.SalvageOptions{NewID: func() string { return "lost" }, Now: time.Now(), Logger: o.Logger})
				must(t, err)
				if r := list[0]; r.Total != 0 || r.Kept != whole.Count || r.Head != whole.Head {
					t.Errorf("%+v", r)
				}
				s := mustOpen(t, options(to))
				if r, err := s.Events().Verify(t.Context(), nil); err != nil || r.Count != whole.Count {
					t.Errorf("%+v, %v", r, err)
				}
			})
		}
	}
}

// TestManifestWithoutNode opens a folder of an earlier version, whose manifests have no id: they get one. Files of two nodes are damage.
func TestManifestWithoutNode(t *testing.T) {
	dir, other := mustFillSmall(t), mustFillSmall(t)
	for _, stream := range store.Streams() {
		storetest.ChangeManifest(t, filepath.Join(dir, stream+".manifest"), func(m map[string]json.RawMessage) { delete(m, "node") })
	}
	s := mustOpen(t, options(dir))
	id := s.Node()
	must(t, s.Close())
	if text := mustRead(t, filepath.Join(dir, "LEDGE_READINGS.manifest")); id == "" || !bytes.Contains(text, []byte(`"node":"`+id+`"`)) {
		t.Errorf("the id is %q, the manifest %s", id, text)
	}
	mustAgree(t, func() store.Options {
		o := options(mustCopy(t, dir))
		o.Nodes = map[string]string{"state.db": "another"}
		return o
	}(), store.InspectOptions{Nodes: map[string]string{"state.db": "another"}}, "state.db is damaged: it is of node another, and LEDGE_EVENTS.manifest is of node "+id)
	mustWrite(t, filepath.Join(dir, "LEDGE_READINGS.manifest"), mustRead(t, filepath.Join(other, "LEDGE_READINGS.manifest")))
	mustAgree(t, options(dir), store.InspectOptions{}, "files of two data folders are mixed")
}

// TestLogIsFollowed holds that a log of changes which ends before an event that others follow is damaged, and that its end is not an unfinished write.
func TestLogIsFollowed(t *testing.T) {
	dir := mustFillSmall(t)
	known := func(seq uint64) (store.Options, store.InspectOptions) {
		o := options(mustCopy(t, dir))
		o.Follows = seq
		return o, store.InspectOptions{Known: map[string][]store.Known{store.EventsStream: {{By: store.FollowsBy, Seq: seq}}}}
	}
	o, in := known(7)
	if err := mustInspect(t, o.Dir, in)[0].Damage(); err != nil {
		t.Error(err)
	}
	mustOpen(t, o)
	o, in = known(8)
	mustAgree(t, o, in, "the position of notifications and callbacks is at 8")
	o, in = known(7)
	storetest.ForgetStop(t, o.Dir)
	text := mustRead(t, block(o.Dir, 1))
	mustWrite(t, block(o.Dir, 1), text[:len(text)-10])
	mustAgree(t, o, in, "is damaged at sequence")
}

package store_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ledge/store"
	"ledge/store/storetest"
)

const eventsManifest = "LEDGE_EVENTS.manifest"

// TestManifestNamesEveryFlip flips each byte of a manifest: a start refuses, and names the file.
func TestManifestNamesEveryFlip(t *testing.T) {
	source, _ := mustFill(t)
	text := mustRead(t, filepath.Join(source, eventsManifest))
	path := filepath.Join(source, eventsManifest)
	for at := 0; at < len(text); at++ {
		bad := bytes.Clone(text)
		bad[at] ^= 4
		if json.Valid(bad) && bytes.EqualFold(bad, text) {
			continue // a name of a field in another case
		}
		mustWrite(t, path, bad)
		if s, err := store.Open(t.Context(), options(source)); err == nil {
			_ = s.Close()
			t.Fatalf("byte %d: opened", at)
		} else if !store.IsDamage(err) || !strings.Contains(err.Error(), eventsManifest) {
			t.Errorf("byte %d: %v", at, err)
		}
	}
}

// TestManifestAndFiles has full block files go, shrink and grow, after a kill: a start refuses and names the first event that is not there.
func TestManifestAndFiles(t *testing.T) {
	source, _ := mustFill(t)
	storetest.ChangeManifest(t, filepath.Join(source, eventsManifest), func(m map[string]json.RawMessage) { delete(m, "end") })
	second := mustFirst(t, source, 2)
	for name, tt := range map[string]struct {
		damage func(dir string)
		seq    uint64
	}{
		"the first is missing":   {func(dir string) { mustRemove(t, block(dir, 1)) }, 1},
		"the second is missing":  {func(dir string) { mustRemove(t, block(dir, 2)) }, second},
		"both are missing":       {func(dir string) { mustRemove(t, block(dir, 1)); mustRemove(t, block(dir, 2)) }, 1},
		"all are missing":        {func(dir string) { mustRemove(t, filepath.Join(eventsDir(dir), "msgs")) }, 1},
		"the first is cut":       {func(dir string) { mustCut(t, block(dir, 1), 1000) }, 1},
		"the second is cut":      {func(dir string) { mustCut(t, block(dir, 2), 1000) }, second},
		"the first has grown":    {func(dir string) { mustAppend(t, block(dir, 1)) }, 1},
		"the second has a stray": {func(dir string) { mustAppend(t, block(dir, 2)) }, mustFirst(t, source, 3)},
		"the third begins late":  {func(dir string) { mustBehead(t, block(dir, 3)) }, mustFirst(t, source, 3)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := mustCopy(t, source)
			tt.damage(dir)
			before := files(t, dir)
			_, err := store.Open(t.Context(), options(dir))
			if want := fmt.Sprintf("damaged at sequence %d:", tt.seq); !store.IsDamage(err) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
			for file, text := range files(t, dir) {
				if before[file] != text {
					t.Errorf("%s was changed", file)
				}
			}
		})
	}
}

func mustFirst(t *testing.T, dir string, n int) uint64 {
	t.Helper()
	return last(mustRead(t, block(dir, n-1))) + 1
}

func mustAppend(t *testing.T, path string) {
	t.Helper()
	mustWrite(t, path, append(mustRead(t, path), "and what nobody wrote"...))
}

func mustBehead(t *testing.T, path string) {
	t.Helper()
	b := mustRead(t, path)
	_, to := record(t, b, 0)
	mustWrite(t, path, b[to:])
}

// TestManifestFollows holds that full block files are put on record while the store runs, so that a start after a kill reads only what is behind them.
func TestManifestFollows(t *testing.T) {
	o := options(t.TempDir())
	s := mustOpen(t, o)
	p := storetest.NewProjection()
	a := storetest.MustAppender(t, s.Events(), p)
	for i := range 20 {
		storetest.MustSubmit(t, a, storetest.AddLarge(fmt.Sprint("l-", i), 1<<20))
	}
	segments := func(dir string) (n int) {
		var m struct {
			Manifest struct{ Segments []struct{ Last uint64 } }
		}
		if err := json.Unmarshal(mustRead(t, filepath.Join(dir, eventsManifest)), &m); err != nil {
			t.Fatal(err)
		}
		return len(m.Manifest.Segments)
	}
	for end := time.Now().Add(patience); segments(o.Dir) < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d segments", segments(o.Dir))
		}
	}
	killed := mustCopy(t, o.Dir)
	_ = a.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	starts(t, killed, 20)

	// All behind the second is torn: that block is the last again, and goes on.
	torn := mustCopy(t, killed)
	storetest.ChangeManifest(t, filepath.Join(torn, eventsManifest), func(m map[string]json.RawMessage) { delete(m, "end") })
	kept := last(mustRead(t, block(torn, 2)))
	mustWrite(t, block(torn, 3), make([]byte, 1000))
	starts(t, torn, kept)
	for round := range 3 {
		s := mustOpen(t, options(torn))
		a := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
		storetest.MustAdd(t, a, fmt.Sprint("r-", round), 3)
		kept += 3
		_ = a.Close()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		starts(t, torn, kept)
	}
}

// TestManifestIsLost has a start read the whole log where there is no manifest: all is served, and the file is there again.
func TestManifestIsLost(t *testing.T) {
	dir, _ := mustFill(t)
	path := filepath.Join(dir, eventsManifest)
	before := mustRead(t, path)
	mustRemove(t, path)
	logged := starts(t, dir, damagedEvents)
	if logged.count("had no manifest") != 1 {
		t.Errorf("logged:\n%s", logged.text.String())
	}
	if after := mustRead(t, path); !bytes.Contains(after, []byte(`"segments":[{`)) || len(after) < len(before)-len(`,"marked":true`) {
		t.Errorf("made anew: %s", after)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "fronts.json")); err != nil || !bytes.Contains(text, []byte("later version")) {
		t.Errorf("what earlier versions read: %s, %v", text, err)
	}
}

// TestManifestOfAGrownBlock has a block on record as full that has grown since, with another block behind it: the start reads it, and puts it on
// record as it is.
func TestManifestOfAGrownBlock(t *testing.T) {
	dir, _ := mustFill(t)
	path := filepath.Join(dir, eventsManifest)
	segments := func() (list []map[string]any) {
		storetest.ChangeManifest(t, path, func(m map[string]json.RawMessage) {
			if err := json.Unmarshal(m["segments"], &list); err != nil {
				t.Fatal(err)
			}
		})
		return list
	}
	want := fmt.Sprint(segments())
	storetest.ChangeManifest(t, path, func(m map[string]json.RawMessage) {
		list := segments()
		list[len(list)-1]["bytes"] = 1000
		text, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		m["segments"] = text
	})
	if err := mustOpen(t, options(dir)).Close(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(segments()); got != want {
		t.Errorf("the segments are %s, want %s", got, want)
	}
}

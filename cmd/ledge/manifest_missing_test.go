package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
	"ledge/projections"
	"ledge/store"
)

// TestNodeIDs holds that all files of a data folder have one id, also those that had none.
func TestNodeIDs(t *testing.T) {
	t.Parallel()
	dir := ledgetest.NewFolder(t)
	id := func(stream string) string {
		text, err := os.ReadFile(filepath.Join(dir, "nats", stream+".manifest"))
		var m struct{ Manifest struct{ Node string } }
		if err = errors.Join(err, json.Unmarshal(text, &m)); err != nil {
			t.Fatal(err)
		}
		return m.Manifest.Node
	}
	same := func(when string) (node string) {
		t.Helper()
		node = id("LEDGE_EVENTS")
		for i, stream := range store.Streams() {
			if got := id(stream); got != node || got == "" {
				t.Errorf("%s: %s has %q, LEDGE_EVENTS %q", when, stream, got, node)
			}
			err := projections.Inspect(projections.Options{Path: filepath.Join(dir, datadir.StateFiles[i]), Tables: tables[i]}, func(in *projections.Inspection) error {
				if in.Node() != node {
					return fmt.Errorf("it has %q", in.Node())
				}
				return nil
			})
			if err != nil {
				t.Errorf("%s: %s: %v", when, datadir.StateFiles[i], err)
			}
		}
		return node
	}
	first := same("new")
	ledgetest.MustUnlink(t, filepath.Join(dir, "notifications.db"))
	ledgetest.MustUnlink(t, filepath.Join(dir, "nats", "LEDGE_READINGS.manifest"))
	ledgetest.Start(t, dir).Stop()
	if again := same("with two files lost"); again != first {
		t.Errorf("the id was %s, and is %s", first, again)
	}
	ledgetest.Verify(t, dir)
}

// TestBrokenStateHasItsExitCode holds that what follows from a state file that cannot be used has the exit code of that, also if it is noticed
// first. Before, a failed fsync in an apply ended with 1.
func TestBrokenStateHasItsExitCode(t *testing.T) {
	broken := fmt.Errorf("apply LEDGE_READINGS 1 to 2: %w", &projections.Broken{File: "readings.db", Cause: errors.New("fsync failed")})
	p := &Program{data: &data{}}
	for what, err := range map[string]error{"while it runs": p.cause(broken), "at the start": storeError(broken)} {
		if e, ok := errors.AsType[exit.Error](err); !ok || e.Code != exit.State {
			t.Errorf("%s: %v", what, err)
		}
	}
}

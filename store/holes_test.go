package store_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"ledge/store"
)

// TestFollowersAcrossHoles holds that who follows gets all from a sequence on, where the sequences of a group have a hole.
func TestFollowersAcrossHoles(t *testing.T) {
	for from, want := range map[uint64][]uint64{3: {3, 4, 9, 10}, 4: {4, 9, 10}, 5: {9, 10}, 9: {9, 10}, 10: {10}} {
		if got := store.GroupAt(from, 3, 4, 9, 10); !slices.Equal(got, want) {
			t.Errorf("from %d: %v, want %v", from, got, want)
		}
	}
}

// TestLayoutGuardAndRetention has retention remove blocks while a group is synced: that is no other layout. Bytes that are
// missing without that are.
func TestLayoutGuardAndRetention(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[uint32]int
		fails bool
	}{
		{"grown", map[uint32]int{1: 1500}, false},
		{"not grown", map[uint32]int{1: 1000}, true},
		{"crossed", map[uint32]int{1: 1200, 2: 300}, false},
		{"last known block removed", map[uint32]int{2: 100}, false},
		{"and the one after it", map[uint32]int{3: 100}, false},
	} {
		dir := t.TempDir()
		for n, size := range c.files {
			mustWrite(t, filepath.Join(dir, fmt.Sprint(n, ".blk")), make([]byte, size))
		}
		if err := store.SyncGroup(dir, 1, 1000, 500); (err != nil) != c.fails {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

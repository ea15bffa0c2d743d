package store_test

import (
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

package store

import (
	"testing"

	"ledge/domain"
)

// What is kept for followers is bounded by what it takes on the log, whatever the events are.
func TestRecentIsBoundedInBytes(t *testing.T) {
	r := newRecent(0, 100, 1000, seqOf)
	for seq := range uint64(10) {
		r.add([]domain.Recorded{{Seq: seq + 1}}, 300)
	}
	if len(r.groups) != 3 || len(r.sizes) != 3 || r.bytes != 900 || r.events != 3 {
		t.Errorf("%d groups of %d events and %d bytes are kept, want 3 of 3 and 900", len(r.groups), r.events, r.bytes)
	}
	if _, behind, _, _ := r.from(7); behind != 10 {
		t.Errorf("a follower at 7 is to read the log up to %d, want 10", behind)
	}
	r.add([]domain.Recorded{{Seq: 11}}, 2000)
	if _, behind, _, _ := r.from(11); behind != 11 || r.bytes != 0 {
		t.Errorf("of a group over the bound %d bytes are kept, and a follower is to read the log up to %d", r.bytes, behind)
	}
}

// A follower gets the group that has its sequence, from there on, whichever it is.
func TestRecentFindsTheGroup(t *testing.T) {
	r := newRecent(4, 100, 1000, seqOf)
	for _, g := range [][]domain.Recorded{{{Seq: 5}}, {{Seq: 6}, {Seq: 7}}, {{Seq: 8}, {Seq: 9}, {Seq: 10}}} {
		r.add(g, 10)
	}
	for seq, end := range map[uint64]uint64{5: 5, 6: 7, 7: 7, 8: 10, 9: 10, 10: 10} {
		group, behind, _, _ := r.from(seq)
		if len(group) == 0 || behind != 0 || group[0].Seq != seq || group[len(group)-1].Seq != end {
			t.Errorf("from %d: %v, behind %d, want up to %d", seq, group, behind, end)
		}
	}
	if group, behind, _, _ := r.from(11); group != nil || behind != 0 {
		t.Errorf("from the end: %v, behind %d", group, behind)
	}
}

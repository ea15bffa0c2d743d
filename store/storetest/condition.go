package storetest

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ledge/domain"
	"ledge/store"
)

// describe asks for another description of a device service that is at a revision.
func describe(name, description string, revision uint64) domain.Request {
	return Request(domain.IfMatch{Revisions: []uint64{revision}, Change: domain.UpdateService{
		Patch: domain.PatchOf[domain.DeviceService]("name", name, "description", description), At: 1,
	}})
}

// A condition is judged on what is pending too: of two changes in a group that rest on one revision, one is made.
func testCondition(t *testing.T, s *store.Store) {
	a := MustAppender(t, s.Events(), NewProjection())
	got, err := a.Submit(t.Context(),
		Add("one"), describe("one", "first", 1), describe("one", "second", 1), describe("one", "third", 2), describe("one", "fourth", 2))
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		seq  uint64
		says string
	}{{1, ""}, {2, ""}, {0, `"2" now`}, {3, ""}, {0, `"3" now`}}
	for i, o := range got {
		if o.Seq != want[i].seq || want[i].says != "" && (domain.CodeOf(o.Err) != domain.Stale || !strings.Contains(o.Err.Error(), want[i].says)) {
			t.Errorf("request %d: got %+v, want %+v", i, o, want[i])
		}
	}
}

// Of many submitters that rest on one revision, one wins, whichever groups they come to be in.
func testConditionRace(t *testing.T, s *store.Store) {
	a := MustAppender(t, s.Events(), NewProjection())
	at := MustAdd(t, a, "a", 1)[0].Seq
	for round := range 20 {
		var submitters sync.WaitGroup
		var won atomic.Uint64
		for i := range 16 {
			submitters.Go(func() {
				got, err := a.Submit(t.Context(), describe("a-0", fmt.Sprintf("%d by %d", round, i), at))
				switch {
				case err != nil:
					t.Error(err)
				case got[0].Err == nil && !won.CompareAndSwap(0, got[0].Seq):
					t.Errorf("round %d: %d and %d have both won", round, won.Load(), got[0].Seq)
				case got[0].Err != nil && domain.CodeOf(got[0].Err) != domain.Stale:
					t.Error(got[0].Err)
				}
			})
		}
		submitters.Wait()
		if at = won.Load(); at == 0 {
			t.Fatalf("round %d: nobody has won", round)
		}
	}
}

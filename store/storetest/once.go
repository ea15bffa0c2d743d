package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"ledge/domain"
	"ledge/store"
)

// testOnce has one request sent by many at once, longer than a group, with a name in it that is taken.
func testOnce(t *testing.T, s *store.Store) {
	const elements, senders = 1500, 8
	p := NewProjection()
	a := MustAppender(t, s.Events(), p)
	MustAdd(t, a, "a", 1)
	var wg sync.WaitGroup
	answers := make([][]string, senders)
	for i := range answers {
		wg.Go(func() {
			requests := make([]domain.Request, elements)
			for n := range requests {
				requests[n] = AddOnce(fmt.Sprintf("a-%d", n), "key", n)
			}
			outcomes, err := a.Submit(t.Context(), requests...)
			if err != nil {
				t.Error(err)
			}
			for _, o := range outcomes {
				answers[i] = append(answers[i], answerOf(o))
			}
		})
	}
	wg.Wait()
	for i := range answers {
		if !reflect.DeepEqual(answers[i], answers[0]) || len(answers[i]) != elements {
			t.Errorf("sender %d got other answers", i)
		}
	}
	if want := `refused: service "a-0" exists`; answers[0][0] != want || answers[0][1] != "added a-1" {
		t.Errorf("got %q, %q, want %q", answers[0][0], answers[0][1], want)
	}
	if last, _ := s.Events().Last(); last != elements+1 {
		t.Errorf("%d events, want %d", last, elements+1)
	}
	if got, want := MustRead(t, s.Events(), 0, 0), p.Events(); !reflect.DeepEqual(got, want) || got[elements].Key.Element != elements-1 || got[0].Key != nil {
		t.Error("what is read is not what was recorded")
	}
}

func answerOf(o domain.Outcome) string {
	before, ok := errors.AsType[*domain.Answered](o.Err)
	refused, isRefused := o.Event.(domain.RequestAnswered)
	switch {
	case ok && before.Err() != nil:
		return "refused: " + before.Message
	case ok:
		return "added " + before.ID
	case isRefused:
		return "refused: " + refused.Message
	case o.Err != nil:
		return o.Err.Error()
	}
	return "added " + o.Event.(domain.ServiceAdded).AddedID()
}

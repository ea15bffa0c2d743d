package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"ledge/domain"
	"ledge/store"
)

// Run runs the suite. Each test opens a store of its own, which must be empty and is closed by open's own cleanup.
func Run(t *testing.T, open func(t *testing.T) *store.Store) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, s *store.Store)
	}{
		{"an empty log has no end", testEmpty},
		{"outcomes are in order and in sequence", testOutcomes},
		{"a refusal and nothing to do make no event", testNoEvent},
		{"a later command sees the earlier one's event", testSeesEarlier},
		{"a condition is judged with what is pending", testCondition},
		{"one of many submitters meets a condition", testConditionRace},
		{"what is read is what was recorded", testReadBack},
		{"reading begins and ends anywhere", testReadRanges},
		{"a time is found", testSince},
		{"the chain links every event", testChain},
		{"a submission larger than a group", testLarge},
		{"following crosses from history to live", testFollow},
		{"a follower that lags reads the log", testLagging},
		{"32 submitters", testConcurrent},
		{"a panic harms one command only", testPanic},
		{"a body comes back byte for byte", testBody},
		{"a body over the limit is refused", testTooLarge},
		{"clients cannot write headers", testHeaders},
		{"an event with a bad subject is refused", testSubject},
		{"a request with a key is recorded once", testOnce},
		{"a new appender catches up", testCatchUp},
		{"a checkpoint of another past is refused", testForeignCheckpoint},
		{"a cancelled request is not recorded", testCancelled},
		{"a closed appender refuses", testClosed},
		{"apply fails: no success is answered", testApplyFails},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

func testEmpty(t *testing.T, s *store.Store) {
	for _, l := range []*store.Log{s.Events(), s.Notifications(), s.Readings()} {
		last, chain := l.Last()
		if last != 0 || chain != [32]byte{} || l.First() != 1 {
			t.Errorf("%s: last %d, first %d", l.Name(), last, l.First())
		}
		if got := MustRead(t, l, 0, 0); len(got) != 0 {
			t.Errorf("%s: read %d events", l.Name(), len(got))
		}
		if r, err := l.Verify(t.Context(), nil); err != nil || r.Count != 0 {
			t.Errorf("%s: verify: %+v, %v", l.Name(), r, err)
		}
	}
	if err := s.Health(t.Context()); err != nil {
		t.Errorf("health: %v", err)
	}
}

func testOutcomes(t *testing.T, s *store.Store) {
	a := MustAppender(t, s.Events(), NewProjection())
	for i, o := range MustAdd(t, a, "a", 50) {
		want := fmt.Sprintf("a-%d", i)
		if got := o.Event.(domain.ServiceAdded).Service.Name; got != want || o.Seq != uint64(i+1) {
			t.Errorf("outcome %d: %s at %d", i, got, o.Seq)
		}
	}
	if last, _ := s.Events().Last(); last != 50 {
		t.Errorf("last = %d", last)
	}
}

func testNoEvent(t *testing.T, s *store.Store) {
	a := MustAppender(t, s.Events(), NewProjection())
	got, err := a.Submit(t.Context(), Add("one"), Nothing(), Add("one"), Add("two"))
	if err != nil {
		t.Fatal(err)
	}
	if got[0].Seq != 1 || got[1] != (domain.Outcome{}) || domain.CodeOf(got[2].Err) != domain.Conflict || got[2].Seq != 0 || got[3].Seq != 2 {
		t.Errorf("outcomes %+v", got)
	}
	if last, _ := s.Events().Last(); last != 2 {
		t.Errorf("last = %d, want 2", last)
	}
}

func testSeesEarlier(t *testing.T, s *store.Store) {
	p := NewProjection()
	a := MustAppender(t, s.Events(), p)
	MustAdd(t, a, "a", 1)
	if n := len(p.Events()); n != 1 {
		t.Errorf("applied %d events before the answer, want 1", n)
	}
	got, err := a.Submit(t.Context(), Add("a-0"))
	if err != nil || domain.CodeOf(got[0].Err) != domain.Conflict {
		t.Errorf("second group: %+v, %v", got, err)
	}
}

func testReadBack(t *testing.T, s *store.Store) {
	p := NewProjection()
	a := MustAppender(t, s.Events(), p)
	MustAdd(t, a, "a", 20)
	got := MustRead(t, s.Events(), 0, 0)
	if want := p.Events(); !reflect.DeepEqual(got, want) {
		t.Errorf("read\n%+v\nrecorded\n%+v", got, want)
	}
}

func testReadRanges(t *testing.T, s *store.Store) {
	a := MustAppender(t, s.Events(), NewProjection())
	MustAdd(t, a, "a", 30)
	for _, c := range []struct{ from, to, first, n uint64 }{
		{0, 0, 1, 30}, {1, 0, 1, 30}, {2, 0, 2, 29}, {30, 0, 30, 1}, {31, 0, 0, 0}, {99, 0, 0, 0},
		{5, 5, 5, 1}, {5, 9, 5, 5}, {9, 5, 0, 0}, {29, 999, 29, 2},
	} {
		got := MustRead(t, s.Events(), c.from, c.to)
		if uint64(len(got)) != c.n || c.n > 0 && got[0].Seq != c.first {
			t.Errorf("read %d to %d: %d events", c.from, c.to, len(got))
		}
	}
}

func testChain(t *testing.T, s *store.Store) {
	a := MustAppender(t, s.Events(), NewProjection())
	MustAdd(t, a, "a", 10)
	MustAdd(t, a, "b", 10)
	last, head := s.Events().Last()
	r, err := s.Events().Verify(t.Context(), nil)
	if want := (store.Report{Stream: s.Events().Name(), Count: 20, First: 1, Last: last, Head: head}); err != nil || !reflect.DeepEqual(r, want) {
		t.Errorf("verify: %+v, %v; want %+v", r, err, want)
	}
	seen := map[[32]byte]bool{}
	for _, e := range MustRead(t, s.Events(), 0, 0) {
		if seen[e.Chain] {
			t.Errorf("chain of %d is not its own", e.Seq)
		}
		seen[e.Chain] = true
	}
}

func testLarge(t *testing.T, s *store.Store) {
	a := MustAppender(t, s.Events(), NewProjection())
	const n = 2_500
	for i, o := range MustAdd(t, a, "a", n) {
		if o.Seq != uint64(i+1) {
			t.Fatalf("outcome %d at %d", i, o.Seq)
		}
	}
	if r, err := s.Events().Verify(t.Context(), nil); err != nil || r.Count != n {
		t.Errorf("verify: %+v, %v", r, err)
	}
}

func testFollow(t *testing.T, s *store.Store) {
	a := MustAppender(t, s.Events(), NewProjection())
	MustAdd(t, a, "before", 40)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	seqs, reached := []uint64{}, make(chan struct{}, 1000)
	done := make(chan error, 1)
	go func() {
		done <- a.Follow(ctx, 11, func(g []domain.Recorded) error {
			for _, r := range g {
				seqs = append(seqs, r.Seq)
				reached <- struct{}{}
			}
			return nil
		})
	}()
	for i := range 10 {
		MustAdd(t, a, fmt.Sprintf("live%d", i), 5)
	}
	for range 80 {
		<-reached
	}
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("follow: %v", err)
	}
	for i, got := range seqs {
		if got != uint64(i+11) {
			t.Fatalf("event %d at place %d", got, i)
		}
	}
}

func testLagging(t *testing.T, s *store.Store) {
	a, err := store.NewAppender(t.Context(), s.Events(), NewProjection(), store.AppenderOptions{RecentEvents: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	MustAdd(t, a, "first", 1)
	next, enough := uint64(1), errors.New("enough")
	err = a.Follow(t.Context(), 1, func(g []domain.Recorded) error {
		if next == 1 {
			for i := range 20 { // far more than the memory for followers holds, while this one is busy
				MustAdd(t, a, fmt.Sprintf("more%d", i), 3)
			}
		}
		for _, r := range g {
			if r.Seq != next {
				return fmt.Errorf("event %d where %d is next", r.Seq, next)
			}
			next++
		}
		if next == 62 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Errorf("follow: %v", err)
	}
}

func testConcurrent(t *testing.T, s *store.Store) {
	p := NewProjection()
	a := MustAppender(t, s.Events(), p)
	const submitters, each = 32, 15
	var mu sync.Mutex
	var seqs []uint64
	won := map[string]int{}
	var all sync.WaitGroup
	for n := range submitters {
		all.Go(func() {
			for i := range each {
				own, shared := fmt.Sprintf("own-%d-%d", n, i), fmt.Sprintf("shared-%d", i)
				got, err := a.Submit(t.Context(), Add(own), Add(shared))
				if err != nil || got[0].Err != nil {
					t.Errorf("submit: %+v, %v", got, err)
					return
				}
				mu.Lock()
				seqs = append(seqs, got[0].Seq)
				if got[1].Err == nil {
					seqs = append(seqs, got[1].Seq)
					won[shared]++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	slices.Sort(seqs)
	for i, got := range seqs {
		if got != uint64(i+1) {
			t.Fatalf("sequence %d at place %d", got, i)
		}
	}
	if want := submitters*each + each; len(seqs) != want || len(won) != each {
		t.Errorf("%d events, want %d; %d shared names", len(seqs), want, len(won))
	}
	for name, n := range won {
		if n != 1 {
			t.Errorf("%s was added %d times", name, n)
		}
	}
	if got := MustRead(t, s.Events(), 0, 0); !reflect.DeepEqual(got, p.Events()) {
		t.Error("the log and what was applied differ")
	}
}

func testPanic(t *testing.T, s *store.Store) {
	a := MustAppender(t, s.Events(), NewProjection())
	got, err := a.Submit(t.Context(), Add("one"), Panics(), Add("two"))
	if err != nil || got[0].Seq != 1 || domain.CodeOf(got[1].Err) != domain.Internal || got[1].Err == nil || got[2].Seq != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

func testBody(t *testing.T, s *store.Store) {
	p := NewProjection()
	a := MustAppender(t, s.Readings(), p)
	body := make([]byte, 1<<20)
	for i := range body {
		body[i] = byte(i * 7)
	}
	MustSubmit(t, a, Post("cam-1", body), Post("cam-1", nil), Post("cam-2", []byte("\r\nNATS/1.0 503\r\n")))
	got := MustRead(t, s.Readings(), 0, 0)
	for i, want := range p.Events() {
		g, w := got[i].Event.(domain.ReadingPosted), want.Event.(domain.ReadingPosted)
		if string(g.Value) != string(w.Value) || g.Reading != w.Reading {
			t.Errorf("reading %d differs", i)
		}
	}
}

func testTooLarge(t *testing.T, s *store.Store) {
	a := MustAppender(t, s.Readings(), NewProjection())
	got, err := a.Submit(t.Context(), Post("cam-1", make([]byte, 32<<20)), Post("cam-1", []byte("small")))
	if err != nil || domain.CodeOf(got[0].Err) != domain.TooLarge || got[1].Seq != 1 {
		t.Errorf("%+v, %v", got[0].Err, err)
	}
}

func testHeaders(t *testing.T, s *store.Store) {
	p := NewProjection()
	a := MustAppender(t, s.Events(), p)
	nasty := "x\r\nce-type: forged/1\r\nLedge-Actor: root\r\n\r\nbody %41 ü \x00\x7f\xff \""
	r := Add("one")
	r.Actor, r.CorrelationID, r.Origin = nasty, nasty+" ", " "+nasty
	MustSubmit(t, a, r)
	got := MustRead(t, s.Events(), 0, 0)
	if !reflect.DeepEqual(got, p.Events()) || got[0].Actor != nasty || got[0].CorrelationID != nasty+" " || got[0].Origin != " "+nasty {
		t.Errorf("stamp %+v", got[0].Stamp)
	}
	r = Add("two")
	r.CorrelationID = string(make([]byte, 1<<20))
	if got, err := a.Submit(t.Context(), r); err != nil || domain.CodeOf(got[0].Err) != domain.TooLarge {
		t.Errorf("a header of 1 MiB: %+v, %v", got, err)
	}
}

func testSubject(t *testing.T, s *store.Store) {
	a := MustAppender(t, s.Events(), NewProjection())
	for _, name := range []string{"", "a.b", "*", ">", "a b", "a\r\nPUB x", "ü"} {
		got, err := a.Submit(t.Context(), Add(name))
		if err != nil || domain.CodeOf(got[0].Err) != domain.Invalid {
			t.Errorf("%q: %+v, %v", name, got, err)
		}
	}
	MustAdd(t, a, "a~:;=_-9Z", 1)
}

func testCatchUp(t *testing.T, s *store.Store) {
	first := NewProjection()
	a := MustAppender(t, s.Events(), first)
	MustAdd(t, a, "a", 25)
	_ = a.Close()
	second := NewProjection()
	a, err := store.NewAppender(t.Context(), s.Events(), second, store.AppenderOptions{CatchUpEvents: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	if !reflect.DeepEqual(first.Events(), second.Events()) {
		t.Error("the projection that caught up has other events")
	}
	if o := MustAdd(t, a, "b", 1); o[0].Seq != 26 {
		t.Errorf("next sequence is %d", o[0].Seq)
	}
}

func testForeignCheckpoint(t *testing.T, s *store.Store) {
	p := NewProjection()
	a := MustAppender(t, s.Events(), p)
	MustAdd(t, a, "a", 5)
	_ = a.Close()
	for name, change := range map[string]func(r *domain.Recorded){
		"another event": func(r *domain.Recorded) { r.Chain[0]++ },
		"a longer past": func(r *domain.Recorded) { r.Seq++ },
	} {
		other := NewProjection()
		events := slices.Clone(p.Events())
		change(&events[4])
		other.events = events
		_, err := store.NewAppender(t.Context(), s.Events(), other, store.AppenderOptions{})
		if d := new(store.Damage); !errors.As(err, &d) {
			t.Errorf("%s: %v", name, err)
		} else {
			t.Log(err)
		}
	}
}

func testCancelled(t *testing.T, s *store.Store) {
	a := MustAppender(t, s.Events(), NewProjection())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := a.Submit(ctx, Add("one"))
	if err == nil {
		err = got[0].Err
	}
	if domain.CodeOf(err) != domain.Unavailable {
		t.Errorf("%+v, %v", got, err)
	}
	MustAdd(t, a, "two", 1)
	if last, _ := s.Events().Last(); last != 1 {
		t.Errorf("last = %d", last)
	}
}

func testClosed(t *testing.T, s *store.Store) {
	a := MustAppender(t, s.Events(), NewProjection())
	followed := make(chan error, 1)
	go func() { followed <- a.Follow(t.Context(), 1, func([]domain.Recorded) error { return nil }) }()
	MustAdd(t, a, "a", 1)
	_ = a.Close()
	_ = a.Close()
	if err := <-followed; domain.CodeOf(err) != domain.Unavailable {
		t.Errorf("follow: %v", err)
	}
	if _, err := a.Submit(t.Context(), Add("one")); domain.CodeOf(err) != domain.Unavailable {
		t.Errorf("submit: %v", err)
	}
}

func testApplyFails(t *testing.T, s *store.Store) {
	p := NewProjection()
	a := MustAppender(t, s.Events(), p)
	MustAdd(t, a, "a", 3)
	p.mu.Lock()
	p.Fail = func([]domain.Recorded) error { return errors.New("disk on fire") }
	p.mu.Unlock()
	for inDoubt := range 2 { // the first one is on the log, and the second one is not taken
		got, err := a.Submit(t.Context(), Add("one"))
		if err == nil {
			err = got[0].Err
		}
		if domain.CodeOf(err) != domain.Unavailable || domain.InDoubt(err) != (inDoubt == 0) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if err := s.Health(t.Context()); err == nil {
		t.Error("healthy after a failed apply")
	}
}

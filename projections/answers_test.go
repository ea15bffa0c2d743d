package projections

import (
	"fmt"
	"testing"
	"time"

	"ledge/domain"
	"ledge/projections/fold"
)

const keptFor = 50 // milliseconds; recorded gives each event one more

// keyed is a history in which clients send requests with keys, several elements each, and some of them again.
func keyed(n int) (events []domain.Recorded, state domain.State) {
	h := newHistory(11)
	for len(h.events) < n {
		hash := fmt.Sprint("key-", h.IntN(40))
		for element := range 1 + h.IntN(4) {
			h.element(hash, element)
		}
	}
	return h.events, h.state
}

func (h *history) element(hash string, element int) {
	n := h.IntN(1000)
	r := domain.Request{
		Stamp:   recorded(h.seq+1, nil).Stamp,
		Command: domain.PostReading{Reading: domain.ReadingPosted{Reading: domain.Reading{ID: uuid("reading", n), Origin: int64(n)}}},
	}
	if h.IntN(3) == 0 {
		r.Command = domain.Refuse{Err: domain.Errorf(domain.Conflict, "taken by %d", n)}
	}
	r.Key = &domain.Key{Hash: hash, Digest: fmt.Sprint("body-", h.IntN(2)), Element: element, Until: r.At.UnixMilli() + keptFor}
	r.MostAnswers = 1000
	e, err := domain.Decide(h.state, r)
	if err != nil {
		return
	}
	h.seq++
	one := recorded(h.seq, e)
	one.Stamp = r.Stamp
	domain.Evolve(h.state, &one)
	h.events = append(h.events, one)
}

// The answers are the same in memory, in the file and after a rebuild, in batches of whatever size, on every stream.
func TestAnswers(t *testing.T) {
	events, state := keyed(600)
	want := rebuilt(t, Readings, events)
	for _, size := range []int{1, 7, 100, 600} {
		for _, l := range []fold.Limits{{}, direct, {After: time.Millisecond, Events: 8}} {
			f := MustOpen(t, Readings)
			f.reopen(t, l)
			f.feed(t, size, events...)
			s, release := f.State()
			sameTable(t, "answers", state.Answers, s.Answers)
			sameTable(t, "answer order", state.AnswerOrder, s.AnswerOrder)
			release()
			sameDump(t, f.mustDump(t), want)
		}
	}
	for _, tables := range []Tables{Events, Notifications} {
		f := MustOpen(t, tables)
		one := recorded(1, domain.RequestAnswered{Key: "k"})
		one.Key = &domain.Key{Hash: "k", Until: 1}
		f.feed(t, 1, one)
		s, release := f.State()
		if a, ok := s.Answers.Get("k/0"); !ok || a.Until != 1 {
			t.Errorf("%s: got %+v, %t", tables, a, ok)
		}
		release()
	}
}

// Retention takes the reading and its event and leaves the answer: its time is its own.
func TestForgetKeepsAnswers(t *testing.T) {
	f := MustOpen(t, Readings)
	events := posts(2)
	events[0].Key = &domain.Key{Hash: "k", Until: 1}
	f.feed(t, 1, events...)
	n, err := f.Forget(t.Context(), 2)
	must(t, err)
	s, release := f.State()
	if _, ok := s.Answers.Get("k/0"); n != 2 || !ok {
		t.Errorf("%d rows went, the answer is there: %t", n, ok)
	}
	release()
	f.startAgain(t, events)
}

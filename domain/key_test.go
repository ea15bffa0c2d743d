package domain

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

const keep = 60_000 // milliseconds

// keyed is a request with a key: "k" is its hash, digest tells its body.
func keyed(cmd Command, digest string, element int, at int64) Request {
	return keyedAs("k", cmd, digest, element, at)
}

func keyedAs(hash string, cmd Command, digest string, element int, at int64) Request {
	return Request{
		Stamp:   Stamp{At: time.UnixMilli(at), Key: &Key{Hash: hash, Digest: digest, Element: element, Until: at + keep}},
		Command: cmd, MostAnswers: 1000,
	}
}

// mustRecord decides r, which must make an event, and folds that.
func mustRecord(tb testing.TB, s State, r Request) Event {
	tb.Helper()
	e, err := Decide(s, r)
	if err != nil || e == nil {
		tb.Fatalf("%#v: got %#v, %v", r.Command, e, err)
	}
	Evolve(s, &Recorded{Stamp: r.Stamp, Event: e})
	return e
}

func wantAnswered(t *testing.T, s State, r Request, id, refused string) {
	t.Helper()
	e, err := Decide(s, r)
	before, ok := errors.AsType[*Answered](err)
	if e != nil || !ok {
		t.Fatalf("got %#v, %v, want what was answered before", e, err)
	}
	if got := fmt.Sprint(before.Err()); before.ID != id || refused == "" && before.Err() != nil || !strings.Contains(got, refused) {
		t.Errorf("answered %q, %s, want %q, %s", before.ID, got, id, refused)
	}
}

func wantRefused(t *testing.T, s State, r Request, code Code) {
	t.Helper()
	if e, err := Decide(s, r); e != nil || err == nil || CodeOf(err) != code {
		t.Errorf("got %#v, %v, want an error with code %d", e, err, code)
	}
}

// The answer stays what it was when the state is another one, for an addition as for a refusal.
func TestAnsweredOnce(t *testing.T) {
	s := given(onboarded()...)
	second := AddDevice{with(camera(), func(d *Device) { d.Name, d.ID = "cam-2", otherID })}
	again := AddDevice{with(camera(), func(d *Device) { d.Name, d.ID = "cam-2", noticeID })} // as repeated: with a new id
	mustRecord(t, s, keyed(second, "body", 0, created))
	mustRecord(t, s, keyed(AddDevice{camera()}, "body", 1, created))
	answers := func() {
		wantAnswered(t, s, keyed(again, "body", 0, created+keep-1), otherID, "")
		wantAnswered(t, s, keyed(AddDevice{camera()}, "body", 1, created+1), "", "exists already")
	}
	answers()
	DeviceRemoved{Device: camera()}.Evolve(s)
	DeviceRemoved{Device: second.Device}.Evolve(s)
	answers()
	if got := mustRecord(t, s, keyed(AddDevice{camera()}, "body", 2, created+1)).(DeviceAdded); got.Device.ID != cameraID {
		t.Errorf("an element that has no answer: got %#v", got)
	}
}

func TestNothingToDoIsAnAnswer(t *testing.T) {
	s := given(onboarded()...)
	want := RequestAnswered{Key: "k"}
	if got := mustRecord(t, s, keyed(patchCamera(), "body", 0, created)); got != want {
		t.Errorf("got %#v, want %#v", got, want)
	}
	wantAnswered(t, s, keyed(RemoveDevice{"cam-1"}, "body", 0, created), "", "")
}

func TestOtherRequestUnderTheKey(t *testing.T) {
	s := given(onboarded()...)
	for i := range 2 {
		mustRecord(t, s, keyed(PostReading{picture()}, "body", i, created))
	}
	for i := range 3 {
		wantRefused(t, s, keyed(PostReading{picture()}, "other", i, created), Mismatch)
	}
	mustRecord(t, s, keyedAs("k2", PostReading{picture()}, "other", 0, created))
}

// What is on record of a request is always its beginning.
func TestElementsInOrder(t *testing.T) {
	s := given()
	wantRefused(t, s, keyed(PostReading{picture()}, "body", 1, created), Unavailable)
	for _, cmd := range []Command{
		Refuse{Errorf(Unavailable, "later")}, Refuse{Errorf(Full, "full")}, Refuse{errors.New("ours")}, Recall{Errorf(NotFound, "none")},
	} {
		if e, err := Decide(s, keyed(cmd, "body", 0, created)); e != nil || err == nil {
			t.Errorf("%#v: got %#v, %v, want its error, which is not remembered", cmd, e, err)
		}
	}
	mustRecord(t, s, keyed(Refuse{Errorf(Conflict, "taken")}, "body", 0, created))
	wantAnswered(t, s, keyed(Recall{Errorf(NotFound, "none")}, "body", 0, created), "", "taken")
	mustRecord(t, s, keyed(PostReading{picture()}, "body", 1, created))
}

// A request is forgotten as a whole, when its first element is.
func TestAnswersAreForgotten(t *testing.T) {
	s := given()
	mustRecord(t, s, keyed(PostReading{picture()}, "body", 0, created))
	mustRecord(t, s, keyed(PostReading{picture()}, "body", 1, created+keep/2)) // after a crash
	wantAnswered(t, s, keyed(PostReading{picture()}, "body", 1, created+keep-1), "", "")
	for i := range 2 {
		mustRecord(t, s, keyed(PostReading{picture()}, "other", i, created+keep))
	}
	wantRefused(t, s, keyed(PostReading{picture()}, "body", 0, created+keep), Mismatch)
	if n := len(s.Answers.(MapTable[Answer])); n != 2 {
		t.Errorf("%d answers are kept, want 2", n)
	}
}

// An answer whose key was used again goes without the newer one.
func TestOldAnswerOfKey(t *testing.T) {
	s, post := given(), PostReading{picture()}
	mustRecord(t, s, keyedAs("y", post, "body", 0, created))
	mustRecord(t, s, keyedAs("x", post, "body", 0, created+keep/2)) // stays longer than what comes after it
	mustRecord(t, s, keyedAs("y", post, "body", 1, created+keep/2))
	for i := range 2 {
		mustRecord(t, s, keyedAs("y", post, "other", i, created+keep))
	}
	mustRecord(t, s, keyedAs("z", post, "body", 0, created+keep*3/2))
	wantAnswered(t, s, keyedAs("y", post, "other", 1, created+keep*3/2), "", "")
	if first, next := answers(s); next-first != 3 {
		t.Errorf("%d answers are kept, want 3", next-first)
	}
}

func TestMostAnswers(t *testing.T) {
	s := given()
	post := func(i int, at int64) Request {
		r := keyedAs(fmt.Sprint(i), PostReading{picture()}, "body", 0, at)
		r.MostAnswers = 3
		return r
	}
	for i := range 3 {
		mustRecord(t, s, post(i, created))
	}
	wantRefused(t, s, post(3, created+1), Unavailable)
	wantAnswered(t, s, post(0, created+1), "", "")
	other := post(4, created+1)
	other.Origin = "10.0.0.1:4711"
	wantRefused(t, s, other, Unavailable) // all are kept
	without := post(3, created+1)
	without.Key = nil
	mustRecord(t, s, without)
	mustRecord(t, s, post(3, created+keep))
}

// One client cannot have all the answers that are kept: another one's requests with a key are served beside it.
func TestMostAnswersOfClient(t *testing.T) {
	s := given()
	post := func(i int, origin string, at int64) Request {
		r := keyedAs(fmt.Sprint(i), PostReading{picture()}, "body", 0, at)
		r.MostAnswers, r.Origin = 8, origin
		return r
	}
	for i := range 6 {
		mustRecord(t, s, post(i, fmt.Sprint("10.0.0.1:", i), created))
	}
	wantRefused(t, s, post(6, "10.0.0.1:6", created), Unavailable)
	wantAnswered(t, s, post(0, "10.0.0.1:7", created), "", "")
	mustRecord(t, s, post(7, "10.0.0.2:1", created))
	mustRecord(t, s, post(8, "10.0.0.3:1", created))
	mustRecord(t, s, post(6, "10.0.0.1:6", created+keep))
	for client, want := range map[string]int64{"10.0.0.1": 1, "10.0.0.2": 0, "10.0.0.3": 0} {
		if got := answersOf(s, client); got != want {
			t.Errorf("%s has %d answers, want %d", client, got, want)
		}
	}
}

// Each answer is there from its event until its time, and nothing is kept much longer.
func TestAnswersLikeAScan(t *testing.T) {
	random, s, at := rand.New(rand.NewPCG(3, 4)), given(), int64(created)
	model := map[string]Answer{}
	for n := range 5000 {
		at += random.Int64N(keep / 200)
		hash, element, digest := fmt.Sprint(random.IntN(300)), random.IntN(4), fmt.Sprint(random.IntN(3))
		r := keyedAs(hash, PostReading{picture()}, digest, element, at)
		r.MostAnswers = 5000
		live := func(element int) (Answer, bool) {
			a, ok := model[answerKey(hash, element)]
			return a, ok && a.Until > at
		}
		a, is := live(element)
		before, was := live(element - 1)
		e, err := Decide(s, r)
		_, answered := errors.AsType[*Answered](err)
		switch {
		case is && (a.Digest == digest) != answered, is && e != nil:
			t.Fatalf("step %d: got %v, answered was %+v", n, err, a)
		case !is && element > 0 && (!was || before.Digest != digest) && e != nil:
			t.Fatalf("step %d: got %#v, before it was %+v, %t", n, e, before, was)
		case !is && (element == 0 || was && before.Digest == digest) && e == nil:
			t.Fatalf("step %d: got %v", n, err)
		}
		if e == nil {
			continue
		}
		Evolve(s, &Recorded{Stamp: r.Stamp, Event: e})
		until := at + keep
		if was {
			until = before.Until
		}
		model[answerKey(hash, element)] = Answer{Digest: digest, Until: until}
	}
	first, next := answers(s)
	live := 0
	for _, a := range model {
		if a.Until > at {
			live++
		}
	}
	if kept := len(s.Answers.(MapTable[Answer])); first == 0 || next-first > uint64(live+dropAtOnce) || len(s.AnswerOrder.(MapTable[string])) != int(next-first)+3 || answersOf(s, "") != int64(kept) {
		t.Errorf("%d answers, %d of them live, numbers from %d to %d, %d in order", kept, live, first, next, len(s.AnswerOrder.(MapTable[string])))
	}
	for name, a := range s.Answers.(MapTable[Answer]) {
		if in, _ := s.AnswerOrder.Get(number(a.Number)); in != name || a.Number < first {
			t.Errorf("answer %d of %s is called %q in the order, which begins at %d", a.Number, name, in, first)
		}
	}
}

func TestParseKey(t *testing.T) {
	want := Key{Hash: "5f0c", Digest: "d2e4", Element: 7, Until: 1760000086400000}
	const text = "key=5f0c;digest=d2e4;element=7;until=1760000086400000"
	if got, err := ParseKey(text); err != nil || got != want || want.String() != text {
		t.Errorf("got %+v, %v, and %s", got, err, want)
	}
	for _, bad := range []string{
		"", "key=5f0c", text + ";more=1", strings.Replace(text, "digest", "body", 1), strings.Replace(text, "7", "x", 1), strings.Replace(text, "1760000086400000", "soon", 1),
	} {
		if got, err := ParseKey(bad); err == nil {
			t.Errorf("%q: got %+v, want an error", bad, got)
		}
	}
}

func TestLastAnswerUntil(t *testing.T) {
	s := NewMapState()
	if got := LastAnswerUntil(s); got != 0 {
		t.Errorf("without answers: %d", got)
	}
	for element, until := range []int64{30, 70} {
		Evolve(s, &Recorded{Stamp: Stamp{Key: &Key{Hash: fmt.Sprint("h", element), Digest: "d", Until: until}}, Event: picture()})
	}
	if got := LastAnswerUntil(s); got != 70 {
		t.Errorf("got %d, want 70", got)
	}
}

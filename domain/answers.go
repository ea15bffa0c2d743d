package domain

import (
	"strconv"
	"strings"
)

// refusals are the codes of what is refused for good, with their names on the log. Any other refusal is none to repeat:
// asked again, the element is decided again.
var refusals = map[Code]string{
	Invalid: "invalid", NotFound: "not-found", Conflict: "conflict", Locked: "locked", NotAllowed: "not-allowed", TooLarge: "too-large",
	Rejected: "rejected",
}

// Answer is what was answered to one element of a request with a key.
type Answer struct {
	// Number is its place among all answers of the stream, from 0.
	Number uint64
	// Digest and Until are the Key's.
	Digest string
	Until  int64
	// Client is who sent the request.
	Client string `json:",omitempty"`
	// Seq is the sequence of the event that the element made, 0 where that only records the answer.
	Seq uint64 `json:",omitempty"`
	// ID is the id of the entity that the element added, if it did.
	ID string `json:",omitempty"`
	// Code and Message are those of a refusal; Code is empty for a success.
	Code    string `json:",omitempty"`
	Message string `json:",omitempty"`
}

// Err returns the refusal that was answered, nil for a success.
func (a Answer) Err() error { return refusal(a.Code, a.Message) }

func refusal(code, message string) error {
	if code == "" {
		return nil
	}
	for c, name := range refusals {
		if name == code {
			return &Error{Code: c, Message: message}
		}
	}
	return &Error{Code: Internal, Message: message} // of a newer version
}

// Answered is the error for an element that has its answer already; nothing is decided or recorded again.
type Answered struct{ Answer }

func (a *Answered) Error() string {
	return "answered before: " + strings.TrimSpace(a.Code+" "+a.Message+a.ID)
}

// The answers to requests with a key are in State.Answers, by answerKey. State.AnswerOrder has the same keys by the
// answers' numbers, from that in "first" to that before "next": the oldest are dropped first. It also has how many answers
// each client has, under clientAnswers with the client behind it.
const (
	firstAnswer   = "first"
	nextAnswer    = "next"
	clientAnswers = "client "
)

// dropAtOnce is how many answers one event may drop whose time is over: more than it adds, and few enough not to hold
// others up.
const dropAtOnce = 16

func answerKey(hash string, element int) string { return hash + "/" + strconv.Itoa(element) }

// answer returns the answer to an element of k's request that is not forgotten at a time.
func (k *Key) answer(s State, element int, at int64) (Answer, bool) {
	a, ok := s.Answers.Get(answerKey(k.Hash, element))
	return a, ok && a.Until > at
}

// Evolve folds a recorded event into s, and what its key says was answered.
func Evolve(s State, r *Recorded) {
	if r.Seq == 1 {
		noteStart(s)
	}
	r.Event.Evolve(s)
	if e, ok := r.Event.(interface{ noteAt(State, uint64) }); ok {
		e.noteAt(s, r.Seq)
	}
	if r.Key != nil {
		remember(s, r)
	}
}

// remember adds the answer that an event was to an element.
func remember(s State, r *Recorded) {
	k, at := r.Key, r.At.UnixMilli()
	first, next := dropAnswers(s, at)
	a := Answer{Number: next, Digest: k.Digest, Until: k.Until, Client: r.Client(), Seq: r.Seq}
	if before, ok := k.answer(s, k.Element-1, at); ok {
		a.Until = before.Until
	}
	switch e := r.Event.(type) {
	case RequestAnswered:
		a.Seq, a.Code, a.Message = 0, e.Code, e.Message
	case interface{ AddedID() string }:
		a.ID = e.AddedID()
	}
	name := answerKey(k.Hash, k.Element)
	if before, ok := s.Answers.Get(name); ok { // its time is over
		countAnswers(s, before.Client, -1)
	}
	s.Answers.Put(name, a)
	countAnswers(s, a.Client, 1)
	s.AnswerOrder.Put(number(next), name)
	s.AnswerOrder.Put(firstAnswer, number(first))
	s.AnswerOrder.Put(nextAnswer, number(next+1))
}

// dropAnswers drops the oldest answers where their time is over, and returns the numbers of the oldest one that stays and
// of the next one.
func dropAnswers(s State, at int64) (first, next uint64) {
	first, next = answers(s)
	for range min(dropAtOnce, next-first) {
		oldest, is := numbered(s, first)
		if is && oldest.Until > at {
			break
		}
		if is {
			name, _ := s.AnswerOrder.Get(number(first))
			s.Answers.Delete(name)
			countAnswers(s, oldest.Client, -1)
		}
		s.AnswerOrder.Delete(number(first))
		first++
	}
	return first, next
}

// numbered returns the answer with a number; false where its key has had another one since.
func numbered(s State, n uint64) (Answer, bool) {
	name, _ := s.AnswerOrder.Get(number(n))
	a, ok := s.Answers.Get(name)
	return a, ok && a.Number == n
}

// answersOf returns how many answers to a client's requests are kept.
func answersOf(s State, client string) int64 { return int64(answerNumber(s, clientAnswers+client)) }

func countAnswers(s State, client string, n int64) {
	if n += answersOf(s, client); n > 0 {
		s.AnswerOrder.Put(clientAnswers+client, number(uint64(n)))
	} else {
		s.AnswerOrder.Delete(clientAnswers + client)
	}
}

// answers returns the numbers of the oldest answer and of the next one.
func answers(s State) (first, next uint64) {
	return answerNumber(s, firstAnswer), answerNumber(s, nextAnswer)
}

func answerNumber(s State, key string) uint64 {
	text, _ := s.AnswerOrder.Get(key)
	n, _ := strconv.ParseUint(text, 10, 64) // 0 where there was none yet
	return n
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }

// LastAnswerUntil returns until when the newest answer is kept, in milliseconds since the Unix epoch; 0 where there is none.
func LastAnswerUntil(s State) int64 {
	if _, next := answers(s); next > 0 {
		a, _ := numbered(s, next-1)
		return a.Until
	}
	return 0
}

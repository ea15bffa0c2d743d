package domain

import "errors"

// Decide decides a request's command. With a key, what was answered before is an [Answered] error, and what is refused for
// good, or is nothing to do, makes a [RequestAnswered]. It refuses what comes from an identity that is not any more what it was when the
// request was let in, so that no event has an actor who had no right at its sequence.
func Decide(s State, r Request) (Event, error) {
	if r.By != nil {
		if err := r.By.Still(s, r.At.UnixMilli()); err != nil {
			return nil, err
		}
	}
	if r.Key == nil {
		return r.Command.Decide(s)
	}
	at := r.At.UnixMilli()
	if err := r.Key.check(s, at); err != nil {
		return nil, err
	}
	e, err := r.Command.Decide(s)
	if e == nil {
		e = r.answered(err)
	}
	if e == nil {
		return nil, err
	}
	if err := r.Key.room(s, at, r.MostAnswers, r.Client()); err != nil {
		return nil, err
	}
	return e, nil
}

// answered is the event that has err remembered, or success where err is nil; nil where err is nothing to remember.
func (r Request) answered(err error) Event {
	if _, ok := r.Command.(Recall); ok {
		return nil
	}
	e := RequestAnswered{Key: r.Key.Hash, Element: r.Key.Element}
	if err != nil {
		refused, ok := errors.AsType[*Error](err)
		if !ok || refusals[refused.Code] == "" {
			return nil
		}
		e.Code, e.Message = refusals[refused.Code], refused.Message
	}
	return e
}

// Refuse is the command of an element that was refused with Err before it could be decided.
type Refuse struct{ Err error }

// Decide refuses.
func (c Refuse) Decide(State) (Event, error) { return nil, c.Err }

// Recall asks only for the answer that a key has; where it has none, Err is the answer, and is not remembered.
type Recall struct{ Err error }

// Decide refuses.
func (c Recall) Decide(State) (Event, error) { return nil, c.Err }

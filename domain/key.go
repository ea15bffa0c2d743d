package domain

import (
	"fmt"
	"strconv"
	"strings"
)

// Key makes a command safe to repeat: it names the element of a request with an Idempotency-Key that the command came
// from. It stands on the event, so that whoever folds the log knows what was answered.
type Key struct {
	// Hash is the hex SHA-256 of what the client calls the request, and of whom it asked.
	Hash string
	// Digest is the hex SHA-256 of the request's method, path and body: another one under the same Hash is a mistake.
	Digest string
	// Element is the command's place in the request, from 0.
	Element int
	// Until is when the answer is forgotten, in milliseconds since the Unix epoch. All elements of a request are
	// forgotten when the first one is.
	Until int64
}

// String returns the form in which the log stores a key; [ParseKey] is its inverse.
func (k Key) String() string {
	return "key=" + k.Hash + ";digest=" + k.Digest + ";element=" + strconv.Itoa(k.Element) + ";until=" + strconv.FormatInt(k.Until, 10)
}

// ParseKey reads what String has written.
func ParseKey(s string) (k Key, err error) {
	parts := strings.Split(s, ";")
	names := [...]string{"key=", "digest=", "element=", "until="}
	if len(parts) != len(names) {
		return k, fmt.Errorf("key %.80q has not the four parts key, digest, element, until", s)
	}
	for i, name := range names {
		value, ok := strings.CutPrefix(parts[i], name)
		if !ok {
			return k, fmt.Errorf("key %.80q: part %d is not %s…", s, i, name)
		}
		parts[i] = value
	}
	k.Hash, k.Digest = parts[0], parts[1]
	if k.Element, err = strconv.Atoi(parts[2]); err != nil {
		return k, fmt.Errorf("key %.80q: element: %w", s, err)
	}
	if k.Until, err = strconv.ParseInt(parts[3], 10, 64); err != nil {
		return k, fmt.Errorf("key %.80q: until: %w", s, err)
	}
	return k, nil
}

// check returns an [Answered] where the element has its answer, and refuses another request under the same key. It also
// refuses an element whose predecessor has no answer, so that what is on record of a request is always its beginning:
// the first element then tells of all whether they are of this request.
func (k *Key) check(s State, at int64) error {
	a, known := k.answer(s, k.Element, at)
	before := a
	if !known && k.Element > 0 {
		var ok bool
		if before, ok = k.answer(s, k.Element-1, at); !ok {
			return Errorf(Unavailable, "not recorded: the element before it was not; send the whole request again with the same Idempotency-Key")
		}
	}
	switch {
	case !known && k.Element == 0:
		return nil
	case before.Digest != k.Digest:
		return Errorf(Mismatch, "this Idempotency-Key was used for a request with another path or body; use a new key for a new request, or send the first one unchanged")
	case known:
		return &Answered{a}
	}
	return nil
}

// room refuses where most answers are kept, or the client's share of them, and the oldest is not to be dropped yet.
func (k *Key) room(s State, at int64, most int, client string) error {
	first, next := answers(s)
	free := int64(most) - int64(next-first)
	if held := answersOf(s, client); free > 0 && held < Share(held, free) {
		return nil
	}
	if oldest, ok := numbered(s, first); ok && oldest.Until > at {
		return Errorf(Unavailable, "%d answers to requests with an Idempotency-Key are kept, or three quarters of that for this client, which is the limit; send the request without one, or wait until they are a day old", most)
	}
	return nil
}

package domain

import "strconv"

// CursorCallbacks is the key in State.Cursors of the last event whose callbacks to device services are made or given up.
const CursorCallbacks = "callbacks"

// CursorCallbacksOf is the key in State.Cursors of the last event that a device service needs no more callbacks for; it
// is there while the service is behind CursorCallbacks.
func CursorCallbacksOf(service string) string { return CursorCallbacks + "/" + service }

// RecordCallbacks says how far device services have been called back: UpTo is a sequence of the event stream. Behind
// has the services that wait for earlier ones, each with the last that it does not wait for, and with 0 those that were
// behind and are not any more.
type RecordCallbacks struct {
	UpTo   uint64
	Behind map[string]uint64
}

// Decide makes no event where nothing has moved.
func (c RecordCallbacks) Decide(s State) (Event, error) {
	done, _ := s.Cursors.Get(CursorCallbacks)
	moved := c.UpTo > done
	for service, seq := range c.Behind {
		had, _ := s.Cursors.Get(CursorCallbacksOf(service))
		moved = moved || had != seq
	}
	if !moved {
		return nil, nil
	}
	return CallbacksMade{UpTo: max(c.UpTo, done), Behind: c.Behind}, nil
}

// CallbacksMade records how far device services have been called back; see [RecordCallbacks].
type CallbacksMade struct {
	UpTo   uint64            `json:"upTo"`
	Behind map[string]uint64 `json:"behind,omitempty"`
}

// Evolve moves the cursors.
func (e CallbacksMade) Evolve(s State) {
	s.Cursors.Put(CursorCallbacks, e.UpTo)
	for service, seq := range e.Behind {
		if seq == 0 {
			s.Cursors.Delete(CursorCallbacksOf(service))
		} else {
			s.Cursors.Put(CursorCallbacksOf(service), seq)
		}
	}
}

// Subject implements Event.
func (e CallbacksMade) Subject() Subject {
	return Subject{"callbacks", strconv.FormatUint(e.UpTo, 10), "made"}
}

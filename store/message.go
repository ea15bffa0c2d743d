package store

import "ledge/domain"

// Stamp returns when, by whom and as part of what the event was recorded; zeros where the message does not say.
func (m Message) Stamp() domain.Stamp {
	st, _ := stampOf(m.Header)
	return st
}

// Wire returns the event in the form in which domain.Decode takes it.
func (m Message) Wire() domain.Wire { return wireOf(m.Header, m.Data) }

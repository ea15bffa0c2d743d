package domain

// TokenAdded records a new token. The event has only the id of its hash in the secret store.
type TokenAdded struct {
	Token Token `json:"token"`
	// Prev is the sequence of the last removal of the name; 0 for none, and in events of older versions.
	Prev uint64 `json:"prev,omitempty"`
}

// Evolve adds the token.
func (e TokenAdded) Evolve(s State) {
	s.Tokens.Put(e.Token.Name, e.Token)
	addUses(s, countOfTokens, +1)
}

// Subject implements Event.
func (e TokenAdded) Subject() Subject { return Subject{"token", e.Token.Name, "added"} }

// TokenRotated is the event that a token got another secret. The one before is valid until OldUntil, in milliseconds since the Unix
// epoch; 0 is not at all.
type TokenRotated struct {
	Name       string `json:"name"`
	Credential string `json:"credential"`
	OldUntil   int64  `json:"oldUntil,omitempty"`
	// Prev is the sequence of the event before it of the entity; 0 in events of older versions.
	Prev uint64 `json:"prev,omitempty"`
}

// Evolve implements [Event].
func (e TokenRotated) Evolve(s State) {
	t, ok := s.Tokens.Get(e.Name)
	if !ok {
		return
	}
	t.Old, t.OldUntil = "", e.OldUntil
	if e.OldUntil != 0 {
		t.Old = t.Credential
	}
	t.Credential = e.Credential
	s.Tokens.Put(e.Name, t)
}

// Subject implements [Event].
func (e TokenRotated) Subject() Subject { return Subject{"token", e.Name, "rotated"} }

// TokenRemoved records that a token is revoked; Token is what it last was.
type TokenRemoved struct {
	Token Token `json:"token"`
	// Prev is the sequence of the event before it of the entity; 0 in events of older versions.
	Prev uint64 `json:"prev,omitempty"`
}

// Evolve removes the token.
func (e TokenRemoved) Evolve(s State) {
	s.Tokens.Delete(e.Token.Name)
	addUses(s, countOfTokens, -1)
}

// Subject implements Event.
func (e TokenRemoved) Subject() Subject { return Subject{"token", e.Token.Name, "removed"} }

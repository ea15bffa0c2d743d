package domain

// TokenAdded records a new token. The event has only the id of its hash in the secret store.
type TokenAdded struct {
	Token Token `json:"token"`
}

// Evolve adds the token.
func (e TokenAdded) Evolve(s State) {
	s.Tokens.Put(e.Token.Name, e.Token)
	addUses(s, countOfTokens, +1)
}

// Subject implements Event.
func (e TokenAdded) Subject() Subject { return Subject{"token", e.Token.Name, "added"} }

// TokenRemoved records that a token is revoked; Token is what it last was.
type TokenRemoved struct {
	Token Token `json:"token"`
}

// Evolve removes the token.
func (e TokenRemoved) Evolve(s State) {
	s.Tokens.Delete(e.Token.Name)
	addUses(s, countOfTokens, -1)
}

// Subject implements Event.
func (e TokenRemoved) Subject() Subject { return Subject{"token", e.Token.Name, "removed"} }

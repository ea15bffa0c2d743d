package node

import (
	"ledge/domain"
	"ledge/projections"
	"ledge/store"
)

// decideOn returns the state on which the requests of a stream are decided.
func (n *Node) decideOn(p *Part) store.Projection {
	if p == &n.Changes {
		return p.State
	}
	return withIdentities{p.State, n.Changes.State}
}

// withIdentities is the state of another stream than the log of changes. Its users and tokens are those of the log of changes at the moment
// when a decision asks: a request that has lost its right changes nothing on any stream.
type withIdentities struct {
	*projections.DB
	changes *projections.DB
}

// State implements store.Projection.
func (p withIdentities) State() (domain.State, func()) {
	s, release := p.DB.State()
	s.Users = asked[domain.User](func(name string) (domain.User, bool) {
		v, done := p.changes.View()
		defer done()
		return v.State.Users.Get(name)
	})
	s.Tokens = asked[domain.Token](func(name string) (domain.Token, bool) {
		v, done := p.changes.View()
		defer done()
		return v.State.Tokens.Get(name)
	})
	return s, release
}

// asked is a table that is only read.
type asked[S any] func(name string) (S, bool)

func (t asked[S]) Get(name string) (S, bool) { return t(name) }

func (asked[S]) Put(string, S) { panic("only the log of changes changes users and tokens") }

func (asked[S]) Delete(string) { panic("only the log of changes changes users and tokens") }

package tap

import (
	"context"
	"crypto/subtle"
	"errors"
	"maps"
	"slices"
	"time"

	"ledge/domain"

	"github.com/nats-io/nats-server/v2/server"
)

// authenticator gives each connection of the tap server its account and permissions, if clients have identities. The proxy has
// checked the identity. The server calls Check at every CONNECT, with the number of the connection, so a client cannot change
// its identity.
type authenticator struct {
	proxy *proxy
	users map[string]*server.User // as accounts has them, by name
}

func newAuthenticator(p *proxy, users []*server.User) *authenticator {
	auth := &authenticator{proxy: p, users: map[string]*server.User{}}
	for _, u := range users {
		auth.users[u.Username] = u
	}
	return auth
}

// Check implements server.Authentication.
func (auth *authenticator) Check(c server.ClientAuthentication) bool {
	user := auth.inside(c.GetOpts())
	if a, outside := auth.proxy.accessAt(c.GetID()); outside {
		user = auth.member(a)
	}
	if user == nil {
		return false
	}
	account, err := auth.proxy.server.LookupAccount(user.Account.Name)
	if err != nil {
		return false
	}
	c.RegisterUser(&server.User{Username: user.Username, Account: account, Permissions: user.Permissions})
	return true
}

// inside returns the user of Ledge's own connections, or nil for a wrong login.
func (auth *authenticator) inside(login *server.ClientOpts) *server.User {
	switch login.Username {
	case ledgeUser, responderUser:
		u := auth.users[login.Username]
		if subtle.ConstantTimeCompare([]byte(login.Password), []byte(u.Password)) == 1 {
			return u
		}
	}
	return nil
}

// member returns the user of a client, with its permissions, or nil for a client that has not logged in.
func (auth *authenticator) member(a access) *server.User {
	switch a.class {
	case ofHistory:
		return auth.users[historyUser]
	case ofTaps:
		u := *auth.users[tapUser]
		seen := &server.SubjectPermission{Allow: u.Permissions.Subscribe.Allow}
		if !a.identity.Role.May(domain.MayChange) {
			seen.Deny = withAnswers()
		}
		u.Permissions = &server.Permissions{Publish: u.Permissions.Publish, Subscribe: seen}
		return &u
	}
	return nil
}

// accessAt returns the access of the client on a connection of the server; not ok for a connection of our own.
func (p *proxy) accessAt(cid uint64) (a access, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.sessions {
		if s.cid == cid {
			return s.access, true
		}
	}
	return access{}, false
}

// recheckEvery is how often it is looked whether the identities of connected clients still have their rights.
const recheckEvery = 10 * time.Second

// Recheck ends the connections of those clients of the tap whose identity has lost its rights; see [Options].Still. It is called when users or
// tokens have changed.
func (s *Server) Recheck() {
	if s != nil {
		s.recheck(false)
	}
}

// Refusals returns how many connections the tap has refused or ended since the start, by reason.
func (s *Server) Refusals() map[string]uint64 {
	if s == nil {
		return nil
	}
	r := s.refused
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.counts)
}

// recheckAgain rechecks until ctx ends. What the program cannot tell of a token by its name, such as when a JWT expires, a new check
// of the token tells.
func (p *proxy) recheckAgain(ctx context.Context) {
	tick := time.NewTicker(recheckEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			p.recheck(true)
		}
	}
}

// recheck ends the connections of the identities that have lost their rights. With tokens, each token is checked anew.
func (p *proxy) recheck(tokens bool) {
	for s, a := range p.identified() {
		if !p.still(a.identity) || tokens && p.expired(s, a) {
			p.end(s)
		}
	}
}

// identified returns the sessions with an identity.
func (p *proxy) identified() map[*session]access {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[*session]access{}
	for s := range p.sessions {
		if s.access.identity.Actor != "" {
			all[s] = s.access
		}
	}
	return all
}

// expired reports whether a token is refused now, or stands for another identity. A check that is put off, because others fail too often
// from the same address, says nothing.
func (p *proxy) expired(s *session, a access) bool {
	if a.token == "" {
		return false
	}
	ctx, cancel := s.limited(checkWait)
	defer cancel()
	now, err := p.check(ctx, "", "", a.token, s.client)
	if err != nil {
		var known *domain.Error
		return errors.As(err, &known) && (known.Code == domain.Unauthenticated || known.Code == domain.Forbidden)
	}
	was := a.identity
	return now.Actor != was.Actor || now.Role != was.Role || !slices.Equal(now.Devices, was.Devices)
}

// end cuts off a client whose identity has lost its rights.
func (p *proxy) end(s *session) {
	p.log.Warn("tap cut off: its identity has lost its rights, or has new credentials", "client", s.client, "actor", s.access.identity.Actor)
	p.refused.count(byEnd)
	p.mu.Lock()
	p.leave(s)
	p.mu.Unlock()
	s.close()
}

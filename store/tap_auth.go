package store

import (
	"crypto/subtle"

	"github.com/nats-io/nats-server/v2/server"

	"ledge/domain"
)

// authenticator gives each connection of the tap server its account and permissions, if clients have identities. The proxy has
// checked the identity. The server calls Check at every CONNECT, with the number of the connection, so a client cannot change
// its identity.
type authenticator struct {
	proxy *proxy
	users map[string]*server.User // as tapAccounts has them, by name
}

func newAuthenticator(d *proxy, users []*server.User) *authenticator {
	g := &authenticator{proxy: d, users: map[string]*server.User{}}
	for _, u := range users {
		g.users[u.Username] = u
	}
	return g
}

// Check implements server.Authentication.
func (g *authenticator) Check(c server.ClientAuthentication) bool {
	user := g.inside(c.GetOpts())
	if a, outside := g.proxy.accessAt(c.GetID()); outside {
		user = g.member(a)
	}
	if user == nil {
		return false
	}
	account, err := g.proxy.server.LookupAccount(user.Account.Name)
	if err != nil {
		return false
	}
	c.RegisterUser(&server.User{Username: user.Username, Account: account, Permissions: user.Permissions})
	return true
}

// inside returns the user of Ledge's own connections, or nil for a wrong login.
func (g *authenticator) inside(login *server.ClientOpts) *server.User {
	switch login.Username {
	case ledgeUser, deskUser(historyAccount):
		u := g.users[login.Username]
		if subtle.ConstantTimeCompare([]byte(login.Password), []byte(u.Password)) == 1 {
			return u
		}
	}
	return nil
}

// member returns the user of a client, with its permissions, or nil for a client that has not logged in.
func (g *authenticator) member(a access) *server.User {
	switch a.class {
	case ofHistory:
		return g.users[historyUser]
	case ofTaps:
		u := *g.users[tapUser]
		seen := &server.SubjectPermission{Allow: u.Permissions.Subscribe.Allow}
		if !a.identity.Role.May(domain.MayChange) {
			seen.Deny = withAnswers()
		}
		u.Permissions = &server.Permissions{Publish: u.Permissions.Publish, Subscribe: seen}
		return &u
	}
	return nil
}

// withAnswers returns the subjects of events that contain answers of receivers. Roles that may change subscriptions see them, and those that may audit, which read the log.
func withAnswers() (subjects []string) {
	for _, verb := range []string{"tried", "processed"} {
		subjects = append(subjects, streams[1].public+"*.*."+verb)
	}
	return subjects
}

// accessAt returns the access of the client on a connection of the server; not ok for a connection of our own.
func (d *proxy) accessAt(cid uint64) (a access, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for v := range d.sessions {
		if v.cid == cid {
			return v.access, true
		}
	}
	return access{}, false
}

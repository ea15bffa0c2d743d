package store

import (
	"crypto/subtle"

	"github.com/nats-io/nats-server/v2/server"

	"ledge/domain"
)

// gate tells the tap server who its connections are, where clients have identities. The door has checked these; the server
// gives each connection an account and permissions. It is asked again at every CONNECT, and by the connection's number, so that a
// client cannot become another one.
type gate struct {
	door  *door
	users map[string]*server.User // as tapAccounts has them, by name
}

func newGate(d *door, users []*server.User) *gate {
	g := &gate{door: d, users: map[string]*server.User{}}
	for _, u := range users {
		g.users[u.Username] = u
	}
	return g
}

// Check implements server.Authentication.
func (g *gate) Check(c server.ClientAuthentication) bool {
	user := g.inside(c.GetOpts())
	if a, outside := g.door.accessAt(c.GetID()); outside {
		user = g.member(a)
	}
	if user == nil {
		return false
	}
	account, err := g.door.server.LookupAccount(user.Account.Name)
	if err != nil {
		return false
	}
	c.RegisterUser(&server.User{Username: user.Username, Account: account, Permissions: user.Permissions})
	return true
}

// inside returns the user of our own connections, nil for a wrong login.
func (g *gate) inside(login *server.ClientOpts) *server.User {
	switch login.Username {
	case ledgeUser, deskUser(historyAccount), deskUser(ownAccount):
		u := g.users[login.Username]
		if subtle.ConstantTimeCompare([]byte(login.Password), []byte(u.Password)) == 1 {
			return u
		}
	}
	return nil
}

// member returns the user that a client stands for, with its permissions; nil for a client that has not logged in.
func (g *gate) member(a access) *server.User {
	switch a.class {
	case ofOwn:
		return g.users[ownUser]
	case ofHistory:
		return g.users[historyUser]
	case ofTaps:
		devices, err := devicesOf(a.identity)
		if err != nil {
			return nil
		}
		u := *g.users[tapUser]
		seen := &server.SubjectPermission{Allow: u.Permissions.Subscribe.Allow}
		if devices != nil {
			seen.Allow = readingsOf(devices)
		}
		if !a.identity.Role.May(domain.MayChange) {
			seen.Deny = withAnswers()
		}
		u.Permissions = &server.Permissions{Publish: u.Permissions.Publish, Subscribe: seen}
		return &u
	}
	return nil
}

// withAnswers are the subjects of events that have answers of receivers: those who may change subscriptions see them.
func withAnswers() (subjects []string) {
	for _, verb := range []string{"tried", "processed"} {
		subjects = append(subjects, streams[1].public+"*.*."+verb)
	}
	return subjects
}

// readingsOf are the subjects of what is posted for devices.
func readingsOf(devices []string) (subjects []string) {
	for _, d := range devices {
		subjects = append(subjects, streams[2].public+"*."+d+".>")
	}
	return subjects
}

// accessAt returns the access of the client on a connection of the server; not ok for a connection of our own.
func (d *door) accessAt(cid uint64) (a access, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for v := range d.visits {
		if v.cid == cid {
			return v.access, true
		}
	}
	return access{}, false
}

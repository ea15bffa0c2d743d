package bus

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ledge/domain"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	// checkWait is how long Options.Login may take for one client.
	checkWait = 5 * time.Second
	// recheckEvery is how often it is looked whether the identities of connected clients still have their rights.
	recheckEvery = 10 * time.Second
)

// authenticator gives each connection its account and permissions. The server calls Check at every CONNECT.
type authenticator struct{ bus *Bus }

// Check implements server.Authentication.
func (a authenticator) Check(c server.ClientAuthentication) bool {
	b, login, address := a.bus, c.GetOpts(), c.RemoteAddress()
	if subtle.ConstantTimeCompare([]byte(login.Password), []byte(b.secret)) == 1 {
		account := feedAccount
		if login.Username == edgexUser {
			account = b.edgex.account()
		}
		return b.register(c, account, login.Username, nil) == nil
	}
	if address == nil {
		return false
	}
	s := b.gate.sessionAt(address.String())
	if s == nil {
		return false // not a connection that gate has let in
	}
	if err := b.admit(c, s, login); err != nil {
		b.gate.refuse(s, err)
		return false
	}
	return true
}

// admit finds out the identity of a client, and gives it its account and permissions.
func (b *Bus) admit(c server.ClientAuthentication, s *session, login *server.ClientOpts) error {
	if b.o.TLS != nil && s.protocol == overNATS && c.GetTLSConnectionState() == nil { // the listener of others has TLS
		return refusal{byTLS, errors.New("it does not use TLS")}
	}
	if b.o.Login == nil {
		if err := letIn(b, s, access{cid: c.GetID()}); err != nil {
			return err
		}
		return b.register(c, feedAccount, "open", usesAll())
	}
	found, err := b.identify(s, login.Username, login.Password, login.Token)
	if err != nil {
		return err
	}
	if role := found.identity.Role; !role.May(domain.MayRead) {
		return refusal{byRole, fmt.Errorf("role %s may not read; NATS clients need %s", role, domain.RolesThatMay(domain.MayRead))}
	}
	if role := found.identity.Role; s.protocol != overNATS && !role.May(domain.MayUseBus) {
		const says = "role %s may not use EdgeX's message bus; %s clients need %s"
		return refusal{byRole, fmt.Errorf(says, role, s.protocol, domain.RolesThatMay(domain.MayUseBus))}
	}
	found.cid = c.GetID()
	if err := letIn(b, s, found); err != nil {
		return err
	}
	client := found.identity
	if !b.o.Still(client) { // it has changed since Login
		return refusal{byCredentials, errors.New("the identity has lost its rights")}
	}
	switch {
	case client.Role.May(domain.MayUseBus):
		return b.register(c, edgexAccount, client.Actor, servesEdgeX())
	case client.Role.May(domain.MayAudit):
		return b.register(c, feedAccount, client.Actor, readsHistory())
	}
	return b.register(c, liveAccount, client.Actor, hearsLive(client.Role))
}

// letIn lets a client in that has logged in. It waits for the copies, at most [restMost], so that the client hears no events from before
// its login.
func letIn(b *Bus, s *session, a access) error {
	if err := b.gate.admit(s, a); err != nil {
		return err
	}
	ctx, cancel := s.limited(restMost)
	defer cancel()
	if s.protocol == overNATS {
		for _, c := range b.copies {
			c.await(ctx)
		}
	}
	return nil
}

// identify checks the login of a client.
func (b *Bus) identify(s *session, user, password, token string) (access, error) {
	if user == "" && password == "" && token == "" {
		return access{}, refusal{byCredentials, errors.New("no user and password, and no token")}
	}
	if token == "" && isLedgeToken(password) {
		user, password, token = "", "", password
	}
	ctx, cancel := s.limited(checkWait)
	defer cancel()
	identity, err := b.o.Login(ctx, user, password, token, s.client)
	if err != nil {
		return access{}, refusalOf(err)
	}
	return access{identity: identity, token: token}, nil
}

// register gives a connection its account and permissions; nil is all.
func (b *Bus) register(c server.ClientAuthentication, account, name string, p *server.Permissions) error {
	s, _ := b.now()
	if s == nil {
		return errors.New("the bus is stopping")
	}
	of, err := s.LookupAccount(account)
	if err == nil {
		c.RegisterUser(&server.User{Username: name, Account: of, Permissions: p})
	}
	return err
}

// isLedgeToken reports whether a password is a token of Ledge: NATS clients often have no field but the password.
func isLedgeToken(password string) bool {
	const secret = 26 // characters, see crypto/rand.Text
	rest, ok := strings.CutPrefix(password, "ledge_")
	i := strings.LastIndexByte(rest, '_')
	return ok && i > 0 && len(rest)-i-1 == secret
}

// Recheck ends the connections of those clients whose identity has lost its rights; see [Options].Still. It is called when users or
// tokens have changed.
func (b *Bus) Recheck() {
	if b != nil {
		b.recheck(false)
	}
}

// recheckAgain rechecks until ctx ends. A new check of a token also notices the end of a JWT, which Ledge does not know by name.
func (b *Bus) recheckAgain(ctx context.Context) {
	tick := time.NewTicker(recheckEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			b.recheck(true)
		}
	}
}

// recheck ends the connections of the identities that have lost their rights. With tokens, each token is checked anew.
func (b *Bus) recheck(tokens bool) {
	for s, a := range b.gate.identified() {
		if !b.o.Still(a.identity) || tokens && b.expired(s, a) {
			b.o.Logger.Warn(s.protocol+" client cut off: its identity has lost its rights, or has new credentials",
				"client", s.client, "actor", a.identity.Actor)
			b.gate.count(byEnd)
			s.close()
		}
	}
}

// expired reports whether a token is refused now, or stands for another identity. A check that is put off, because others fail too often
// from the same address, says nothing.
func (b *Bus) expired(s *session, a access) bool {
	if a.token == "" {
		return false
	}
	ctx, cancel := s.limited(checkWait)
	defer cancel()
	now, err := b.o.Login(ctx, "", "", a.token, s.client)
	if err != nil {
		known, ok := errors.AsType[*domain.Error](err)
		return ok && (known.Code == domain.Unauthenticated || known.Code == domain.Forbidden)
	}
	was := a.identity
	return now.Actor != was.Actor || now.Role != was.Role || !slices.Equal(now.Devices, was.Devices)
}

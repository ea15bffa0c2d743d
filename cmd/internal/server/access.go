package server

import (
	"context"
	"crypto/rand"
	"fmt"

	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/identities"
	"ledge/domain"
	"ledge/handlers/access"
	"ledge/store/osfile"
)

// startAccess has identities proved from now on: at the HTTP services and of NATS clients. In open mode everybody may do everything; a
// login then only says who it was.
func (p *Server) startAccess() error {
	name, err := identities.FindLoginKey(p.Config.DataDir)
	if err != nil {
		return exit.With(exit.Folder, err)
	}
	key, err := p.secrets.Key(name)
	if osfile.IsFull(err) || domain.CodeOf(err) == domain.Full {
		p.Logger.Warn("the disk is full: logins are valid until the server stops, because the key that signs them cannot be kept", "error", err)
		key, err = make([]byte, 32), nil
		_, _ = rand.Read(key) // never fails
	}
	if err != nil {
		return exit.With(exit.Folder, fmt.Errorf("make the key that signs logins: %w", err))
	}
	a := newAuthenticator(p.Config, p.identities, p.secrets, key, p.Channels.Guard, p.identities.Uses.Used, p.Logger)
	p.inBackground(a.Run)
	p.access = &access.Access{Authenticator: a, Open: !p.Config.Secure, Still: p.still, Refusals: &access.Refusals{Logger: p.Logger}}
	p.identities.OnChange = p.bus.Recheck
	p.authenticator.Store(a)
	return nil
}

// errNoAccess refuses NATS clients while the program starts.
var errNoAccess = domain.Errorf(domain.Unavailable, "the server is starting; try again")

// natsLogin proves the identity of a NATS client; see bus.Options.
func (p *Server) natsLogin(ctx context.Context, user, password, token, address string) (domain.Identity, error) {
	a := p.authenticator.Load()
	switch {
	case a == nil:
		return domain.Identity{}, errNoAccess
	case token != "":
		return a.Bearer(ctx, token, address)
	default:
		return a.Password(ctx, user, password, address)
	}
}

// natsStill reports whether an identity still has the rights of its login.
func (p *Server) natsStill(was domain.Identity) bool {
	return p.authenticator.Load() == nil || p.still(was) == nil
}

// still returns the reason if an identity has lost rights since it was proved, or nil.
func (p *Server) still(was domain.Identity) error {
	v, release := p.identities.View()
	defer release()
	return was.Still(v.State, p.Now().UnixMilli())
}

package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"ledge/cmd/internal/admin"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/identities"
	"ledge/cmd/internal/node"
	"ledge/cmd/internal/secure"
)

// openAdmin opens the socket. Until the program runs, its answers say that it is starting.
func (p *Program) openAdmin() {
	if !admin.Available {
		return
	}
	s, err := admin.Open(p.Config.DataDir, p.Logger, p.administer)
	if err != nil {
		p.Logger.Warn("local commands such as ledge user and ledge log work only while this server is stopped", "error", err)
		return
	}
	p.admin = s
	p.onClose(s.Close)
}

// startIdentities sweeps the hashes and creates the first user.
func (p *Program) startIdentities(ctx context.Context) error {
	p.identities = identities.New(p.node, p.Config.DataDir, p.secrets, p.Logger)
	if err := p.node.Read(p.identities.Sweep); err != nil {
		p.Logger.Warn("hashes that no user has are still in the secret store", "error", err)
	}
	err := p.node.Read(func() error { return p.identities.AddFirstAdmin(ctx, p.Terminal, p.Logger) })
	if err != nil {
		return err
	}
	p.inBackground(func(done <-chan struct{}) { p.identities.KeepTokenUses(done, p.Logger) })
	p.inBackground(func(done <-chan struct{}) { p.identities.RemoveRetiredInTime(done, p.Logger) })
	if p.admin != nil {
		p.onClose(p.admin.Close) // before the data that it asks
	}
	return nil
}

// administer has a request done by the server of the data folder. If no server runs, it does the request itself.
func administer(ctx context.Context, c *config.Config, logger *slog.Logger, r admin.Request) (a admin.Answer, err error) {
	held, client, err := admin.Attach(c.DataDir, true)
	if err != nil {
		return a, err
	}
	if client != nil {
		return client.Ask(ctx, r, nil)
	}
	defer held.Release()
	err = onIdentities(ctx, c, logger, func(i *identities.Identities) (err error) {
		a, err = i.Do(ctx, admin.LocalActor(), r)
		return err
	})
	return a, err
}

// onIdentities opens a locked data folder for f.
func onIdentities(ctx context.Context, c *config.Config, logger *slog.Logger, f func(*identities.Identities) error) error {
	if err := node.CheckClock(time.Now()); err != nil {
		return err
	}
	if err := datadir.CheckFiles(c.DataDir); err != nil {
		return exit.With(exit.Folder, err)
	}
	file, err := secure.OpenSecrets(c.Paths())
	if err != nil {
		return err
	}
	d, err := node.Open(ctx, nodeOptions(c, logger))
	if err != nil {
		return err
	}
	err = d.Read(func() error { return f(identities.New(d, c.DataDir, file, logger)) })
	return errors.Join(err, d.Close())
}

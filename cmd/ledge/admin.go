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
	"ledge/cmd/internal/node"
	"ledge/store/secrets"
)

// openIdentities serves the users and tokens of data that is open.
func openIdentities(d *node.Node, c *config.Config, file *secrets.File, logger *slog.Logger) *identities {
	return &identities{log: d.Changes.Appender, view: d.Changes.View, secrets: file, dir: c.DataDir, now: d.Now, uses: openTokenUses(c.DataDir, logger)}
}

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
	p.identities = openIdentities(p.node, p.Config, p.secrets, p.Logger)
	if err := p.node.Read(p.identities.sweep); err != nil {
		p.Logger.Warn("hashes that no user has are still in the secret store", "error", err)
	}
	err := p.node.Read(func() error { return p.identities.addFirstAdmin(ctx, p.Terminal, p.Logger) })
	if err != nil {
		return err
	}
	p.inBackground(func(done <-chan struct{}) { p.identities.keepTokenUses(done, p.Logger) })
	p.inBackground(func(done <-chan struct{}) { p.identities.removeRetiredInTime(done, p.Logger) })
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
	err = onIdentities(ctx, c, logger, func(i *identities) (err error) {
		a, err = i.do(ctx, admin.LocalActor(), r)
		return err
	})
	return a, err
}

// onIdentities opens a locked data folder for f.
func onIdentities(ctx context.Context, c *config.Config, logger *slog.Logger, f func(*identities) error) error {
	if err := node.CheckClock(time.Now()); err != nil {
		return err
	}
	if err := datadir.CheckFiles(c.DataDir); err != nil {
		return exit.With(exit.Folder, err)
	}
	file, err := openSecrets(c.Paths())
	if err != nil {
		return err
	}
	d, err := node.Open(ctx, nodeOptions(c, logger))
	if err != nil {
		return err
	}
	err = d.Read(func() error { return f(openIdentities(d, c, file, logger)) })
	return errors.Join(err, d.Close())
}

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
	"ledge/cmd/internal/server"
	"ledge/store/secrets"
)

// administer has a request done by the server of the data folder. If no server runs, it does the request itself.
func administer(ctx context.Context, c *config.Config, logger *slog.Logger, r admin.Request) (a admin.Answer, err error) {
	key, unread := secure.FindSecretKey(c.DataDir) // before Attach, which may take rights away
	actor := admin.LocalActor()
	held, client, err := admin.Attach(c.DataDir, true)
	if err != nil {
		return a, err
	}
	if client != nil {
		return client.Ask(ctx, r, nil)
	}
	defer held.Release()
	if unread != nil {
		return a, unread
	}
	err = onIdentities(ctx, c, key, logger, func(i *identities.Identities) (err error) {
		a, err = i.Do(ctx, actor, r)
		return err
	})
	return a, err
}

// onIdentities opens a locked data folder for f. key is the key of the secret store, or nil.
func onIdentities(
	ctx context.Context, c *config.Config, key *secrets.AgeKey, logger *slog.Logger, f func(*identities.Identities) error,
) error {
	file, err := secure.OpenSecrets(c.Paths(), key)
	if err != nil {
		return err
	}
	return onNode(ctx, c, logger, func(d *node.Node) error {
		return d.Try(func() error { return f(identities.New(d, c.DataDir, file, logger)) })
	})
}

// onNode opens the node of a locked data folder for f.
func onNode(ctx context.Context, c *config.Config, logger *slog.Logger, f func(*node.Node) error) error {
	if err := node.CheckClock(time.Now()); err != nil {
		return err
	}
	if err := datadir.CheckFiles(c.DataDir); err != nil {
		return exit.With(exit.Folder, err)
	}
	d, err := node.Open(ctx, server.NodeOptions(c, logger))
	if err != nil {
		return err
	}
	return errors.Join(f(d), d.Close())
}

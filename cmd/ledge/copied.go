package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"ledge/cmd/internal/admin"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/identities"
	"ledge/store/secrets"
)

// tellIdentities lists the users and tokens of a data folder that is a copy: those that were removed since it was taken are there again.
func tellIdentities(ctx context.Context, c *config.Config, key *secrets.AgeKey, logger *slog.Logger, w io.Writer) error {
	lock, err := datadir.Lock(c.DataDir)
	if err != nil {
		return err
	}
	defer lock.Release()
	var users, tokens admin.Answer
	err = onIdentities(ctx, c, key, logger, func(i *identities.Identities) (err error) {
		if users, err = i.Do(ctx, "", admin.Request{Do: "user list"}); err == nil {
			tokens, err = i.Do(ctx, "", admin.Request{Do: "token list"})
		}
		return err
	})
	if err != nil {
		fmt.Fprintf(w, "users and tokens are as they were: see `ledge user list` and `ledge token list`, and remove or revoke those that were removed since (they are not listed here: %v)\n", err)
		return nil
	}
	identities.PrintRestored(w, users.Users, tokens.Tokens)
	return nil
}

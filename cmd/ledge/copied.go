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
)

// mostTold is how many users and how many tokens tellIdentities lists.
const mostTold = 100

// tellIdentities lists the users and tokens of a data folder that is a copy: those that were removed since it was taken are there again.
func tellIdentities(ctx context.Context, c *config.Config, logger *slog.Logger, w io.Writer) error {
	lock, err := datadir.Lock(c.DataDir)
	if err != nil {
		return err
	}
	defer lock.Release()
	var users, tokens admin.Answer
	err = onIdentities(ctx, c, logger, func(i *identities.Identities) (err error) {
		if users, err = i.Do(ctx, "", admin.Request{Do: "user list"}); err == nil {
			tokens, err = i.Do(ctx, "", admin.Request{Do: "token list"})
		}
		return err
	})
	if err != nil {
		fmt.Fprintf(w, "users and tokens are as they were: see `ledge user list` and `ledge token list`, and remove or revoke those that were removed since (they are not listed here: %v)\n", err)
		return nil
	}
	fmt.Fprintln(w, "no login from before is valid; passwords and tokens are as they were. Remove with `ledge user remove`, and revoke with `ledge token revoke`, those of these that were removed since:")
	for _, u := range users.Users[:min(mostTold, len(users.Users))] {
		fmt.Fprintf(w, "  user %s, %s\n", u.Name, u.Role)
	}
	for _, t := range tokens.Tokens[:min(mostTold, len(tokens.Tokens))] {
		fmt.Fprintf(w, "  token %s, %s\n", t.Name, t.Role)
	}
	if more := max(0, len(users.Users)-mostTold) + max(0, len(tokens.Tokens)-mostTold); more > 0 {
		fmt.Fprintf(w, "  and %d more; see `ledge user list` and `ledge token list`\n", more)
	}
	return nil
}

package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/admin"
	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
	"ledge/domain"
	"ledge/domain/moment"
	"ledge/handlers/identity"
)

func newToken() *cobra.Command {
	c := &cobra.Command{Use: "token", Short: "Create, list, rotate and revoke tokens",
		Long: "Create, list, rotate and revoke tokens: with one, a program proves who it is." + besideServer,
		Example: `  ledge token create pos-7 --devices 'cam-*' --expires 90d
  ledge token list`}
	c.AddCommand(newTokenCreate(), newTokenList(), newTokenRotate(), newTokenRevoke())
	return c
}

func newTokenCreate() *cobra.Command {
	c := &cobra.Command{Use: "create NAME", SuggestFor: []string{"add", "new"}, Short: "Create a token and print it once",
		Long: `Create a token and print it on standard output. It cannot be printed again. A program sends it as
"Authorization: Bearer TOKEN". With --certificate there is no secret: NAME is that in a verified
client certificate.` + besideServer,
		Example: `  ledge token create pos-7 --devices 'cam-*' --expires 90d
  ledge token create prometheus --role viewer`}
	role := c.Flags().String("role", string(domain.Poster), "role of the token: "+roleNames())
	const about = "patterns of the devices that a poster may post to, such as cam-*,door-1; * is all. Default: *"
	devices := c.Flags().StringSlice("devices", nil, about)
	expires := c.Flags().String("expires", "", "lifetime of the token, such as 90d or 12h. Default: it does not expire")
	certificate := c.Flags().Bool("certificate", false, "the token is a client certificate with that name")
	return administering(c, 1, func(c *cobra.Command, _ *config.Config, name string, do func(admin.Request) (admin.Answer, error)) error {
		if c.Flags().Changed("devices") && (len(*devices) == 0 || slices.Contains(*devices, "")) {
			return exit.With(exit.Usage, errors.New("--devices: a pattern is empty; name devices, such as cam-*, or give * for all"))
		}
		t := domain.Token{Name: name, Role: domain.Role(*role), Devices: *devices, Certificate: *certificate}
		if *expires != "" {
			lifetime, err := parseLifetime(*expires)
			if err != nil {
				return exit.With(exit.Usage, fmt.Errorf("--expires: %w", err))
			}
			t.Expires = time.Now().Add(lifetime).UnixMilli()
		}
		a, err := do(admin.Request{Do: "token create", Token: &t})
		if err == nil && a.Token != "" {
			fmt.Fprintln(c.OutOrStdout(), a.Token)
		}
		return err
	})
}

func newTokenRotate() *cobra.Command {
	c := &cobra.Command{Use: "rotate NAME", Short: "Give a token a new secret and print it once",
		Long: `Give a token a new secret, with the same name, role and devices, and print it on standard output. It
cannot be printed again. The old secret stays valid for --overlap, so that each program can change
over in that time.` + besideServer,
		Example: "  ledge token rotate pos-7 --overlap 7d\n  ledge token rotate pos-7 --overlap 0   # the old secret is known to others"}
	overlap := c.Flags().String("overlap", "24h", "how long the old secret stays valid, such as 24h or 7d; 0 revokes it at once")
	return administering(c, 1, func(c *cobra.Command, _ *config.Config, name string, do func(admin.Request) (admin.Answer, error)) error {
		d, err := moment.ParseDuration(*overlap)
		if err != nil || d < 0 || d > identity.MostLifetime {
			return exit.With(exit.Usage, fmt.Errorf("--overlap: %q is not a time; write it as 24h or 7d, at most 36500d, or 0", *overlap))
		}
		a, err := do(admin.Request{Do: "token rotate", Name: name, Overlap: d})
		if err == nil {
			fmt.Fprintln(c.OutOrStdout(), a.Token)
		}
		return err
	})
}

func newTokenRevoke() *cobra.Command {
	c := &cobra.Command{Use: "revoke NAME", SuggestFor: []string{"remove", "delete", "rm"}, Short: "Revoke a token", Long: "Revoke a token: no later request with it is accepted." + besideServer,
		Example: `  ledge token revoke pos-7
  ledge token revoke pos-7 --data-dir /var/lib/ledge`}
	return administering(c, 1, func(_ *cobra.Command, _ *config.Config, name string, do func(admin.Request) (admin.Answer, error)) error {
		_, err := do(admin.Request{Do: "token revoke", Name: name})
		return err
	})
}

func newTokenList() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List the tokens", Long: "List the tokens, the newest first." + besideServer,
		Example: `  ledge token list
  ledge token list --json | jq '.[].name'`}
	asJSON := c.Flags().Bool("json", false, "print a JSON array; times are in milliseconds since the Unix epoch")
	return administering(c, 0, func(c *cobra.Command, _ *config.Config, _ string, do func(admin.Request) (admin.Answer, error)) error {
		a, err := do(admin.Request{Do: "token list"})
		if err != nil {
			return err
		}
		if *asJSON {
			return cli.PrintList(c.OutOrStdout(), a.Tokens)
		}
		w := cli.NewTable(c.OutOrStdout(), "NAME", "ROLE", "DEVICES", "KIND", "EXPIRES", "LAST USED")
		for _, t := range a.Tokens {
			kind := map[bool]string{true: "certificate", false: "secret"}[t.Certificate]
			if t.OldUntil != 0 {
				kind += ", the old one until " + cli.FormatDate(t.OldUntil, "")
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", t.Name, t.Role, describeDevices(t), kind, cli.FormatDate(t.Expires, "never"), cli.FormatDate(t.LastUsed, "never"))
		}
		return w.Flush()
	})
}

// describeDevices returns the patterns of the devices of a token: * for all, - for a role that posts nothing or anything.
func describeDevices(t admin.Token) string {
	if len(t.Devices) == 0 && t.Role == domain.Poster {
		return "*"
	}
	return cmp.Or(strings.Join(t.Devices, ","), "-")
}

// parseLifetime reads a duration that is a lifetime.
func parseLifetime(s string) (time.Duration, error) {
	d, err := moment.ParseDuration(s)
	if err != nil || d <= 0 || d > identity.MostLifetime {
		return 0, fmt.Errorf("%q is not a lifetime; write it as 90d or 12h, at most 36500d", s)
	}
	return d, nil
}

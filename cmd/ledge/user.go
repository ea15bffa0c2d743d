package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ledge/cmd/internal/admin"
	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
	"ledge/domain"
)

// besideServer ends the help of the commands that change users and tokens.
const besideServer = `

It works with and without a running server (on Windows, stop it first). The log names the actor as
cli:USER, with the user of the operating system. See docs/reference/users.md.`

func newUser() *cobra.Command {
	c := &cobra.Command{Use: "user", Short: "Add, list, change and remove users",
		Long: "Add, list, change and remove users: people who log in with a name and a password." + besideServer,
		Example: `  ledge user add anna --role operator
  ledge user list`}
	c.AddCommand(newUserAdd(), newUserList(), newUserRole(), newUserPasswd(), newUserRemove())
	return c
}

// administering is configured for a command that takes a name, or none, and has a request done.
func administering(c *cobra.Command, names int, f func(c *cobra.Command, cfg *config.Config, name string, do func(admin.Request) (admin.Answer, error)) error) *cobra.Command {
	c = cli.WithSettings(c, func(ctx context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		do := func(r admin.Request) (admin.Answer, error) {
			return administer(ctx, cfg, cfg.NewLogger(c.ErrOrStderr()), r)
		}
		return f(c, cfg, c.Flags().Arg(0), do)
	})
	c.Args = cobra.ExactArgs(names)
	return c
}

func newUserAdd() *cobra.Command {
	c := &cobra.Command{Use: "add NAME", Short: "Add a user", SuggestFor: []string{"create", "new"},
		Long: `Add a user. The password comes from --password-file, from a terminal without echo, or from standard
input, its first line.` + besideServer,
		Example: `  ledge user add anna --role operator
  ledge user add anna --password-file /run/secrets/anna`}
	role := c.Flags().String("role", string(domain.Viewer), "role of the user: "+roleNames())
	file := passwordFlag(c)
	return administering(c, 1, func(c *cobra.Command, _ *config.Config, name string, do func(admin.Request) (admin.Answer, error)) error {
		password, err := readPassword(c, *file)
		if err != nil {
			return err
		}
		_, err = do(admin.Request{Do: "user add", Name: name, Role: domain.Role(*role), Password: password})
		return err
	})
}

func newUserRole() *cobra.Command {
	c := &cobra.Command{Use: "role NAME", Short: "Give a user another role",
		Long: "Give a user another role. The last user with the role admin keeps it." + besideServer,
		Example: `  ledge user role anna --role viewer
  ledge user role anna --role admin --data-dir /var/lib/ledge`}
	role := c.Flags().String("role", "", "the new role: "+roleNames())
	return administering(c, 1, func(_ *cobra.Command, _ *config.Config, name string, do func(admin.Request) (admin.Answer, error)) error {
		_, err := do(admin.Request{Do: "user role", Name: name, Role: domain.Role(*role)})
		return err
	})
}

func newUserPasswd() *cobra.Command {
	c := &cobra.Command{Use: "passwd NAME", SuggestFor: []string{"password"}, Short: "Give a user another password",
		Long: `Give a user another password, without the old one. It comes from --password-file, from a terminal
without echo, or from standard input, its first line.` + besideServer,
		Example: `  ledge user passwd anna
  ledge user passwd admin --data-dir /var/lib/ledge < new-password`}
	file := passwordFlag(c)
	return administering(c, 1, func(c *cobra.Command, _ *config.Config, name string, do func(admin.Request) (admin.Answer, error)) error {
		password, err := readPassword(c, *file)
		if err != nil {
			return err
		}
		_, err = do(admin.Request{Do: "user passwd", Name: name, Password: password})
		return err
	})
}

func newUserRemove() *cobra.Command {
	c := &cobra.Command{Use: "remove NAME", SuggestFor: []string{"delete", "rm", "revoke"}, Short: "Remove a user",
		Long: "Remove a user. The last user with the role admin cannot be removed." + besideServer,
		Example: `  ledge user remove anna
  ledge user remove anna --data-dir /var/lib/ledge`}
	return administering(c, 1, func(_ *cobra.Command, _ *config.Config, name string, do func(admin.Request) (admin.Answer, error)) error {
		_, err := do(admin.Request{Do: "user remove", Name: name})
		return err
	})
}

func newUserList() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List the users", Long: "List the users, the one that changed last first." + besideServer,
		Example: `  ledge user list
  ledge user list --json | jq '.[].name'`}
	asJSON := c.Flags().Bool("json", false, "print a JSON array; times are in milliseconds since the Unix epoch")
	return administering(c, 0, func(c *cobra.Command, _ *config.Config, _ string, do func(admin.Request) (admin.Answer, error)) error {
		a, err := do(admin.Request{Do: "user list"})
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(c.OutOrStdout(), a.Users)
		}
		w := newTable(c.OutOrStdout(), "NAME", "ROLE", "MODIFIED", "MUST CHANGE PASSWORD")
		for _, u := range a.Users {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", u.Name, u.Role, dateOf(u.Modified, "-"), map[bool]string{true: "yes", false: "no"}[u.MustChange])
		}
		return w.Flush()
	})
}

func roleNames() string {
	var names []string
	for _, r := range domain.Roles() {
		names = append(names, string(r))
	}
	return strings.Join(names, ", ")
}

func newTable(w io.Writer, columns ...string) *tabwriter.Writer {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(columns, "\t"))
	return t
}

// printJSON prints a list, [] for an empty one.
func printJSON[T any](w io.Writer, list []T) error {
	return cli.PrintObject(w, append([]T{}, list...))
}

func dateOf(ms int64, none string) string {
	if ms == 0 {
		return none
	}
	return time.UnixMilli(ms).UTC().Format(time.RFC3339)
}

func passwordFlag(c *cobra.Command) *string {
	return c.Flags().String("password-file", "", "file with the password in its first line; - is standard input")
}

// readPassword reads a password from a file, from a terminal without echo, or from standard input.
func readPassword(c *cobra.Command, file string) (string, error) {
	if file != "" && file != "-" {
		password, err := passwordFromFile(file)
		if err != nil {
			return "", exit.With(exit.Usage, fmt.Errorf("--password-file: %w", err))
		}
		return password, nil
	}
	if fd := int(os.Stdin.Fd()); file == "" && term.IsTerminal(fd) {
		return askPassword(c.ErrOrStderr(), fd)
	}
	text, err := io.ReadAll(io.LimitReader(os.Stdin, maxPasswordFile))
	if err != nil {
		return "", err
	}
	password, _, _ := strings.Cut(string(text), "\n")
	if password = strings.TrimSuffix(password, "\r"); password == "" {
		return "", exit.With(exit.Usage, fmt.Errorf("the first line of standard input is empty; give the password there or with --password-file"))
	}
	return password, nil
}

func askPassword(w io.Writer, fd int) (string, error) {
	var given [2]string
	for i, prompt := range []string{"New password: ", "Again: "} {
		fmt.Fprint(w, prompt)
		b, err := term.ReadPassword(fd)
		fmt.Fprintln(w)
		if err != nil {
			return "", fmt.Errorf("read the password: %w", err)
		}
		given[i] = string(b)
	}
	if given[0] != given[1] {
		return "", exit.With(exit.Usage, fmt.Errorf("the two passwords differ; try again"))
	}
	return given[0], nil
}

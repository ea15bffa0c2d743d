package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/admin"
	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
)

func newHealth() *cobra.Command {
	c := &cobra.Command{
		Use:   "health",
		Short: "Say whether the running server takes what is sent to it",
		Long: `Say whether the running server takes what is sent to it, as GET /api/v2/health of its services
does. It needs neither a port nor a login. Warnings do not change the exit code.
See docs/monitoring.md.

Exit code 0 if all services do; else 1, with the reason of each that does not.`,
		Example: `  ledge health && echo fine
  ledge health --config /etc/ledge/ledge.yaml || mail -s 'ledge' ops`,
	}
	asJSON := cli.AddJSONFlag(c)
	return cli.AddSettings(c, func(ctx context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		a, err := askRunning(ctx, cfg, admin.Request{Do: "health"})
		if err != nil {
			return exit.With(exit.Failure, err)
		}
		warnings, refusing := a.Health.Warnings, a.Health.Refusing
		if *asJSON {
			err = cli.PrintObject(c.OutOrStdout(), map[string]any{
				"ready": len(refusing) == 0, "refusing": append([]string{}, refusing...), "warnings": append([]string{}, warnings...),
			})
		} else {
			for _, warning := range warnings {
				fmt.Fprintln(c.OutOrStdout(), "warning:", warning)
			}
		}
		if len(refusing) > 0 {
			return exit.With(exit.Failure, errors.New(strings.Join(refusing, "; ")))
		}
		if !*asJSON {
			fmt.Fprintln(c.OutOrStdout(), "ready")
		}
		return err
	})
}

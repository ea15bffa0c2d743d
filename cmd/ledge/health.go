package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/admin"
	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/services"
)

func newHealth() *cobra.Command {
	return cli.WithSettings(&cobra.Command{
		Use:   "health",
		Short: "Say whether the running server takes what is sent to it",
		Long: `Say whether the running server takes what is sent to it, as GET /api/v2/health of its services
does. It needs neither a port nor a login. Warnings do not change the exit code.
See docs/monitoring.md.

Exit code 0 if all services do; else 1, with the reason of each that does not.`,
		Example: `  ledge health && echo fine
  ledge health --config /etc/ledge/ledge.yaml || mail -s 'ledge' ops`,
	}, func(ctx context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		a, err := askRunning(ctx, cfg, admin.Request{Do: "health"})
		if err != nil {
			return exit.With(exit.Failure, err)
		}
		for _, warning := range a.Health.Warnings {
			fmt.Fprintln(c.OutOrStdout(), "warning:", warning)
		}
		if len(a.Health.Refusing) > 0 {
			return exit.With(exit.Failure, errors.New(strings.Join(a.Health.Refusing, "; ")))
		}
		fmt.Fprintln(c.OutOrStdout(), "ready")
		return nil
	})
}

func (p *Program) health() *admin.Health {
	a := &admin.Health{Warnings: p.warnings()}
	for _, one := range services.All {
		if err := serving[one.Name].ready(p); err != nil {
			a.Refusing = append(a.Refusing, fmt.Sprintf("%s: %v", one.Name, err))
		}
	}
	slices.Sort(a.Refusing)
	return a
}

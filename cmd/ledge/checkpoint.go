package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/audit"
	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
)

func newCheckpoint() *cobra.Command {
	c := &cobra.Command{
		Use:   "checkpoint",
		Short: "Print a signed checkpoint of the log of changes, to be kept on another machine",
		Long: `Print a signed checkpoint: the number of events on the log of changes, and the root of the Merkle
tree over them, as a note of C2SP tlog-checkpoint. Keep it on another machine. With it,
ledge verify --checkpoint finds a log that was cut, rewritten or forked after that.

It works with and without a running server. See docs/audit.md.`,
		Example: `  ledge checkpoint --data-dir /var/lib/ledge > monday.checkpoint
  ledge verify --checkpoint monday.checkpoint`,
	}
	return cli.AddSettings(c, func(ctx context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		l, err := audit.Open(ctx, cfg.Paths())
		if err != nil {
			return err
		}
		defer l.Close()
		text, err := l.Checkpoint(ctx)
		if err == nil {
			_, err = fmt.Fprint(c.OutOrStdout(), text)
		}
		return cli.ExplainInterrupt(ctx, err, "no checkpoint is made")
	})
}

func newKey() *cobra.Command {
	c := &cobra.Command{
		Use:   "key",
		Short: "Print the verifier key of the checkpoints of this node",
		Long: `Print the verifier key of the checkpoints and proofs of this node, in the form of signed notes:
name, hash and public key, with + between them. Give it to the people who check proofs, by a way
that nobody can change. See docs/audit.md.

Exit code 5 if there is no key.`,
		Example: `  ledge key --data-dir /var/lib/ledge
  ledge verify proof.json --key "$(cat node-7.key)"`,
	}
	return cli.AddSettings(c, func(_ context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		key, err := audit.Key(cfg.Paths())
		if err == nil {
			fmt.Fprintln(c.OutOrStdout(), key.Verifier())
		}
		return err
	})
}

func newProve() *cobra.Command {
	c := &cobra.Command{
		Use:   "prove SEQ",
		Args:  cobra.ExactArgs(1),
		Short: "Print a proof that an event is on the log of changes, for a third party",
		Long: `Print one JSON object with an event of the log of changes, its inclusion proof and a signed
checkpoint. ledge verify FILE --key KEY checks it on another machine, without the node. SEQ is the
sequence that ledge log prints.

It works with and without a running server. See docs/audit.md.`,
		Example: `  ledge prove 42 > proof.json
  ledge verify proof.json --key "$(cat node-7.key)"`,
	}
	return cli.AddSettings(c, func(ctx context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		seq, err := strconv.ParseUint(c.Flags().Arg(0), 10, 63)
		if err != nil || seq == 0 {
			err := fmt.Errorf("%.80q is not a sequence; give a number from 1 on, which `ledge log` prints", c.Flags().Arg(0))
			return exit.With(exit.Usage, err)
		}
		return printProof(ctx, c, cfg, seq, seq)
	})
}

func newExport() *cobra.Command {
	var from, to uint64
	c := &cobra.Command{
		Use:   "export",
		Short: "Print a span of the log of changes with a proof, for a third party",
		Long: `Print one JSON object with the events of a span of the log of changes, in the form of ledge prove:
the chain binds each event to the one before it, and the last one has an inclusion proof. A span has
at most 64 MiB of events.

It works with and without a running server. See docs/audit.md.`,
		Example: `  ledge export --from 1000 --to 2000 > span.json
  ledge verify span.json --key "$(cat node-7.key)"`,
	}
	c.Flags().Uint64Var(&from, "from", 1, "the first sequence")
	c.Flags().Uint64Var(&to, "to", 0, "the last sequence; 0: the newest event")
	return cli.AddSettings(c, func(ctx context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		return printProof(ctx, c, cfg, from, to)
	})
}

func printProof(ctx context.Context, c *cobra.Command, cfg *config.Config, from, to uint64) error {
	l, err := audit.Open(ctx, cfg.Paths())
	if err != nil {
		return err
	}
	defer l.Close()
	p, err := l.Prove(ctx, from, to)
	if err == nil {
		err = json.NewEncoder(c.OutOrStdout()).Encode(p)
	}
	return cli.ExplainInterrupt(ctx, err, "no proof is made")
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/rest"
	"ledge/cmd/internal/services"
	"ledge/domain"
)

const (
	replayPath = "/api/v2/ledger/replay"
	// replayLook is the time between two looks at how far a replay is.
	replayLook = 500 * time.Millisecond
	// replayWait is how long the server may take to begin one, and to stop it.
	replayWait = time.Minute
)

func newReplay() *cobra.Command {
	query := map[string]*string{}
	c := &cobra.Command{
		Use:   "replay",
		Short: "Publish a span of the log again on the bus, for tests of consumers",
		Long: `Publish messages of the logs again on the NATS bus of the running server, below replay.ID, with the
headers and bytes of the log. It does not reach channels, callbacks or the message bus of EdgeX. The
replay goes at the pace of the slowest subscriber. Ctrl-C stops it.

Subscribe first, to replay.> or with --id. See docs/audit.md.`,
		Example: `  ledge replay --from 1000 --to 2000 --speed max
  ledge replay --from 7d --to 6d --speed 10 --subject 'ledge.event.device.>' --id test`,
	}
	for _, f := range [][3]string{
		{"from", "", "the first event of the log of changes, by its sequence, or the time of the first message of all logs: " +
			"2026-11-21T07:42:05Z, 2026-11-21, or how long ago, such as 2h"},
		{"to", "", "the last event, or the time of the last message. Default: the end"},
		{"speed", "1", "how many times as fast as they were recorded; max for no pauses"},
		{"subject", "", "only messages with this subject; * stands for one part and a final > for the rest"},
		{"id", "", "the second part of the subjects. Default: a new one"},
	} {
		query[f[0]] = c.Flags().String(f[0], f[1], f[2])
	}
	return cli.AddSettings(c, func(ctx context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		api, err := rest.Local(cfg.DataDir)
		if err != nil {
			return err
		}
		values := url.Values{}
		for name, text := range query {
			if *text != "" {
				values.Set(name, *text)
			}
		}
		return runReplay(ctx, c, api, values)
	})
}

// replayAnswer is an answer with a replay.
type replayAnswer struct {
	Replay domain.BusReplay `json:"replay"`
}

// runReplay starts a replay and follows it to its end.
func runReplay(ctx context.Context, c *cobra.Command, api *rest.API, query url.Values) error {
	var a replayAnswer
	call := rest.Call{Method: http.MethodPost, Service: services.Metadata, Path: replayPath + "?" + query.Encode()}
	starting, cancel := context.WithTimeout(context.WithoutCancel(ctx), replayWait) // an interrupt stops the replay that has begun
	defer cancel()
	if _, err := api.Do(starting, call, &a); err != nil {
		return err
	}
	call.Path = replayPath + "/id/" + a.Replay.ID
	fmt.Fprintln(c.ErrOrStderr(), "ledge: replay on", a.Replay.Subject)
	look := time.NewTicker(replayLook)
	defer look.Stop()
	for a.Replay.State == domain.ReplayRuns {
		select {
		case <-ctx.Done():
			stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), replayWait)
			defer cancel()
			call.Method = http.MethodDelete
			_, err := api.Do(stopping, call, nil)
			return errors.Join(cli.ExplainInterrupt(ctx, ctx.Err(), "the replay is stopped"), err)
		case <-look.C:
		}
		call.Method = http.MethodGet
		if _, err := api.Do(ctx, call, &a); err != nil && ctx.Err() == nil {
			return err
		}
	}
	if a.Replay.State != domain.ReplayDone {
		return fmt.Errorf("the replay has %s after %d messages: %s", a.Replay.State, a.Replay.Sent, a.Replay.Error)
	}
	fmt.Fprintln(c.OutOrStdout(), a.Replay.Sent, "messages on", a.Replay.Subject)
	return nil
}

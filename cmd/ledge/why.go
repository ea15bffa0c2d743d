package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/admin"
	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/domain"
	"ledge/store"
)

func newWhy() *cobra.Command {
	c := &cobra.Command{
		Use:   "why SUBSCRIPTION [NOTIFICATION]",
		Short: "Explain why a notification did or did not arrive at a subscription",
		Long: `Explain why a notification, by its id, did or did not arrive at a subscription; without an id, what
would become of the next one. Each line is one cause, such as a lock, a label, an endpoint or a
queue. It asks the running server. See docs/reference/delivery.md#when-notifications-do-not-arrive.`,
		Example: `  ledge why watch
  ledge why watch 6a1c3f0e-8a44-4c0b-9d5e-2f6b7c8d9e01 --json`,
	}
	asJSON := cli.AddJSONFlag(c)
	c = cli.WithSettings(c, func(ctx context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		a, err := askRunning(ctx, cfg, admin.Request{Do: "why", Name: c.Flags().Arg(0), Notification: c.Flags().Arg(1)})
		if err != nil {
			return err
		}
		var why whyAnswer
		if err := json.Unmarshal(a.Why, &why); err != nil {
			return fmt.Errorf("read the answer of the server: %w", err)
		}
		if *asJSON {
			return cli.PrintObject(c.OutOrStdout(), &why)
		}
		why.print(c.OutOrStdout())
		return nil
	})
	c.Args = cobra.RangeArgs(1, 2)
	return c
}

// askRunning has a request answered by the running server of the data folder.
func askRunning(ctx context.Context, c *config.Config, r admin.Request) (a admin.Answer, err error) {
	if err := datadir.MustExist(c.DataDir); err != nil {
		return a, err
	}
	if !admin.Available { // before the folder is tried, whose error would be that it is in use
		return a, exit.With(exit.Usage, errors.New("there is no socket to ask the server on this system; use GET /api/v2/endpoint/all and /api/v2/transmission/notification/id/ID of the notifications service"))
	}
	held, client, err := admin.Attach(c.DataDir, true)
	if err != nil {
		return a, err
	}
	if held != nil {
		held.Release()
		return a, exit.With(exit.Usage, fmt.Errorf("no server runs on the data folder %s; start one with `ledge serve`", c.DataDir))
	}
	return client.Ask(ctx, r, nil)
}

// administer answers a request at the admin socket.
func (p *Program) administer(ctx context.Context, actor string, r admin.Request, send func(admin.Answer) error) (a admin.Answer, err error) {
	if !p.running.Load() {
		text := "the server is starting"
		if done := p.fold.Progress(); done != "" {
			text += ": " + done
		}
		return a, domain.Errorf(domain.Unavailable, "%s; try again", text)
	}
	switch r.Do {
	case "why":
		var why *whyAnswer
		if why, err = p.why(r.Name, r.Notification); err == nil {
			a.Why, err = json.Marshal(why)
		}
	case "ends":
		a.Ends, err = p.endsAfter(ctx, r.After)
	case "health":
		a.Health = p.health()
	case "verify":
		err = p.verifyFor(ctx, actor, send)
	default:
		a, err = p.identities.do(ctx, actor, r)
	}
	return a, err
}

// endsWait is how long a client waits for its next answer about where the logs end.
const endsWait = 20 * time.Second

// endsAfter says where the logs begin and end. If after is not nil, it waits for one to go on.
func (p *Program) endsAfter(ctx context.Context, after store.Place) (map[string]store.Info, error) {
	if after == nil {
		return p.node.Store.Info(), nil
	}
	wait, cancel := context.WithTimeout(ctx, endsWait)
	defer cancel()
	ends := p.node.Store.InfoAfter(wait, after)
	if ctx.Err() != nil {
		return nil, domain.Errorf(domain.Unavailable, "the server is stopping")
	}
	return ends, nil
}

// finding is one thing that a delivery depends on.
type finding struct {
	// Cause is what it is about: locked, category, label, channel, endpoint, topic, port, queue, transmission or replay.
	Cause string `json:"cause"`
	// Stops says that nothing arrives because of it.
	Stops bool   `json:"stops"`
	Text  string `json:"text"`
}

// whyAnswer explains a delivery.
type whyAnswer struct {
	Subscription string    `json:"subscription"`
	Notification string    `json:"notification,omitempty"`
	Arrives      bool      `json:"arrives"` // nothing stops it, or it did arrive on some channel
	Findings     []finding `json:"findings"`
}

func (w *whyAnswer) add(cause string, stops bool, text string, args ...any) {
	w.Findings = append(w.Findings, finding{cause, stops, fmt.Sprintf(text, args...)})
}

func (w *whyAnswer) print(out io.Writer) {
	what := "the next notification that matches"
	if w.Notification != "" {
		what = "notification " + w.Notification
	}
	verdict := map[bool]string{true: "nothing stops it", false: "it is stopped"}[w.Arrives]
	fmt.Fprintf(out, "%s, to subscription %s: %s\n", what, w.Subscription, verdict)
	for _, f := range w.Findings {
		mark := "ok  "
		if f.Stops {
			mark = "STOP"
		}
		fmt.Fprintf(out, "%s  %-12s  %s\n", mark, f.Cause, f.Text)
	}
}

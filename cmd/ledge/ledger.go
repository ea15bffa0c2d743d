package main

import (
	"context"
	"fmt"
	"io"

	"ledge/cmd/internal/admin"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/node"
	"ledge/store"
)

// ledger is the log as a command reads it, from the files: up to where a running server says that it ends, or to its end.
type ledger struct {
	*store.Files
	pid   string // of the running server; empty if none runs
	close func()
}

// openLedger opens the log, with the archives. It makes no data folder, and changes nothing in the one that is there.
func openLedger(ctx context.Context, c *config.Config) (l *ledger, err error) {
	held, client, err := admin.Attach(c.DataDir, false)
	if err != nil {
		return nil, err
	}
	if client != nil {
		l, err = runningLedger(ctx, c.Paths().Log(), client)
	} else {
		l = &ledger{close: held.Close}
		l.Files, err = store.OpenFiles(ctx, c.Paths().Log())
		err = node.WithCode(err)
	}
	if err == nil {
		err = l.OpenArchives(c.Paths().Archives(), c.Paths().Snapshots())
	}
	if err != nil && l != nil {
		l.close()
	}
	return l, err
}

// runningLedger opens the log in the folder dir beside the server, which says where the logs end.
func runningLedger(ctx context.Context, dir string, server *admin.Client) (*ledger, error) {
	files, err := store.OpenRunning(ctx, dir, func(ctx context.Context, after store.Place) (map[string]store.Info, error) {
		a, err := server.Ask(ctx, admin.Request{Do: "ends", After: after}, nil)
		return a.Ends, err
	})
	if err != nil {
		return nil, err
	}
	return &ledger{Files: files, pid: server.Owner(), close: func() {}}, nil
}

// skipGaps has the log of changes read on behind archives that are missing or damaged, with a line for each.
func (l *ledger) skipGaps(w io.Writer) {
	l.Logs()[0].SkipGaps(func(g *store.Gap) { fmt.Fprintf(w, "ledge: not printed: %v\n", g) })
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/store"
)

// ledger is the log as a command reads it, from the files: up to where a running server says that it ends, or to its end.
type ledger struct {
	*store.Files
	pid   string // of the running server; empty if none runs
	close func()
}

// openLedger opens the log, with the archives. It makes no data folder, and changes nothing in the one that is there.
func openLedger(ctx context.Context, c *Config) (l *ledger, err error) {
	if err := datadir.MustExist(c.DataDir); err != nil {
		return nil, err
	}
	lock, err := datadir.Hold(c.DataDir)
	if exit.IsInUse(err) {
		l, err = runningLedger(ctx, c)
	} else if err == nil {
		l = &ledger{close: lock.Close}
		l.Files, err = store.OpenFiles(ctx, c.logDir())
		err = storeError(err)
	}
	if err == nil {
		err = l.OpenArchives(c.archiveDir(), c.snapshotDir())
	}
	if err != nil && l != nil {
		l.close()
	}
	return l, err
}

// errAway is in the chain of errors if the running server does not answer.
var errAway = errors.New("not available")

// runningLedger asks the server of the data folder where the logs end.
func runningLedger(ctx context.Context, c *Config) (*ledger, error) {
	if err := canAsk(c); err != nil {
		return nil, err
	}
	files, err := store.OpenRunning(ctx, c.logDir(), func(ctx context.Context, after store.Place) (map[string]store.Info, error) {
		a, err := askAdminSocket(ctx, c.DataDir, adminRequest{Do: "ends", After: after}, nil)
		return a.Ends, err
	})
	if err != nil {
		return nil, err
	}
	return &ledger{Files: files, pid: datadir.Owner(c.DataDir), close: func() {}}, nil
}

// canAsk returns an error if a running server cannot be asked on this system.
func canAsk(c *Config) error {
	if hasAdminSocket {
		return nil
	}
	return exit.With(exit.InUse, fmt.Errorf("data folder %s is in use by process %s, which cannot be asked on this system; stop it first", c.DataDir, datadir.Owner(c.DataDir)))
}

// skipGaps has the log of changes read on behind archives that are missing or damaged, with a line for each.
func (l *ledger) skipGaps(w io.Writer) {
	l.Logs()[0].SkipGaps(func(g *store.Gap) { fmt.Fprintf(w, "ledge: not printed: %v\n", g) })
}

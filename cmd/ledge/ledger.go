package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"ledge/store"
)

// ledger is the log as a command sees it: through the tap of a running server, or opened by the command itself.
type ledger struct {
	logs  []*store.Log // events, notifications, readings
	tap   *store.Tap   // nil where the command has opened the log itself
	pid   string       // of the running server
	close func()
}

// openLedger takes whichever way is there. Without a server it reads the files: it makes no data folder, and changes nothing
// in the one that is there.
func openLedger(ctx context.Context, c *Config) (*ledger, error) {
	if err := dataDirThere(c); err != nil {
		return nil, err
	}
	lock, err := holdDataDir(c.DataDir)
	if e, ok := errors.AsType[exitError](err); ok && e.code == exitInUse {
		return tapLedger(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	files, err := store.OpenFiles(ctx, c.logDir())
	if err != nil {
		lock.close()
		return nil, storeError(err)
	}
	if err := files.OpenArchives(c.archiveDir(), c.snapshotDir()); err != nil {
		lock.close()
		return nil, err
	}
	return &ledger{logs: files.Logs(), close: lock.close}, nil
}

// dataDirThere is for commands that make no data folder, neither where there is nothing nor of a folder that has neither log
// nor state.
func dataDirThere(c *Config) error {
	for _, name := range append([]string{"nats"}, stateFiles...) {
		if _, err := os.Stat(filepath.Join(c.DataDir, name)); !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return exitError{exitFolder, fmt.Errorf("no data folder %s; check --data-dir", c.DataDir)}
}

// tapLedger goes through the tap of the server that has the data folder.
func tapLedger(ctx context.Context, c *Config) (*ledger, error) {
	pid, url := owner(c.DataDir)
	if url == "" {
		return nil, exitError{exitInUse, fmt.Errorf("data folder %s is in use by process %s, which has no tap (tap-port -1) or is starting; stop it, or give it a tap", c.DataDir, pid)}
	}
	url, err := ownTap(c.DataDir, pid, url)
	if err != nil {
		return nil, err
	}
	t, err := store.OpenTap(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("tap of process %s: %w", pid, err)
	}
	if err := t.OpenArchives(c.archiveDir(), c.snapshotDir()); err != nil {
		t.Close()
		return nil, err
	}
	return &ledger{logs: t.Logs(), tap: t, pid: pid, close: t.Close}, nil
}

// skipGaps has the log of changes read on behind archives that are missing or damaged, with a line for each.
func (l *ledger) skipGaps(w io.Writer) {
	l.logs[0].SkipGaps(func(g *store.Gap) { fmt.Fprintf(w, "ledge: not printed: %v\n", g) })
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"ledge/projections"
	"ledge/store"
)

func newVerify() *cobra.Command {
	c := &cobra.Command{
		Use:   "verify",
		Short: "Check that the log is whole and that the state is a fold of it",
		Long: `Check that every event of the log is there, unaltered and linked to the one before it, that every body that is a file
of its own has the size and the SHA-256 that its event names, that the state in bbolt is whole and equals a fold of the log
from its first event, and that the secrets can be read. Each damage is named, with stream, sequence, block file and offset.

Without a server nothing in the data folder is opened for writing: no file is made, changed or removed. An unfinished write at
the end of a log, which no client had an answer for, does not count as damage; the next start cuts it off and keeps the bytes.
Beside a running server, that server verifies the log, the archives and the bodies that its state refers to; verify asks it
through the socket admin.sock in the data folder, which only the user of the server and root can use (on Windows, stop the
server first). A server that finds damage in its log ends. The state is checked only without a server. What retention removes
meanwhile is not damage. Files in payloads/ that no event refers to are counted. Without a server, what state and bodies are
compared with is folded from the log into a folder ledge-verify-* where the system has its temporary files (TMPDIR); it takes
as much room as the state, and is removed at the end.

What is archived of the changes is checked too: each archive in archive-dir from end to end, its signature, how it goes on
into the next one and into the log, and the snapshots of the state. An archive that is not there is named, and is no damage as
long as the state, or a snapshot of it, is there. What verify finds whole, ledge serve starts on.

An event that is as it was written, but that this version cannot decode, is named and is no damage: earlier versions
took requests that were nested too deep. The state is folded without it.

Exit code 6 where something is damaged, and one line that names the first damage.`,
	}
	asJSON := jsonFlag(c)
	return configured(c, func(ctx context.Context, c *cobra.Command, config *Config, _ map[string]string) error {
		logger := newLogger(config, c.ErrOrStderr())
		progress := newProgress(c.ErrOrStderr(), "verify")
		if !*asJSON {
			return interrupted(ctx, verifyAll(ctx, config, logger, c.OutOrStdout(), progress), "not all is verified; nothing is changed")
		}
		report := verifyReport{Streams: []*verifiedStream{}, Damages: []string{}, Notes: []string{}}
		err := verifyAll(ctx, config, logger, &report, progress)
		damage, ok := errors.AsType[exitError](err)
		if report.Whole = err == nil; report.Whole || ok && damage.code == exitDamaged {
			if !report.Whole && len(report.Damages) == 0 {
				report.Damages = append(report.Damages, err.Error())
			}
			err = errors.Join(err, printObject(c.OutOrStdout(), report))
		}
		return interrupted(ctx, err, "not all is verified; nothing is changed")
	})
}

// verifyAll verifies all of the folder of a node that does not run, or has the running server verify what it can.
func verifyAll(ctx context.Context, c *Config, logger *slog.Logger, w io.Writer, p *progress) error {
	if err := dataDirThere(c); err != nil {
		return err
	}
	lock, err := holdDataDir(c.DataDir)
	if isInUse(err) {
		return verifyRunning(ctx, c, w, p)
	}
	if err != nil {
		return err
	}
	defer lock.close()
	return (&folderCheck{config: c, logger: logger, w: w, progress: p}).run(ctx)
}

func printWhole(w io.Writer, r store.Report) {
	if w, ok := w.(streamTaker); ok {
		w.takeStream(verifiedStreamOf(r))
		return
	}
	printStream(w, verifiedStreamOf(r))
}

// printStream names the events that could not be decoded too. They are no damage: the state was folded without them.
func printStream(w io.Writer, s *verifiedStream) {
	fmt.Fprintf(w, "%s: whole, %d events, %d to %d, chain %s\n", s.Stream, s.Events, s.First, s.Last, s.Chain)
	if len(s.Skipped) > 0 {
		fmt.Fprintf(w, "%s: %d events could not be decoded; skipped:\n", s.Stream, len(s.Skipped))
	}
	for _, text := range s.Skipped {
		fmt.Fprintf(w, "  %s\n", text)
	}
}

// folds are the names of the folders of fresh folds.
const folds = "ledge-verify-*"

// freshFold opens an empty projection in a temporary folder of its own, and returns what removes it.
func freshFold(file string, tables projections.Tables, logger *slog.Logger) (*projections.DB, func(), error) {
	tmp, err := os.MkdirTemp("", folds)
	if err != nil {
		return nil, nil, fmt.Errorf("temporary folder: %w; set TMPDIR to one that can be written", err)
	}
	fresh, err := projections.Open(projections.Options{Path: filepath.Join(tmp, file), Tables: tables, Logger: logger})
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(tmp))
	}
	return fresh, func() { _, _ = fresh.Close(), os.RemoveAll(tmp) }, nil
}

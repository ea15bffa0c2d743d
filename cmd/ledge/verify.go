package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"ledge/domain"
	"ledge/projections"
)

func newVerify() *cobra.Command {
	c := &cobra.Command{
		Use:   "verify",
		Short: "Check that the log is whole and that the state is a fold of it",
		Long: `Check that every event of the log is there, unaltered and linked to the one before it, that every body that is a file
of its own has the size and the SHA-256 that its event names, and that the state in bbolt equals a fold of the log from
its first event.

Beside a running server it checks the log, through the server's tap, and the bodies; the state is checked only without
one, because the server has the files. What retention removes meanwhile is no damage. The bodies are read from end to
end, and each that is missing or damaged is named; files that no event refers to are counted. What the bodies are
checked by is folded from the log into a folder verify-* in the data folder, which is removed at the end.

Exit code 6 where something is damaged, and one line that names the first damage.`,
	}
	return configured(c, func(ctx context.Context, c *cobra.Command, config *Config, _ map[string]string) error {
		err := verifyAll(ctx, config, newLogger(config, c.ErrOrStderr()), c.OutOrStdout())
		return interrupted(ctx, err, "not all is verified; nothing is changed")
	})
}

// verifyAll verifies the logs, the bodies beside them and, where no server has it, the state.
func verifyAll(ctx context.Context, c *Config, logger *slog.Logger, w io.Writer) error {
	l, err := openLedger(ctx, c, logger)
	if err != nil {
		return err
	}
	damage, err := l.verify(ctx, w, c, logger)
	l.close()
	switch {
	case err != nil:
		return err
	case l.tap != nil:
		fmt.Fprintf(w, "state: not compared, process %s is using it; stop it and verify again\n", l.pid)
	default:
		err = verifyState(ctx, c, logger, w)
	}
	return cmp.Or(err, damage)
}

// verify verifies the logs and the bodies beside them. Damage of bodies does not keep the rest from being looked at.
func (l *ledger) verify(ctx context.Context, w io.Writer, c *Config, logger *slog.Logger) (damage, err error) {
	b, err := openBodies(c, l, logger)
	if err != nil {
		return nil, err
	}
	defer b.close()
	for _, log := range l.logs {
		var each func([]domain.Recorded) error
		if log == b.log {
			each = b.take
		}
		r, err := log.Verify(ctx, each)
		if err != nil {
			return nil, damaged(err)
		}
		fmt.Fprintf(w, "%s: whole, %d events, %d to %d, chain %x\n", r.Stream, r.Count, r.First, r.Last, r.Head)
	}
	err = b.verify(ctx, w)
	return b.damage(), err
}

// verifyState compares each projection with a fresh fold of its stream.
func verifyState(ctx context.Context, c *Config, logger *slog.Logger, w io.Writer) error {
	lock, err := lockDataDir(c.DataDir)
	if err != nil {
		return err
	}
	defer lock.release()
	if err := removeLeft(c.DataDir); err != nil {
		return exitError{exitFolder, err}
	}
	d, err := openData(ctx, c, -1, logger)
	if err != nil {
		return err
	}
	defer func() { _ = d.close() }()
	for _, p := range d.projections() {
		if p.log.First() > 1 { // what the beginning told the state is not on the log any more
			fmt.Fprintf(w, "%s: not compared: retention has removed the beginning of %s\n", p.file, p.log.Name())
			continue
		}
		same, err := p.equalsFold(ctx, c.DataDir, logger)
		if err != nil {
			return damaged(err)
		}
		if !same {
			return exitError{exitDamaged, fmt.Errorf("%s is not the fold of %s; run `ledge rebuild`", p.file, p.log.Name())}
		}
		fmt.Fprintf(w, "%s: equals the fold of %s\n", p.file, p.log.Name())
	}
	return nil
}

// folds are the folders of fresh folds, in the data folder.
const folds = "verify-*"

// removeLeft removes the folds that a verify that was killed has left.
func removeLeft(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, folds))
	for _, path := range left {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}

// equalsFold folds the stream into a fresh file and compares the two.
func (p projection) equalsFold(ctx context.Context, dir string, logger *slog.Logger) (bool, error) {
	fresh, remove, err := freshFold(dir, p.file, p.tables, logger)
	if err != nil {
		return false, err
	}
	defer remove()
	if err := fold(ctx, p, fresh); err != nil {
		return false, err
	}
	want, err := digest(fresh)
	if err != nil {
		return false, err
	}
	got, err := digest(p.db)
	return bytes.Equal(got, want), err
}

// freshFold opens an empty projection in a folder of its own in the data folder, and returns what removes it.
func freshFold(dir, file string, tables projections.Tables, logger *slog.Logger) (*projections.DB, func(), error) {
	tmp, err := os.MkdirTemp(dir, folds)
	if err != nil {
		return nil, nil, err
	}
	fresh, err := projections.Open(projections.Options{Path: filepath.Join(tmp, file), Tables: tables, Logger: logger})
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(tmp))
	}
	return fresh, func() { _, _ = fresh.Close(), os.RemoveAll(tmp) }, nil
}

const foldAtOnce = 5000

func fold(ctx context.Context, p projection, into *projections.DB) error {
	batch := make([]domain.Recorded, 0, foldAtOnce)
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := into.Apply(batch)
		batch = batch[:0]
		return err
	}
	for r, err := range p.log.Read(ctx, 1, 0) {
		if err != nil {
			return err
		}
		if batch = append(batch, r); len(batch) == cap(batch) {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// digest is the SHA-256 of a projection's canonical dump.
func digest(db *projections.DB) ([]byte, error) {
	h := sha256.New()
	err := db.Dump(h)
	return h.Sum(nil), err
}

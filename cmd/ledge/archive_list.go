package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"ledge/store"
)

func newArchive() *cobra.Command {
	c := &cobra.Command{
		Use:   "archive",
		Short: "List the archives of the log of changes, and print the public key that signs them",
		Long: `List the archives of the log of changes: the events in each, and whether it is in archive-dir. The first line is the public
key by which archives and snapshots of this node are signed; note it elsewhere, so that nobody can replace both.

It only reads file names and headers; ledge verify checks the content. What is archived, and when, say the settings
events-max-bytes and events-max-age.`,
	}
	return configured(c, func(_ context.Context, c *cobra.Command, config *Config, _ map[string]string) error {
		if err := dataDirThere(config); err != nil {
			return err
		}
		return listArchives(config, c.OutOrStdout())
	})
}

func listArchives(c *Config, w io.Writer) error {
	key, err := store.ReadSigningKey(c.signingKey())
	switch {
	case err == nil:
		fmt.Fprintf(w, "public key: %s\n", key.Public())
	case errors.Is(err, fs.ErrNotExist):
		fmt.Fprintln(w, "public key: none; it is made with the first archive")
	default:
		return exitError{exitFolder, err}
	}
	known, last, err := knownArchives(c, w)
	if err != nil {
		return err
	}
	archives := store.OpenArchives(c.archiveDir(), known)
	list, err := archives.List()
	if err != nil {
		return exitError{exitFolder, err}
	}
	for _, ref := range list {
		fmt.Fprintf(w, "%s: events %d to %d\n", ref.File, ref.First, ref.Last)
	}
	gaps, err := archives.Gaps(1, last)
	for _, g := range gaps {
		fmt.Fprintf(w, "missing: %v\n", g)
	}
	return err
}

// knownArchives returns the archives that the newest snapshot lists, and its sequence; 0 where there is none.
func knownArchives(c *Config, w io.Writer) (known []store.ArchiveRef, last uint64, err error) {
	list, err := store.Snapshots(c.snapshotDir())
	if err != nil {
		return nil, 0, exitError{exitFolder, err}
	}
	for _, seq := range list {
		s, err := store.OpenSnapshot(c.snapshotDir(), seq)
		if err != nil {
			fmt.Fprintf(w, "%v\n", err)
			continue
		}
		fmt.Fprintf(w, "snapshot: as of event %d\n", seq)
		return s.Archives, seq, nil
	}
	return nil, 0, nil
}

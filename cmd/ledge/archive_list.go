package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/store"
)

func newArchive() *cobra.Command {
	c := &cobra.Command{
		Use:   "archive",
		Short: "List the archives of the log of changes, and print the public key that signs them",
		Long: `List the archives of the log of changes: the events in each, and whether it is there. The first
line is the public key that signs the archives; note it elsewhere, so that nobody can replace both.

It reads names and headers only; ledge verify checks the content. See docs/reference/archives.md.`,
		Example: `  ledge archive --data-dir /var/lib/ledge
  ledge archive --json | jq .missing`,
	}
	asJSON := cli.AddJSONFlag(c)
	return cli.WithSettings(c, func(_ context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		if err := datadir.MustExist(cfg.DataDir); err != nil {
			return err
		}
		list, err := listArchives(cfg)
		if err != nil {
			return exit.With(exit.Folder, err)
		}
		if *asJSON {
			return cli.PrintObject(c.OutOrStdout(), list)
		}
		list.print(c.OutOrStdout())
		return nil
	})
}

// archiveList is what there is of archives.
type archiveList struct {
	PublicKey string             `json:"publicKey,omitempty"` // hex; empty before the first archive
	Snapshot  uint64             `json:"snapshot"`            // the event that the newest snapshot of the state is as of; 0 for none
	Archives  []store.ArchiveRef `json:"archives"`
	Missing   []string           `json:"missing"` // archived events that cannot be read, and why
	Unread    []string           `json:"unread"`  // snapshots that cannot be read, and why
}

func listArchives(c *config.Config) (*archiveList, error) {
	l := &archiveList{Archives: []store.ArchiveRef{}, Missing: []string{}, Unread: []string{}}
	key, err := store.ReadSigningKey(c.Paths().SigningKey())
	if err == nil {
		l.PublicKey = key.Public()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	known, err := l.known(c)
	if err != nil {
		return nil, err
	}
	archives := store.OpenArchives(c.Paths().Archives(), known)
	list, err := archives.List()
	if err != nil {
		return nil, err
	}
	l.Archives = append(l.Archives, list...)
	gaps, err := archives.Gaps(1, l.Snapshot)
	for _, g := range gaps {
		l.Missing = append(l.Missing, g.Error())
	}
	return l, err
}

// known returns the archives that the newest snapshot lists.
func (l *archiveList) known(c *config.Config) ([]store.ArchiveRef, error) {
	list, err := store.Snapshots(c.Paths().Snapshots())
	if err != nil {
		return nil, err
	}
	for _, seq := range list {
		s, err := store.OpenSnapshot(c.Paths().Snapshots(), seq)
		if err == nil {
			l.Snapshot = seq
			return s.Archives, nil
		}
		l.Unread = append(l.Unread, err.Error())
	}
	return nil, nil
}

func (l *archiveList) print(w io.Writer) {
	fmt.Fprintf(w, "public key: %s\n", cmp.Or(l.PublicKey, "none; it is made with the first archive"))
	for _, text := range l.Unread {
		fmt.Fprintln(w, text)
	}
	if l.Snapshot > 0 {
		fmt.Fprintf(w, "snapshot: as of event %d\n", l.Snapshot)
	}
	for _, ref := range l.Archives {
		fmt.Fprintf(w, "%s: events %d to %d\n", ref.File, ref.First, ref.Last)
	}
	for _, text := range l.Missing {
		fmt.Fprintf(w, "missing: %s\n", text)
	}
}

package check

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"ledge/cmd/internal/datadir"
	"ledge/store"
)

// ArchiveList is the output of `ledge archive`.
type ArchiveList struct {
	PublicKey string             `json:"publicKey,omitempty"` // hex; empty before the first archive
	Snapshot  uint64             `json:"snapshot"`            // the event that the newest snapshot of the state is as of; 0 for none
	Archives  []store.ArchiveRef `json:"archives"`
	Missing   []string           `json:"missing"` // archived events that cannot be read, and why
	Unread    []string           `json:"unread"`  // snapshots that cannot be read, and why
}

// ListArchives lists the archives of a data folder, running or not.
func ListArchives(paths datadir.Paths) (*ArchiveList, error) {
	l := &ArchiveList{Archives: []store.ArchiveRef{}, Missing: []string{}, Unread: []string{}}
	key, err := store.ReadSigningKey(paths.SigningKey())
	if err == nil {
		l.PublicKey = key.Public()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	known, err := l.known(paths)
	if err != nil {
		return nil, err
	}
	archives := store.OpenArchives(paths.Archives(), known)
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
func (l *ArchiveList) known(paths datadir.Paths) ([]store.ArchiveRef, error) {
	list, err := store.Snapshots(paths.Snapshots())
	if err != nil {
		return nil, err
	}
	for _, seq := range list {
		s, err := store.OpenSnapshot(paths.Snapshots(), seq)
		if err == nil {
			l.Snapshot = seq
			return s.Archives, nil
		}
		l.Unread = append(l.Unread, err.Error())
	}
	return nil, nil
}

// Print prints the list for people.
func (l *ArchiveList) Print(w io.Writer) {
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

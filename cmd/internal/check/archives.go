package check

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/store"
)

// archiveCheck verifies archives and snapshots, and how they continue one another and the log.
type archiveCheck struct {
	paths   datadir.Paths
	w       io.Writer
	own     string // the public key of this node; empty if it has none
	after   string // the chain hash with which the last archive ends
	last    uint64 // its last event
	events  uint64
	damaged error // the first damage
}

// verifyArchives verifies what is archived of the log of changes, and that the log continues it. What is damaged is named,
// and the first is returned; what is missing is named.
func verifyArchives(ctx context.Context, paths datadir.Paths, log *store.Log, w io.Writer) (damage, err error) {
	k := &archiveCheck{paths: paths, w: w}
	first, base := log.Base()
	first = max(first, 1)
	key, err := store.ReadSigningKey(paths.SigningKey())
	if err == nil {
		k.own = key.Public()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, exit.With(exit.Folder, err)
	}
	known, err := k.snapshots(first, base)
	if err != nil {
		return nil, err
	}
	archives := store.OpenArchives(paths.Archives(), known)
	list, err := archives.List()
	if err != nil {
		return nil, exit.With(exit.Folder, err)
	}
	gaps, err := archives.Gaps(1, first-1)
	if err != nil {
		return nil, exit.With(exit.Folder, err)
	}
	for _, g := range gaps {
		fmt.Fprintf(w, "archives: not verified: %v\n", g)
	}
	for _, ref := range list {
		if err := k.archive(ctx, archives, ref); err != nil {
			return nil, err
		}
	}
	if k.last == first-1 && k.after != base && base != "" && first > 1 {
		k.fault(fmt.Errorf("the log goes on at %d after chain %s, and the archives end with %s", first, base, k.after))
	}
	if len(list) > 0 && k.damaged == nil {
		fmt.Fprintf(w, "archives: whole, %d files with %d events\n", len(list), k.events)
	}
	if k.damaged != nil {
		damage = exit.With(exit.Damaged, k.damaged)
	}
	return damage, nil
}

func (k *archiveCheck) fault(err error) {
	fmt.Fprintf(k.w, "damaged: %v\n", err)
	if k.damaged == nil {
		k.damaged = fmt.Errorf("%w; restore the file from a backup", err)
	}
}

// snapshots verifies each snapshot and returns the archives that the newest one lists.
func (k *archiveCheck) snapshots(first uint64, base string) (known []store.ArchiveRef, err error) {
	list, err := store.Snapshots(k.paths.Snapshots())
	if err != nil {
		return nil, exit.With(exit.Folder, err)
	}
	for i, seq := range list {
		s, err := store.OpenSnapshot(k.paths.Snapshots(), seq)
		if err == nil {
			err = s.Check()
		}
		if err == nil && seq == first-1 && base != "" && s.Chain != base {
			err = fmt.Errorf("snapshot as of %d: its chain is %s, and that of the log is %s", seq, s.Chain, base)
		}
		if err != nil {
			k.fault(err)
			continue
		}
		if known == nil {
			known = s.Archives
		}
		if i == 0 {
			fmt.Fprintf(k.w, "snapshot: whole, as of event %d, signed by %s%s\n", seq, s.Public, k.foreign(s.Public))
		}
	}
	return known, nil
}

func (k *archiveCheck) foreign(public string) string {
	if k.own == "" || public == k.own {
		return ""
	}
	return ", which is not the key of this node"
}

// archive verifies one archive, and that it continues the one before it if they are neighbours.
func (k *archiveCheck) archive(ctx context.Context, archives *store.Archives, ref store.ArchiveRef) error {
	h, public, err := archives.CheckArchive(ctx, ref.File)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch zero := hex.EncodeToString(make([]byte, 32)); {
	case err != nil:
	case h.Name() != ref.File:
		err = fmt.Errorf("%s: it is %s by its header; give it that name", ref.File, h.Name())
	case h.First == 1 && h.Before != zero || h.First == k.last+1 && k.last > 0 && h.Before != k.after:
		err = fmt.Errorf("%s: it does not continue the archive before it", ref.File)
	}
	if err != nil {
		k.fault(err)
		return nil
	}
	k.last, k.after, k.events = h.Last, h.After, k.events+h.Last-h.First+1
	fmt.Fprintf(k.w, "archive %s: whole, events %d to %d, signed by %s%s\n", ref.File, h.First, h.Last, public, k.foreign(public))
	return nil
}

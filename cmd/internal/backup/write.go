// Package backup writes a backup of a node, which may run, to one file, and makes a data folder of such a file.
package backup

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ledge/cmd/internal/admin"
	"ledge/cmd/internal/certs"
	"ledge/cmd/internal/check"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/logs"
	"ledge/cmd/internal/node"
	"ledge/cmd/internal/secure"
	"ledge/domain"
	"ledge/store"
	"ledge/store/osfile"
	"ledge/store/payloads"
	"ledge/store/secrets"
)

// Options are the input of a backup.
type Options struct {
	Paths    datadir.Paths
	Version  string // of ledge, for the manifest
	Logger   *slog.Logger
	Progress func(text string, done, total int64)
}

// writing is one run of `ledge backup`.
type writing struct {
	Options

	beside *logs.Reader // of a running server, else nil
	ends   map[string]store.End
	file   *writer
	bodies *check.Bodies
	has    map[string]bool // the digests of the bodies that are in the file
	m      Manifest
}

// Write writes a backup of a node, which may run, to a new file.
func Write(ctx context.Context, name string, o Options) (*Report, error) {
	b := &writing{Options: o}
	held, client, err := admin.Attach(o.Paths.Data, false)
	if err != nil {
		return nil, err
	}
	if held != nil {
		defer held.Close()
	} else if b.beside, err = logs.OpenBeside(ctx, o.Paths.Log(), client); err != nil {
		return nil, err
	}
	if b.file, err = createFile(name, time.Now()); err != nil {
		return nil, err
	}
	if err := b.write(ctx); err != nil {
		b.file.abandon()
		return nil, exit.WithDamage(err)
	}
	return &Report{File: name, Manifest: b.m}, nil
}

// Report describes a backup, in the form that `ledge backup --json` prints.
type Report struct {
	File string `json:"file"`
	Manifest
	// Removed are the older backups that --keep has removed.
	Removed []string `json:"removed,omitempty"`
}

// Print prints a report for people.
func (r *Report) Print(w io.Writer) {
	for _, stream := range store.Streams() {
		e := r.Streams[stream]
		fmt.Fprintf(w, "%s: %d to %d, chain %s\n", stream, e.First, e.Last, e.Chain)
	}
	fmt.Fprintf(w, "payloads: %d bodies with %d bytes\nwritten to %s\n", r.Payloads, r.Bytes, r.File)
	for _, path := range r.Removed {
		fmt.Fprintf(w, "removed %s\n", path)
	}
}

// write writes all entries. The bodies come first: those of events that come later are added at the end, and those that
// retention removes meanwhile are there.
func (b *writing) write(ctx context.Context) (err error) {
	b.has = map[string]bool{}
	b.m = Manifest{Format: format, Version: b.Version, Time: b.file.at, Streams: map[string]manifestEntry{}}
	if err := b.allPayloads(ctx); err != nil {
		return err
	}
	if err := b.findEnds(ctx); err != nil {
		return err
	}
	hashes, err := b.secrets()
	if err != nil {
		return err
	}
	if b.bodies, err = check.OpenBodies(b.Paths, nil, b.Logger, nil); err != nil {
		return err
	}
	defer b.bodies.Close()
	for i, stream := range store.Streams() {
		if err := b.stream(ctx, i, stream); err != nil {
			return err
		}
	}
	starts, err := store.Starts(b.Paths.Log(), b.ends)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(starts)) {
		if err := b.file.addText(startPrefix+name, starts[name]); err != nil {
			return err
		}
	}
	if err := store.NotPassed(b.Paths.Log(), b.ends); err != nil {
		return err
	}
	if err := b.snapshots(); err != nil {
		return err
	}
	if err := b.small(signingKeyName, b.Paths.SigningKey()); err != nil {
		return err
	}
	if hashes != nil {
		if err := b.file.addText(datadir.SecretsFile, hashes); err != nil {
			return err
		}
	}
	if err := b.authority(); err != nil {
		return err
	}
	if err := b.missingPayloads(ctx); err != nil {
		return err
	}
	return b.file.finish(b.m)
}

// authority copies the local CA, so that clients trust the restored node as well.
func (b *writing) authority() error {
	if err := secure.CheckAuthority(b.Paths.Data); err != nil {
		return err
	}
	for _, name := range []string{certs.CAFile, certs.CAKeyFile} {
		if err := b.small(name, filepath.Join(b.Paths.Data, name)); err != nil {
			return err
		}
	}
	return nil
}

// snapshots copies the snapshots that can be used: without them a log whose first changes are archived cannot be folded. They
// come after the front on record, because a snapshot is made before the front moves behind it.
func (b *writing) snapshots() error {
	list, err := store.Snapshots(b.Paths.Snapshots())
	if err != nil {
		return exit.With(exit.Folder, err)
	}
	for _, seq := range list {
		s, err := store.OpenSnapshot(b.Paths.Snapshots(), seq)
		if err == nil {
			err = s.Check()
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue // a newer one has taken its place
		}
		if err != nil {
			return exit.With(exit.Damaged, fmt.Errorf("%w; move the file away, and back up again", err))
		}
		if err := b.file.addFile(snapshotPrefix+filepath.Base(s.Path()), s.Path()); err != nil {
			return err
		}
	}
	return nil
}

// findEnds decides up to where each stream is copied. The changes come last: what refers to one is never without it.
func (b *writing) findEnds(ctx context.Context) error {
	b.ends = map[string]store.End{}
	if b.beside != nil {
		all := b.beside.Logs()
		for _, group := range [][]*store.Log{all[1:], all[:1]} {
			if err := b.beside.Refresh(ctx); err != nil {
				return err
			}
			for _, l := range group {
				seq, chain := l.Last()
				b.ends[l.Name()] = store.End{Seq: seq, Chain: chain}
			}
		}
		return nil
	}
	f := &check.Folder{Paths: b.Paths, Logger: b.Logger, W: io.Discard, Progress: b.Progress}
	if err := f.InspectStates(); err != nil {
		return err
	}
	if err := f.InspectLogs(ctx); err != nil {
		return node.WithCode(err)
	}
	for _, in := range f.Logs {
		if err := in.Damage(); err != nil {
			return exit.With(exit.Damaged, err)
		}
		b.ends[in.Stream] = in.End()
	}
	return nil
}

// stream copies one log, and folds of the readings which bodies they need.
func (b *writing) stream(ctx context.Context, i int, name string) error {
	each := func([]domain.Recorded) error { return nil }
	if i == 2 {
		each = b.bodies.Take
	}
	end := b.ends[name]
	done := int64(0)
	r, err := store.CopyBlocks(ctx, b.Paths.Log(), name, end, func(path string, text []byte) error {
		done += int64(len(text))
		b.Progress(name, done, 0)
		return b.file.addText(logPrefix+path, text)
	}, each)
	if err != nil {
		return err
	}
	b.m.Streams[name] = manifestEntry{r.First, r.Last, hex.EncodeToString(r.Head[:]), r.FirstBlock}
	return nil
}

// secrets returns the secret store, nil if there is none. It is read as soon as the ends of the logs are known: a hash that an event names
// up to there is kept for a minute after another one has taken its place.
func (b *writing) secrets() ([]byte, error) {
	key, err := secure.FindSecretKey(b.Paths.Data)
	if err == nil {
		_, err = secure.CheckSecrets(b.Paths, key)
	}
	if err != nil {
		return nil, secure.WithSecretsCode(err)
	}
	return readShort(b.Paths.Secrets())
}

// small copies a file that is short, if it is there.
func (b *writing) small(name, path string) error {
	text, err := readShort(path)
	if err != nil || text == nil {
		return err
	}
	return b.file.addText(name, text)
}

// readShort reads a file that is short; without a file the text is nil.
func readShort(path string) ([]byte, error) {
	f, err := osfile.Open(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostSmall+1))
	if err == nil && len(text) > mostSmall {
		err = fmt.Errorf("%s has more than %d bytes", path, mostSmall)
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}

// mostSmall is the most bytes of an entry that is neither a block nor a body. The largest one is the secret store.
const mostSmall = secrets.MaxFileBytes

// allPayloads copies the bodies that are there. One that is not whole is left out; it is damage if an event needs it.
func (b *writing) allPayloads(ctx context.Context) error {
	for names, err := range payloads.Names(b.Paths.Payloads()) {
		if err != nil {
			return err
		}
		for _, name := range names {
			if sum, err := hex.DecodeString(name); err != nil || len(sum) != 32 {
				continue
			}
			if _, err := b.payload(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// payload copies a body, and says why it did not.
func (b *writing) payload(ctx context.Context, digest string) (fault string, err error) {
	path := filepath.Join(b.Paths.Payloads(), digest)
	f, err := osfile.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return err.Error(), nil
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err.Error(), nil
	}
	if fault, err = payloads.Check(ctx, b.Paths.Payloads(), digest, st.Size()); fault != "" || err != nil {
		return fault, err
	}
	sum, err := b.file.add(bodyPrefix+digest, f, st.Size())
	if err == nil && sum != digest {
		err = fmt.Errorf("%s changed while it was read", path)
	}
	if err != nil {
		return "", err
	}
	b.has[digest] = true
	b.m.Payloads, b.m.Bytes = b.m.Payloads+1, b.m.Bytes+st.Size()
	b.Progress(fmt.Sprintf("%d bodies", b.m.Payloads), b.m.Bytes, 0)
	return "", nil
}

// missingPayloads copies the bodies that readings need and the backup lacks.
func (b *writing) missingPayloads(ctx context.Context) error {
	first := b.m.Streams[store.Streams()[2]].First
	if b.beside != nil { // what retention has removed meanwhile needs no body
		if err := b.beside.Refresh(ctx); err != nil {
			return err
		}
		first = max(first, b.beside.Logs()[2].First())
	}
	if _, err := b.bodies.Fold.Forget(ctx, first); err != nil {
		return err
	}
	for from := uint64(1); ; {
		list, next, err := b.bodies.Part(from)
		if err != nil || next == from {
			return err
		}
		for _, r := range list {
			if b.has[r.Digest] {
				continue
			}
			fault, err := b.payload(ctx, r.Digest)
			if err != nil {
				return err
			}
			if fault == "" {
				continue
			}
			path := filepath.Join(b.Paths.Payloads(), r.Digest)
			if _, err := os.Lstat(path); b.beside != nil && errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("the body of reading %s is gone: it was removed while the backup was made, or is damaged; run the backup again, and `ledge verify` if that ends so too", r.ID)
			}
			return exit.With(exit.Damaged, fmt.Errorf("the body of reading %s is damaged: %s: %s; `ledge verify` lists all that are, `ledge salvage` copies what is whole", r.ID, path, fault))
		}
		from = next
	}
}

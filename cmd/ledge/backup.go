package main

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

	"github.com/spf13/cobra"

	"ledge/cmd/internal/admin"
	"ledge/cmd/internal/certs"
	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/node"
	"ledge/domain"
	"ledge/store"
	"ledge/store/osfile"
	"ledge/store/payloads"
	"ledge/store/secrets"
)

func newBackup() *cobra.Command {
	c := &cobra.Command{
		Use:   "backup FILE",
		Args:  cobra.ExactArgs(1),
		Short: "Write the log, the bodies and the secrets of a running or stopped node to one file",
		Long: `Write the log, the bodies and the secrets of a running or stopped node to one new file, from which
ledge restore makes a data folder. The file has secrets and keys in it: keep it as you keep the
data folder. Archives are not in it: copy archive-dir too. See docs/backup.md.

Exit code 6 if the log or a body is damaged: no backup is written then.`,
		Example: `  ledge backup /backups/ledge-2026-11-22.tar
  ledge backup --json --config /etc/ledge/ledge.yaml /backups/today.tar`,
	}
	asJSON := cli.AddJSONFlag(c)
	return cli.WithSettings(c, func(ctx context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		p := cli.NewProgress(c.ErrOrStderr(), "backup")
		defer p.Clear()
		b := &backup{json: *asJSON, config: cfg, logger: cfg.NewLogger(p.Beside(c.ErrOrStderr())), progress: p, out: p.Beside(c.OutOrStdout())}
		return cli.Interrupted(ctx, b.run(ctx, c.Flags().Arg(0)), "no backup is written")
	})
}

// backup is one run of `ledge backup`.
type backup struct {
	config   *config.Config
	logger   *slog.Logger
	progress *cli.Progress
	out      io.Writer
	json     bool

	beside *ledger // of a running server, else nil
	ends   map[string]store.End
	file   *backupWriter
	bodies *bodies
	has    map[string]bool // the digests of the bodies that are in the file
	m      manifest
}

func (b *backup) run(ctx context.Context, name string) (err error) {
	held, client, err := admin.Attach(b.config.DataDir, false)
	if err != nil {
		return err
	}
	if held != nil {
		defer held.Close()
	} else if b.beside, err = runningLedger(ctx, b.config.Paths().Log(), client); err != nil {
		return err
	}
	if b.file, err = createBackup(name, time.Now()); err != nil {
		return err
	}
	if err := b.write(ctx); err != nil {
		b.file.abandon()
		return exit.WithDamage(err)
	}
	if b.json {
		return cli.PrintObject(b.out, backupReport{name, b.m})
	}
	for _, stream := range store.Streams() {
		e := b.m.Streams[stream]
		fmt.Fprintf(b.out, "%s: %d to %d, chain %s\n", stream, e.First, e.Last, e.Chain)
	}
	fmt.Fprintf(b.out, "payloads: %d bodies with %d bytes\nwritten to %s\n", b.m.Payloads, b.m.Bytes, name)
	return nil
}

// backupReport is what `ledge backup --json` prints.
type backupReport struct {
	File string `json:"file"`
	manifest
}

// write writes all entries. The bodies come first: those of events that come later are added at the end, and those that
// retention removes meanwhile are there.
func (b *backup) write(ctx context.Context) (err error) {
	b.has = map[string]bool{}
	b.m = manifest{Format: backupFormat, Version: version, Time: b.file.at, Streams: map[string]manifestEntry{}}
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
	if b.bodies, err = openBodies(b.config, nil, b.logger, nil); err != nil {
		return err
	}
	defer b.bodies.close()
	for i, stream := range store.Streams() {
		if err := b.stream(ctx, i, stream); err != nil {
			return err
		}
	}
	starts, err := store.Starts(b.config.Paths().Log(), b.ends)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(starts)) {
		if err := b.file.addText(startPrefix+name, starts[name]); err != nil {
			return err
		}
	}
	if err := store.NotPassed(b.config.Paths().Log(), b.ends); err != nil {
		return err
	}
	if err := b.snapshots(); err != nil {
		return err
	}
	if err := b.small(signingKeyName, b.config.Paths().SigningKey()); err != nil {
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
func (b *backup) authority() error {
	if err := checkAuthority(b.config.DataDir); err != nil {
		return err
	}
	for _, name := range []string{certs.CAFile, certs.CAKeyFile} {
		if err := b.small(name, filepath.Join(b.config.DataDir, name)); err != nil {
			return err
		}
	}
	return nil
}

// snapshots copies the snapshots that can be used: without them a log whose first changes are archived cannot be folded. They
// come after the front on record, because a snapshot is made before the front moves behind it.
func (b *backup) snapshots() error {
	list, err := store.Snapshots(b.config.Paths().Snapshots())
	if err != nil {
		return exit.With(exit.Folder, err)
	}
	for _, seq := range list {
		s, err := store.OpenSnapshot(b.config.Paths().Snapshots(), seq)
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
func (b *backup) findEnds(ctx context.Context) error {
	b.ends = map[string]store.End{}
	if b.beside != nil {
		all := b.beside.Logs()
		for _, logs := range [][]*store.Log{all[1:], all[:1]} {
			if err := b.beside.Refresh(ctx); err != nil {
				return err
			}
			for _, l := range logs {
				seq, chain := l.Last()
				b.ends[l.Name()] = store.End{Seq: seq, Chain: chain}
			}
		}
		return nil
	}
	f := &folderCheck{config: b.config, logger: b.logger, w: io.Discard, progress: b.progress}
	if err := f.inspectStates(); err != nil {
		return err
	}
	if err := f.inspectLogs(ctx); err != nil {
		return node.WithCode(err)
	}
	for _, in := range f.logs {
		if err := in.Damage(); err != nil {
			return exit.With(exit.Damaged, err)
		}
		b.ends[in.Stream] = in.End()
	}
	return nil
}

// stream copies one log, and folds of the readings which bodies they need.
func (b *backup) stream(ctx context.Context, i int, name string) error {
	each := func([]domain.Recorded) error { return nil }
	if i == 2 {
		each = b.bodies.take
	}
	end := b.ends[name]
	done := int64(0)
	r, err := store.CopyBlocks(ctx, b.config.Paths().Log(), name, end, func(path string, text []byte) error {
		done += int64(len(text))
		b.progress.At(name, done, 0)
		return b.file.addText(logPrefix+path, text)
	}, each)
	if err != nil {
		return err
	}
	b.m.Streams[name] = manifestEntry{r.First, r.Last, hex.EncodeToString(r.Head[:]), r.FirstBlock}
	return nil
}

// secrets returns the secret store, nil where there is none. It is read as soon as the ends of the logs are known: a hash that an event names up
// to there is kept for [keepRetired] after another one has taken its place.
func (b *backup) secrets() ([]byte, error) {
	if _, err := checkSecrets(b.config.Paths()); err != nil {
		return nil, secretsError(err)
	}
	return readShort(b.config.Paths().Secrets())
}

// small copies a file that is short, if it is there.
func (b *backup) small(name, path string) error {
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
func (b *backup) allPayloads(ctx context.Context) error {
	for names, err := range payloads.Names(b.config.Paths().Payloads()) {
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
func (b *backup) payload(ctx context.Context, digest string) (fault string, err error) {
	path := filepath.Join(b.config.Paths().Payloads(), digest)
	f, err := osfile.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return err.Error(), nil
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err.Error(), nil
	}
	if fault, err = payloads.Check(ctx, b.config.Paths().Payloads(), digest, st.Size()); fault != "" || err != nil {
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
	b.progress.At(fmt.Sprintf("%d bodies", b.m.Payloads), b.m.Bytes, 0)
	return "", nil
}

// missingPayloads copies what the readings need and is not in the backup yet.
func (b *backup) missingPayloads(ctx context.Context) error {
	first := b.m.Streams[store.Streams()[2]].First
	if b.beside != nil { // what retention has removed meanwhile needs no body
		if err := b.beside.Refresh(ctx); err != nil {
			return err
		}
		first = max(first, b.beside.Logs()[2].First())
	}
	if _, err := b.bodies.fold.Forget(ctx, first); err != nil {
		return err
	}
	for from := uint64(1); ; {
		list, next, err := b.bodies.part(from)
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
			path := filepath.Join(b.config.Paths().Payloads(), r.Digest)
			if _, err := os.Lstat(path); b.beside != nil && errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("the body of reading %s is gone: it was removed while the backup was made, or is damaged; run the backup again, and `ledge verify` if that ends so too", r.ID)
			}
			return exit.With(exit.Damaged, fmt.Errorf("the body of reading %s is damaged: %s: %s; `ledge verify` lists all that are, `ledge salvage` copies what is whole", r.ID, path, fault))
		}
		from = next
	}
}

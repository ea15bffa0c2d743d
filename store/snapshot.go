package store

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ledge/store/osfile"
)

// SnapshotHeader begins a snapshot: the state that the events of a log up to a sequence make. It is what a fold begins with
// where those events are archived.
type SnapshotHeader struct {
	Format string `json:"format"`
	Stream string `json:"stream"`
	Seq    uint64 `json:"seq"`
	Chain  string `json:"chain"` // of Seq, in hex
	// Archives are all that were made, the oldest first. Their digests are signed with the snapshot.
	Archives []ArchiveRef `json:"archives"`
}

const (
	snapshotFormat = "ledge.snapshot/1"
	snapshotSuffix = ".snapshot"
	// keptSnapshots stay: the newest, and the one before for the case that it is damaged.
	keptSnapshots = 2
)

func (h SnapshotHeader) statement() string {
	archive := "-"
	if n := len(h.Archives); n > 0 {
		archive = h.Archives[n-1].SHA256
	}
	return fmt.Sprintf("%s %s %d %s %s", h.Format, h.Stream, h.Seq, h.Chain, archive)
}

func snapshotName(stream string, seq uint64) string {
	return fmt.Sprintf("%s-%012d%s", stream, seq, snapshotSuffix)
}

// WriteSnapshot writes a snapshot of the log of changes into a folder, with the lines that fill writes, and verifies it. It
// is there as a whole or not at all.
func WriteSnapshot(dir string, seq uint64, chain [32]byte, archives []ArchiveRef, key *SigningKey, fill func(io.Writer) error) error {
	if err := makeDir(dir); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	stream := streams[0].name
	h := SnapshotHeader{snapshotFormat, stream, seq, hex.EncodeToString(chain[:]), archives}
	w, err := createSealed(filepath.Join(dir, snapshotName(stream, seq)), h, key)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	if err := fill(w); err != nil {
		w.abandon(err)
		return fmt.Errorf("snapshot: %w", err)
	}
	if _, err = w.finish(func(r *sealedReader) error { return r.end(h) }); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return nil
}

// Snapshots returns the sequences of the snapshots in a folder, the newest first.
func Snapshots(dir string) (list []uint64, err error) {
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("snapshots: %w", err)
	}
	for _, f := range files {
		var seq uint64
		if _, err := fmt.Sscanf(strings.TrimPrefix(f.Name(), streams[0].name), "-%d"+snapshotSuffix, &seq); err == nil && f.Name() == snapshotName(streams[0].name, seq) {
			list = append(list, seq)
		}
	}
	slices.Sort(list)
	slices.Reverse(list)
	return list, nil
}

// Snapshot is one whose header and signature are verified. Read and Check verify the rest of it.
type Snapshot struct {
	SnapshotHeader
	Head   Chain  // Chain
	Public string // the key by which it is signed, in base64
	path   string
}

// OpenSnapshot reads the header of the snapshot as of a sequence. It does not read the whole file: at a start that could take
// longer than all else.
func OpenSnapshot(dir string, seq uint64) (*Snapshot, error) {
	s := &Snapshot{path: filepath.Join(dir, snapshotName(streams[0].name, seq))}
	r, err := openSealed(s.path)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	defer r.close()
	if err := s.begin(r, seq); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	s.Public = r.seal.PublicKey
	return s, nil
}

func (s *Snapshot) begin(r *sealedReader, seq uint64) (err error) {
	if err := json.Unmarshal(r.head, &s.SnapshotHeader); err != nil || s.Format != snapshotFormat {
		return r.fault("it is of format %q, and this program reads %s", s.Format, snapshotFormat)
	}
	var ok bool
	if s.Head, ok = chainOf(s.Chain); !ok || s.Seq != seq || s.Stream != streams[0].name {
		return r.fault("it is of %s %d", s.Stream, s.Seq)
	}
	return r.signature(s.SnapshotHeader)
}

// Path is the file.
func (s *Snapshot) Path() string { return s.path }

// Check reads the file to its end and verifies its digest.
func (s *Snapshot) Check() error { return s.Read(func(io.Reader) error { return nil }) }

// Read calls f with the lines, and then verifies the digest: what f has made of them counts only where Read returns no error.
func (s *Snapshot) Read(f func(io.Reader) error) error {
	r, err := openSealed(s.path)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	defer r.close()
	if err := f(r.lines); err != nil {
		return err
	}
	if err := r.end(s.SnapshotHeader); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return nil
}

// RemoveUnfinished removes archives and snapshots in a folder that a crash left partly written.
func RemoveUnfinished(dir string) error {
	var errs []error
	for _, suffix := range []string{archiveSuffix, snapshotSuffix} {
		left, err := filepath.Glob(filepath.Join(dir, streams[0].name+"-*"+suffix+osfile.Unfinished))
		errs = append(errs, err)
		for _, path := range left {
			errs = append(errs, os.Remove(path))
		}
	}
	return errors.Join(errs...)
}

// DropSnapshots removes all snapshots of a folder but the newest.
func DropSnapshots(dir string) error {
	list, err := Snapshots(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, seq := range list[min(len(list), keptSnapshots):] {
		errs = append(errs, os.Remove(filepath.Join(dir, snapshotName(streams[0].name, seq))))
	}
	return errors.Join(errs...)
}

package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ledge/cmd/internal/exit"
	"ledge/store"
	"ledge/store/osfile"
)

// A backup is a tar file: the bodies, the blocks of the logs with what belongs to them, the secrets, manifest.json, and a list
// SHA256SUMS of all but the bodies, which have their SHA-256 as their name. At its very end is an entry SHA256 with the hash of
// all bytes before that entry: so no byte of the file can change, and none can be missing, without notice.
const (
	manifestName = "manifest.json"
	sumsName     = "SHA256SUMS"
	sumName      = "SHA256"
	logPrefix    = "nats/jetstream/LEDGE/streams/"
	startPrefix  = "nats/" // of the manifests of the logs
	bodyPrefix   = "payloads/"
	// snapshots of the state are in a backup, archives are not.
	snapshotPrefix = "snapshots/"
	signingKeyName = "archive-key.pem"

	format = 1
)

// Manifest describes a backup.
type Manifest struct {
	Format   int                      `json:"format"`
	Version  string                   `json:"version"` // of ledge
	Time     time.Time                `json:"time"`
	Streams  map[string]manifestEntry `json:"streams"`
	Payloads int                      `json:"payloads"`
	Bytes    int64                    `json:"payloadBytes"`
}

// manifestEntry is how far one stream is in the backup.
type manifestEntry struct {
	First      uint64 `json:"first"`
	Last       uint64 `json:"last"`
	Chain      string `json:"chain"`      // hex, of Last
	FirstBlock uint32 `json:"firstBlock"` // those before it were removed while the backup was made
}

func (m Manifest) known() map[string][]store.Known {
	known := map[string][]store.Known{}
	for name, e := range m.Streams {
		k := store.Known{By: "the backup's manifest", Seq: e.Last}
		if n, err := hex.Decode(k.Chain[:], []byte(e.Chain)); err == nil && n == len(k.Chain) && e.Last > 0 && e.Chain != noChain {
			known[name] = append(known[name], k)
		}
	}
	return known
}

// noChain is the hash of a stream of which nothing is kept.
var noChain = strings.Repeat("0", 2*sha256.Size)

// tailOf returns the end of a backup whose other bytes have the sum.
func tailOf(sum []byte) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	text := hex.EncodeToString(sum)
	_ = w.WriteHeader(&tar.Header{Name: sumName, Mode: 0o600, Size: int64(len(text)), ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR})
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.Bytes()
}

// tailSize is how many bytes the tail has.
var tailSize = int64(len(tailOf(make([]byte, sha256.Size))))

// writer writes a backup beside its name, and gives it the name when it is whole and on disk.
type writer struct {
	name string
	file *os.File
	sum  hash.Hash
	tar  *tar.Writer
	at   time.Time
	sums bytes.Buffer
}

// partialSuffix ends the name of a backup that is not whole.
const partialSuffix = ".partial"

func unfinished(name string) string { return name + partialSuffix }

func createFile(name string, at time.Time) (*writer, error) {
	switch _, err := os.Lstat(name); {
	case err == nil:
		return nil, exit.With(exit.Usage, fmt.Errorf("%s is there already, and is not overwritten; choose another name", name))
	case !errors.Is(err, fs.ErrNotExist):
		return nil, exit.With(exit.Usage, fmt.Errorf("write the backup: %w", err))
	}
	f, err := os.OpenFile(unfinished(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, exit.With(exit.Usage, fmt.Errorf("%s is there: another backup is under way, or one was killed; remove it or choose another name", unfinished(name)))
	}
	if err != nil {
		return nil, err
	}
	w := &writer{name: name, file: f, sum: sha256.New(), at: at}
	w.tar = tar.NewWriter(io.MultiWriter(f, w.sum))
	return w, nil
}

// add writes an entry of so many bytes, and returns its SHA-256.
func (w *writer) add(name string, r io.Reader, size int64) (string, error) {
	if err := w.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size, ModTime: w.at.Truncate(time.Second)}); err != nil {
		return "", err
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(w.tar, h), io.LimitReader(r, size))
	if err == nil && n != size {
		err = fmt.Errorf("%s has %d bytes instead of %d", name, n, size)
	}
	return hex.EncodeToString(h.Sum(nil)), err
}

// addText writes an entry that SHA256SUMS lists.
func (w *writer) addText(name string, text []byte) error {
	sum, err := w.add(name, bytes.NewReader(text), int64(len(text)))
	fmt.Fprintf(&w.sums, "%s  %s\n", sum, name)
	return err
}

// addFile writes a file of any size as an entry that SHA256SUMS lists.
func (w *writer) addFile(name, path string) error {
	f, err := osfile.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	sum, err := w.add(name, f, st.Size())
	fmt.Fprintf(&w.sums, "%s  %s\n", sum, name)
	return err
}

// finish writes what ends a backup.
func (w *writer) finish(m Manifest) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = w.addText(manifestName, text)
	}
	if err == nil {
		_, err = w.add(sumsName, bytes.NewReader(w.sums.Bytes()), int64(w.sums.Len()))
	}
	if err == nil {
		err = w.tar.Flush()
	}
	if err == nil {
		_, err = w.file.Write(tailOf(w.sum.Sum(nil)))
	}
	if err == nil {
		err = w.file.Sync()
	}
	if err = errors.Join(err, w.file.Close()); err != nil {
		return err
	}
	if err := renameNew(unfinished(w.name), w.name); err != nil {
		return err
	}
	return osfile.SyncDir(filepath.Dir(w.name))
}

// renameNew gives a file a name that nothing has.
func renameNew(from, to string) error {
	err := os.Link(from, to)
	if err == nil {
		return os.Remove(from)
	}
	if _, there := os.Lstat(to); !errors.Is(there, fs.ErrNotExist) {
		return fmt.Errorf("%s was made meanwhile, and is not overwritten", to)
	}
	return os.Rename(from, to) // a file system without links
}

// abandon removes what was written of a backup that is not finished.
func (w *writer) abandon() {
	_ = w.file.Close()
	_ = os.Remove(unfinished(w.name))
}

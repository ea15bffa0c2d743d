package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"ledge/cmd/internal/exit"
	"ledge/store"
	"ledge/store/osfile"
)

// reader reads a backup that may be damaged, cut off, or made by an enemy.
type reader struct {
	file *os.File
	size int64
}

func openFile(name string) (*reader, error) {
	f, err := osfile.Open(name, os.O_RDONLY, 0)
	switch {
	case errors.Is(err, osfile.ErrNotRegular), errors.Is(err, fs.ErrNotExist):
		return nil, exit.With(exit.Usage, fmt.Errorf("there is no file %s; write `ledge restore FILE DIR` with a FILE that `ledge backup` has written", name))
	case err != nil:
		return nil, exit.With(exit.Usage, fmt.Errorf("backup: %w", err))
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &reader{f, st.Size()}, nil
}

func (b *reader) close() { b.file.Close() }

func (b *reader) damaged(format string, args ...any) error {
	return exit.With(exit.Damaged, fmt.Errorf("backup %s is damaged: %s; nothing is restored: take another file that `ledge backup` has written", b.file.Name(), fmt.Sprintf(format, args...)))
}

// body is all of the file but its tail.
func (b *reader) body() *io.SectionReader {
	return io.NewSectionReader(b.file, 0, b.size-tailSize)
}

// verify checks that no byte of the file has changed.
func (b *reader) verify(ctx context.Context, at func(text string, done, total int64)) error {
	if b.size <= tailSize {
		return b.damaged("it has %d bytes, and the shortest backup has more", b.size)
	}
	h := sha256.New()
	if _, err := io.Copy(h, &counted{ctx: ctx, r: b.body(), at: func(n int64) { at("verify", n, b.size) }}); err != nil {
		return err
	}
	tail := make([]byte, tailSize)
	if _, err := b.file.ReadAt(tail, b.size-tailSize); err != nil {
		return err
	}
	if !bytes.Equal(tail, tailOf(h.Sum(nil))) {
		return b.damaged("its end is not that of a backup whose bytes before have the SHA-256 %x, so it is altered or cut off", h.Sum(nil))
	}
	return nil
}

// counted reads until a context ends, and tells how far it is.
type counted struct {
	ctx context.Context
	r   io.Reader
	n   int64
	at  func(int64)
}

func (c *counted) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(p)
	c.n += int64(n)
	c.at(c.n)
	return n, err
}

// mostSums is the most bytes of SHA256SUMS.
const mostSums = 256 << 20

// entries are the names that a backup can have, and the most bytes of each; 0 for what is as long as it says.
var entries = []struct {
	name *regexp.Regexp
	most int64
}{
	{regexp.MustCompile(`^payloads/[0-9a-f]{64}$`), 0},
	{regexp.MustCompile(`^nats/jetstream/LEDGE/streams/LEDGE_(EVENTS|NOTIFICATIONS|READINGS)/msgs/[1-9][0-9]{0,9}\.blk$`), 64 << 20},
	{regexp.MustCompile(`^nats/jetstream/LEDGE/streams/LEDGE_(EVENTS|NOTIFICATIONS|READINGS)/meta\.(inf|sum)$`), mostSmall},
	{regexp.MustCompile(`^(nats/LEDGE_(EVENTS|NOTIFICATIONS|READINGS)\.manifest|nats/fronts\.json|secrets\.json|archive-key\.pem|ca\.pem|ca-key\.pem|manifest\.json)$`), mostSmall},
	{regexp.MustCompile(`^snapshots/LEDGE_EVENTS-[0-9]{12,20}\.snapshot$`), 0},
	{regexp.MustCompile(`^SHA256SUMS$`), mostSums},
}

// unpack writes the files of a backup that was verified into a folder, durably but for their names. It takes nothing but what
// a backup has: no other names, no folders, no links, no sparse files, nothing twice.
func (b *reader) unpack(ctx context.Context, dir, version string, at func(text string, done, total int64)) (m Manifest, err error) {
	var sums, listed bytes.Buffer
	var text []byte
	r := tar.NewReader(&counted{ctx: ctx, r: b.body(), at: func(n int64) { at("unpack", n, b.size) }})
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return m, b.orContext(ctx, err)
		}
		if err := b.allowed(h); err != nil {
			return m, err
		}
		if h.Name == manifestName || h.Name == sumsName {
			into := &bytes.Buffer{}
			if h.Name == sumsName {
				into = &listed
			}
			if _, err := io.Copy(into, r); err != nil {
				return m, b.orContext(ctx, err)
			}
			if h.Name == manifestName {
				text = into.Bytes()
				fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(text), h.Name)
			}
			continue
		}
		sum, err := b.extract(dir, h.Name, r)
		if err != nil {
			return m, b.orContext(ctx, err)
		}
		if want, isBody := bytes.CutPrefix([]byte(h.Name), []byte(bodyPrefix)); !isBody {
			fmt.Fprintf(&sums, "%s  %s\n", sum, h.Name)
		} else if sum != string(want) {
			return m, b.damaged("%s has the SHA-256 %s", h.Name, sum)
		}
	}
	if !bytes.Equal(sums.Bytes(), listed.Bytes()) {
		return m, b.damaged("its entries are not those that its %s lists", sumsName)
	}
	if err := json.Unmarshal(text, &m); err != nil || len(m.Streams) != len(store.Streams()) {
		return m, b.damaged("its manifest cannot be read")
	}
	if m.Format != format {
		return m, exit.With(exit.Usage, fmt.Errorf("backup %s has format %d, written by ledge %s; this is ledge %s, which reads format %d", b.file.Name(), m.Format, m.Version, version, format))
	}
	return m, b.dropPassed(dir, m)
}

// orContext is damage unless the command was interrupted or the disk is at fault.
func (b *reader) orContext(ctx context.Context, err error) error {
	_, isPath := errors.AsType[*os.PathError](err)
	_, isCode := errors.AsType[exit.Error](err)
	if ctx.Err() != nil || isPath || isCode {
		return err
	}
	return b.damaged("%v", err)
}

// allowed refuses an entry that no backup has.
func (b *reader) allowed(h *tar.Header) error {
	if h.Typeflag != tar.TypeReg {
		return b.damaged("entry %q is not a plain file", h.Name)
	}
	for key := range h.PAXRecords {
		if key != "size" && key != "mtime" {
			return b.damaged("entry %q has the attribute %q", h.Name, key)
		}
	}
	for _, e := range entries {
		if e.name.MatchString(h.Name) {
			if e.most > 0 && h.Size > e.most || h.Size > b.size {
				return b.damaged("entry %q has %d bytes", h.Name, h.Size)
			}
			return nil
		}
	}
	return b.damaged("entry %q does not belong to a backup", h.Name)
}

// extract writes a file, and returns its SHA-256.
func (b *reader) extract(dir, name string, r io.Reader) (sum string, err error) {
	to := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", err
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return "", b.damaged("entry %q is there twice", name)
	}
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, h), r)
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, f.Sync(), f.Close())
}

// dropPassed removes the blocks that retention had removed before the backup was complete.
func (b *reader) dropPassed(dir string, m Manifest) error {
	for _, name := range store.Streams() {
		e := m.Streams[name]
		blocks, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(logPrefix+name), "msgs", "*.blk"))
		if err != nil {
			return err
		}
		for _, block := range blocks {
			number, err := strconv.ParseUint(filepath.Base(block[:len(block)-len(".blk")]), 10, 32)
			if err != nil {
				return b.damaged("%v", err)
			}
			if uint32(number) >= e.FirstBlock {
				continue
			}
			if err := os.Remove(block); err != nil {
				return err
			}
		}
	}
	return nil
}

package payloads

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"ledge/domain"
	"ledge/store"
)

// Options configures [Open].
type Options struct {
	// ReserveBytes of free disk are left alone: a payload that would touch them is refused with domain.Full.
	ReserveBytes int64
	// FreeBytes tells the free disk space at dir, in bytes; nil asks the operating system. A point of failure for tests.
	FreeBytes func(dir string) (uint64, error)
}

// Files keeps payloads in a folder of the local disk.
type Files struct {
	holds
	dir     string
	o       Options
	buffers *buffers
	folder  *folder
	refused atomic.Uint64 // puts, for want of room

	keptLock sync.Mutex
	kept     map[string]bool // what this process has made durable
}

const unfinished = "incoming-*"

// Open makes the folder, durably, and removes what uploads that a crash cut short have left.
func Open(dir string, o Options) (*Files, error) {
	if o.FreeBytes == nil {
		o.FreeBytes = store.FreeBytes
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("payload folder: %w", err)
	}
	if err := store.SyncDir(filepath.Dir(dir)); err != nil { // else a power cut could take the folder with its payloads
		return nil, fmt.Errorf("payload folder: %w", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, unfinished))
	if err != nil {
		return nil, err
	}
	for _, path := range left {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("payload folder: %w", err)
		}
	}
	return &Files{holds: newHolds(), dir: dir, o: o, buffers: newBuffers(), folder: &folder{dir: dir}, kept: map[string]bool{}}, nil
}

// Put implements Payloads.
func (f *Files) Put(ctx context.Context, r io.Reader, limit int64) (digest string, size int64, err error) {
	if err := f.room(); err != nil {
		return "", 0, err
	}
	tmp, err := os.CreateTemp(f.dir, unfinished)
	if err != nil {
		return "", 0, f.failed(err)
	}
	defer os.Remove(tmp.Name()) // after the rename there is nothing of that name
	defer tmp.Close()
	h := sha256.New()
	size, err = f.buffers.pour(&watched{files: f, w: &output{file: tmp}}, h, io.LimitReader(reader{ctx, r}, limit+1))
	if err != nil {
		return "", 0, f.failed(err)
	}
	if size > limit {
		return "", 0, tooLarge(limit)
	}
	digest = hex.EncodeToString(h.Sum(nil))
	f.hold(digest)
	if err := f.keep(tmp, digest, size); err != nil {
		f.Release(digest, false)
		return "", 0, f.failed(err)
	}
	return digest, size, nil
}

func tooLarge(limit int64) error {
	return domain.Errorf(domain.TooLarge, "the body is larger than %d bytes; post less or raise the limit", limit)
}

// keep makes a written file durable under its own name. A new name is given before the content is synced, so that one
// commit of the file system's journal has both; the sync of the folder then finds its work done. (Syncing first costs half of
// the speed with 64 clients.) So a file that has its
// name need not be whole: after a power cut it may be of an upload that was never answered, and only what this process has
// kept is taken for what it should be. Any other is replaced, by one that is durable before: readings may refer to it.
func (f *Files) keep(tmp *os.File, digest string, size int64) error {
	info, err := os.Stat(f.path(digest))
	there := err == nil
	if there && f.isKept(digest) && info.Size() == size {
		return nil
	}
	steps := []func() error{
		func() error { return os.Rename(tmp.Name(), f.path(digest)) }, tmp.Sync, f.folder.sync,
	}
	if there {
		steps[0], steps[1] = steps[1], steps[0]
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	f.noteKept(digest)
	return nil
}

// mostKept is how many payloads are known to be durable; those that are not remembered are written again when they come
// again.
const mostKept = 10_000

func (f *Files) isKept(digest string) bool {
	f.keptLock.Lock()
	defer f.keptLock.Unlock()
	return f.kept[digest]
}

func (f *Files) noteKept(digest string) {
	f.keptLock.Lock()
	defer f.keptLock.Unlock()
	if len(f.kept) >= mostKept {
		clear(f.kept)
	}
	f.kept[digest] = true
}

// Get implements Payloads.
func (f *Files) Get(digest string) (io.ReadSeekCloser, error) { return os.Open(f.path(digest)) }

func (f *Files) path(digest string) string { return filepath.Join(f.dir, filepath.Base(digest)) }

// Collect implements Payloads.
func (f *Files) Collect(ctx context.Context, keep func(digest string) (bool, error)) (removed int, err error) {
	files, err := os.ReadDir(f.dir)
	if err != nil {
		return 0, fmt.Errorf("payload folder: %w", err)
	}
	var digests []string
	for _, e := range files {
		if isDigest(e.Name()) && e.Type().IsRegular() {
			digests = append(digests, e.Name())
		}
	}
	return f.collect(ctx, digests, keep, func(digest string) error {
		err := os.Remove(f.path(digest))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

// reader ends with its context.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

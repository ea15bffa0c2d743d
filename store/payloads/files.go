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
	"ledge/store/osfile"
)

// Options configures [Open].
type Options struct {
	// ReserveBytes of free disk are left alone: a payload that would touch them is refused with domain.Full.
	ReserveBytes int64
	// FreeBytes tells the free disk space at dir, in bytes; nil asks the operating system. A point of failure for tests.
	FreeBytes func(dir string) (uint64, error)
	// Sync makes a file durable, SyncDir the names in a folder; nil has the operating system do it. Points of failure for tests.
	Sync    func(*os.File) error
	SyncDir func(dir string) error
}

func (o Options) withDefaults() Options {
	if o.FreeBytes == nil {
		o.FreeBytes = osfile.FreeBytes
	}
	if o.Sync == nil {
		o.Sync = (*os.File).Sync
	}
	if o.SyncDir == nil {
		o.SyncDir = osfile.SyncDir
	}
	return o
}

// Files keeps payloads in a folder of the local disk, each under its digest, a hex SHA-256. All methods may be called
// concurrently.
type Files struct {
	holds
	use     use
	dir     string
	o       Options
	buffers *buffers
	folder  *folder
	turns   digestLocks
	checks  checks
	refused atomic.Uint64 // puts, for want of room
	damaged atomic.Uint64 // reads that found a damaged file
	failure atomic.Pointer[error]
	// incoming is the bytes of unfinished files.
	incoming atomic.Int64

	durableLock sync.Mutex
	durable     map[string]bool // what this process has made durable
}

const unfinished = "incoming-*"

// Open makes the folder, durably, and removes what uploads that a crash cut short have left.
func Open(dir string, o Options) (*Files, error) {
	o = o.withDefaults()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("payload folder: %w", err)
	}
	if err := osfile.SyncDir(filepath.Dir(dir)); err != nil { // else a power cut could take the folder with its payloads
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
	return &Files{
		holds: newHolds(), dir: dir, o: o, buffers: newBuffers(), folder: &folder{dir: dir, do: o.SyncDir}, durable: map[string]bool{},
	}, nil
}

// Put reads r to its end and stores the content durably; size is in bytes. More than limit bytes are a TooLarge Error; a full
// disk is a Full Error. Then, and when r fails or ctx ends, Put stores nothing. The payload is held, so that it is not
// collected, until Release was called as often as Put.
func (f *Files) Put(ctx context.Context, r io.Reader, limit int64) (digest string, size int64, err error) {
	if err := f.Err(); err != nil {
		return "", 0, err
	}
	if err := f.checkFree(); err != nil {
		return "", 0, err
	}
	tmp, err := os.CreateTemp(f.dir, unfinished)
	if err != nil {
		return "", 0, f.failed(err)
	}
	defer os.Remove(tmp.Name()) // after the rename there is nothing of that name
	defer tmp.Close()
	h := sha256.New()
	checked := &spaceChecked{files: f, w: &output{file: tmp}}
	defer func() { f.incoming.Add(-checked.taken) }()
	size, err = f.buffers.pour(checked, h, io.LimitReader(reader{ctx, r}, limit+1))
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

// keep makes a written file durable under its own name. One upload at a time does this for a digest: another with the same
// content then finds a file that this process has made durable, and relies on it.
//
// A new name is given before the content is synced, so that one commit of the file system's journal has both; the sync of
// the folder then finds its work done. (Syncing first costs half of the speed with 64 clients.) So after a power cut a file
// that has its name need not be whole: its upload was never answered. A file of an earlier process is therefore never
// relied on, but replaced, by a file that is durable before it takes the name: readings may refer to the old one.
func (f *Files) keep(tmp *os.File, digest string, size int64) error {
	defer f.turns.lock(digest)()
	if err := f.Err(); err != nil {
		return err
	}
	info, err := os.Lstat(f.path(digest))
	there, before := err == nil && info.Mode().IsRegular(), int64(0)
	if there {
		before = info.Size()
	}
	if there && f.isDurable(digest) && before == size {
		return nil
	}
	rename := func() error { return os.Rename(tmp.Name(), f.path(digest)) }
	sync := func() error { return f.synced(f.o.Sync(tmp)) }
	steps := []func() error{rename, sync, f.syncFolder}
	if there {
		steps = []func() error{sync, rename, f.syncFolder}
	}
	f.forgetDurable(digest)
	for _, step := range steps {
		if err := step(); err != nil {
			if !there {
				_ = os.Remove(f.path(digest)) // nobody refers to it
			}
			return err
		}
	}
	f.noteDurable(digest)
	f.use.change(digest, before, size)
	return nil
}

func (f *Files) syncFolder() error { return f.synced(f.folder.sync()) }

// synced takes note of an fsync that failed. It is final: Linux reports the error once and drops what was not written, so
// a later fsync that succeeds proves nothing. A disk that is full is not such a failure, and neither is a folder that could not
// be opened: the file is removed, and the next upload writes another one.
func (f *Files) synced(err error) error {
	if err == nil || osfile.IsFull(err) {
		return err
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok && e.Op == "open" {
		return err
	}
	final := error(domain.Errorf(domain.Unavailable, "no more bodies are stored: an fsync in %s failed: %v; check the disk, then start Ledge again", f.dir, err))
	f.failure.CompareAndSwap(nil, &final)
	return final
}

// Err returns why no more payloads are taken until the next start, if so.
func (f *Files) Err() error {
	if err := f.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// maxDurable is how many payloads are known to be durable; those that are not remembered are written again when they come
// again.
const maxDurable = 10_000

func (f *Files) isDurable(digest string) bool {
	f.durableLock.Lock()
	defer f.durableLock.Unlock()
	return f.durable[digest]
}

func (f *Files) noteDurable(digest string) {
	f.durableLock.Lock()
	defer f.durableLock.Unlock()
	if len(f.durable) >= maxDurable {
		clear(f.durable)
	}
	f.durable[digest] = true
}

func (f *Files) forgetDurable(digest string) {
	f.durableLock.Lock()
	defer f.durableLock.Unlock()
	delete(f.durable, digest)
}

// Get opens a payload. The error is fs.ErrNotExist if there is none. If the content does not match the digest, a read fails
// with a domain.Damaged Error before it returns the last byte. Reading on may fail after the payload was collected.
func (f *Files) Get(digest string) (io.ReadSeekCloser, error) { return f.open(digest) }

func (f *Files) path(digest string) string { return filepath.Join(f.dir, filepath.Base(digest)) }

// Collect removes every payload that is not held and for which keep returns false. It returns how many it removed. It ends
// early when keep fails or ctx ends.
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
		info, err := os.Lstat(f.path(digest))
		if err == nil {
			err = os.Remove(f.path(digest))
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		f.forgetDurable(digest)
		f.use.change(digest, info.Size(), 0)
		return nil
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

// Package payloads keeps the posted bodies that are too large for a message of the log: each as a file named by the
// SHA-256 of its content, written before the message that refers to it. A body is streamed and never loaded; the same
// body posted twice is one file.
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
	dir string
	o   Options
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
	return &Files{dir, o}, nil
}

// Put keeps what r holds, durably, and returns the hex SHA-256 and the size in bytes. More than limit bytes are a
// TooLarge Error, a disk without room for them a Full one; then, and when r fails or ctx ends, nothing is kept.
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
	size, err = io.Copy(io.MultiWriter(&watched{files: f, w: tmp}, h), io.LimitReader(reader{ctx, r}, limit+1))
	if err != nil {
		return "", 0, f.failed(err)
	}
	if size > limit {
		return "", 0, domain.Errorf(domain.TooLarge, "the body is larger than %d bytes; post less or raise the limit", limit)
	}
	digest = hex.EncodeToString(h.Sum(nil))
	if err := f.keep(tmp, digest); err != nil {
		return "", 0, f.failed(err)
	}
	return digest, size, nil
}

// keep makes a written file durable under its own name: content, then name.
func (f *Files) keep(tmp *os.File, digest string) error {
	if err := tmp.Sync(); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), f.path(digest)); err != nil {
		return err
	}
	return store.SyncDir(f.dir)
}

// Get opens the payload; fs.ErrNotExist where there is none.
func (f *Files) Get(digest string) (io.ReadSeekCloser, error) { return os.Open(f.path(digest)) }

func (f *Files) path(digest string) string { return filepath.Join(f.dir, filepath.Base(digest)) }

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

package payloads

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"ledge/store/osfile"
)

// Check reads a payload in the folder of [Files] to its end and returns what is wrong with it: that it is missing, has not
// size bytes, has not the digest, or cannot be read; "" where it is whole. The error is that of ctx, or of rights that are missing.
func Check(ctx context.Context, dir, digest string, size int64) (fault string, err error) {
	n, sum, err := hashed(ctx, filepath.Join(dir, filepath.Base(digest)))
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, fs.ErrPermission):
		return "", err
	case errors.Is(err, fs.ErrNotExist):
		return "it is missing", nil
	case err != nil:
		return fmt.Sprintf("it cannot be read: %v", err), nil
	case n != size:
		return fmt.Sprintf("it has %d bytes, not %d", n, size), nil
	case sum != digest:
		return "it is altered: its SHA-256 is " + sum, nil
	}
	return "", nil
}

func hashed(ctx context.Context, path string) (size int64, digest string, err error) {
	file, err := osfile.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return 0, "", err
	}
	defer file.Close()
	h := sha256.New()
	size, err = io.Copy(h, reader{ctx, file})
	return size, hex.EncodeToString(h.Sum(nil)), err
}

// namesAtOnce is how many names of a folder are in memory.
const namesAtOnce = 1000

// Names yields the names of all files in the folder of [Files], those of other things than payloads too, some at a time. A
// folder that is not there has none.
func Names(dir string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		folder, err := os.Open(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		defer folder.Close()
		for {
			names, err := folder.Readdirnames(namesAtOnce)
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(names, err) || err != nil {
				return
			}
		}
	}
}

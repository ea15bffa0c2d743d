package datadir

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"ledge/store/osfile"
)

// CopyPayload copies a body, durably, if its SHA-256 is its name. The fault is why it did not; what has another name than a body
// is passed over.
func CopyPayload(ctx context.Context, from, to, name string) (fault string, err error) {
	if sum, err := hex.DecodeString(name); err != nil || len(sum) != sha256.Size {
		return "", nil
	}
	source, err := osfile.Open(filepath.Join(from, name), os.O_RDONLY, 0)
	if err != nil {
		return err.Error(), nil
	}
	defer source.Close()
	path := filepath.Join(to, name)
	target, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	defer target.Close()
	h := sha256.New()
	r := &sourceReader{r: source, ctx: ctx}
	if _, err := io.Copy(io.MultiWriter(target, h), r); err != nil && r.err == nil {
		return "", err
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if r.err != nil {
		fault = fmt.Sprintf("it cannot be read: %v", r.err)
	} else if got := hex.EncodeToString(h.Sum(nil)); got != name {
		fault = "it is altered: its SHA-256 is " + got
	}
	if fault != "" {
		return fault, os.Remove(path)
	}
	return "", target.Sync()
}

// sourceReader remembers the error of a reader, so that it is told from that of the writer.
type sourceReader struct {
	r   io.Reader
	ctx context.Context
	err error
}

func (f *sourceReader) Read(p []byte) (int, error) {
	if f.ctx.Err() != nil {
		return 0, f.ctx.Err()
	}
	n, err := f.r.Read(p)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}

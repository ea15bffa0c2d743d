package payloads

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// collect removes those of the payloads that nobody holds and that keep says no to. Keep is asked while nobody can hold
// the payload, so that no message comes between its answer and the end of the payload.
func (h *holds) collect(ctx context.Context, digests []string, keep func(string) (bool, error), remove func(string) error) (removed int, err error) {
	for _, digest := range digests {
		gone, err := h.decide(ctx, digest, keep, remove)
		if err != nil {
			return removed, fmt.Errorf("collect payloads: %w", err)
		}
		if gone {
			removed++
		}
	}
	return removed, nil
}

func (h *holds) decide(ctx context.Context, digest string, keep func(string) (bool, error), remove func(string) error) (gone bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if !h.begin(digest) {
		return false, nil
	}
	defer h.end(digest)
	if kept, err := keep(digest); kept || err != nil {
		return false, err
	}
	return true, remove(digest)
}

// isDigest tells payloads from what has other names and is not ours.
func isDigest(name string) bool {
	sum, err := hex.DecodeString(name)
	return err == nil && len(sum) == sha256.Size
}

// Package payloads keeps the posted bodies that are too large for a message of the log, each named by the SHA-256 of its
// content, and durable before the message that refers to it. A body is streamed and never loaded; the same body posted
// twice is kept once, and may be referred to by any number of messages.
//
// [Files] keeps them on the local disk, [Objects] in a NATS object store. DESIGN.md says why they are not messages, and
// how what nobody refers to is collected beside uploads.
package payloads

import (
	"context"
	"io"
)

// Payloads keeps bodies by their digests, which are hex SHA-256s. All methods may be called at the same time.
type Payloads interface {
	// Put reads r to its end and keeps what it holds, durably; size is in bytes. More than limit bytes are a TooLarge
	// Error, no room for them a Full one; then, and when r fails or ctx ends, nothing is kept. The payload is held, so
	// that it is not collected, until it is released as often as it was put.
	Put(ctx context.Context, r io.Reader, limit int64) (digest string, size int64, err error)
	// Release ends the hold of one Put. It is to be called when it is certain what became of the message that should
	// refer to the payload; used says that there is one.
	Release(digest string, used bool)
	// Unused yields when payloads were released without being used.
	Unused() <-chan struct{}
	// Get opens a payload; fs.ErrNotExist where there is none. A read never gives bytes to the end of a payload whose content
	// is not that of the digest: it fails before, with a domain.Damaged Error. What is collected while it is open may not be
	// read on.
	Get(digest string) (io.ReadSeekCloser, error)
	// Collect removes every payload that is not held and that keep says no to, and returns how many. It ends early when
	// keep fails or ctx ends.
	Collect(ctx context.Context, keep func(digest string) (bool, error)) (removed int, err error)
}

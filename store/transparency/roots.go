package transparency

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"ledge/store"
)

// ErrOther is in the chain of errors for a log that does not extend a checkpoint.
var ErrOther = errors.New("the log does not extend the checkpoint")

// Extends checks that a log extends a checkpoint: its first events have the root of the checkpoint. It reads each event from 1 to the end
// of the log, with archives, verifies the chain, and trusts nothing but the checkpoint. progress is told the number of events that are
// read. The error has [ErrOther] in its chain if the log was cut, rewritten or forked. It is a [store.Damage] or a [store.Gap] if the log
// cannot be read.
func Extends(ctx context.Context, log *store.Log, c Checkpoint, progress func(done, total int64)) (last uint64, err error) {
	last, _ = log.Last()
	if c.Size > int64(last) {
		const text = "%w: it ends at event %d, and the checkpoint has %d events: the log was cut, or is another log"
		return last, fmt.Errorf(text, ErrOther, last, c.Size)
	}
	var r roots
	if c.Size == 0 && c.Root != r.root() {
		return last, fmt.Errorf("%w: the checkpoint has no event, and not the root of an empty tree", ErrOther)
	}
	for e, err := range log.Linked(ctx, 1, last) {
		if err != nil {
			return last, err
		}
		if r.size >= c.Size {
			continue // its place in the chain is verified
		}
		r.add(tlog.RecordHash(e.Chain[:]))
		if r.size == c.Size && r.root() != c.Root {
			const text = "%w: the root of the first %d events is %v, and of the checkpoint %v: an event was rewritten, or it is another log"
			return last, fmt.Errorf(text, ErrOther, c.Size, r.root(), c.Root)
		}
		if r.size%fanOut == 0 {
			progress(r.size, int64(last))
		}
	}
	return last, nil
}

// roots computes the root of a tree leaf by leaf.
type roots struct {
	size  int64
	whole []tlog.Hash // the hashes of the whole subtrees, the largest first
}

func (r *roots) add(leaf tlog.Hash) {
	for n := r.size; n&1 == 1; n >>= 1 {
		end := len(r.whole) - 1
		leaf, r.whole = tlog.NodeHash(r.whole[end], leaf), r.whole[:end]
	}
	r.whole = append(r.whole, leaf)
	r.size++
}

func (r *roots) root() (root tlog.Hash) {
	if r.size == 0 {
		root, _ = tlog.TreeHash(0, nil) // which reads nothing
		return root
	}
	for i := len(r.whole) - 1; i >= 0; i-- {
		if i == len(r.whole)-1 {
			root = r.whole[i]
		} else {
			root = tlog.NodeHash(r.whole[i], root)
		}
	}
	return root
}

package store

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"sort"

	"ledge/store/natsblock"
)

// recordSegments puts block files on record when they are full, until ctx ends. A start need not read them then.
func (s *Store) recordSegments(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.filled:
		}
		for _, l := range s.logs {
			l.noteFull()
		}
	}
}

// noteFull puts on record which block files are full by now. Without that, a start after a crash takes longer; so on a full disk it is not an error.
func (l *logFiles) noteFull() {
	if err := l.recordFull(func(*contents) {}); err != nil {
		l.store.o.Logger.Warn("a full block file is not on record: a start after a crash may take longer", "stream", l.name, "error", err)
	}
}

// firstIn returns the sequence with which a block file begins: from the manifest, or from the file behind those that it has. The error is io.EOF if the server has just
// made the file, and ErrNoRecord if it begins with something else than an event.
func (l *logFiles) firstIn(block uint32) (uint64, error) {
	list := l.manifest.segments()
	i := sort.Search(len(list), func(i int) bool { return list[i].Block >= block })
	if i < len(list) && list[i].Block == block {
		return list[i].First, nil
	}
	r, err := l.blocks.First(block)
	if err == nil && !r.IsMessage() {
		err = natsblock.ErrNoRecord
	}
	if err != nil {
		return 0, err
	}
	return r.Seq(), nil
}

// holding returns the index of the last block that begins at or before a sequence. If the beginning of a block is altered, it
// is the index of the block before that.
func (l *logFiles) holding(all []uint32, seq uint64) int {
	after := func(i int) bool {
		first, err := l.firstIn(all[i])
		return err != nil || first > seq
	}
	return max(sort.Search(len(all), after)-1, 0)
}

// boundary returns the highest sequence, up to one, with which a block after the first begins; 0 for none.
func (l *logFiles) boundary(upTo uint64) (uint64, error) {
	all, err := l.blocks.List()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", l.name, err)
	}
	for _, n := range slices.Backward(all[min(len(all), 1):]) {
		if first, err := l.firstIn(n); err == nil && first <= upTo {
			return first, nil
		}
	}
	return 0, nil
}

// BlockEnd is the end of a block file that is full: the sequence of its last event, and its size in bytes.
type BlockEnd struct {
	Last  uint64
	Bytes int64
}

// BlockEnds returns where the block files end that are full: there a stretch of the log may be closed.
func (l *logFiles) BlockEnds() (list []BlockEnd) {
	l.noteFull()
	for _, s := range l.manifest.segments() {
		list = append(list, BlockEnd{s.Last, s.Bytes})
	}
	return list
}

// BlockUse is a block file of a log: the sequence of its first event, and its size in bytes.
type BlockUse struct {
	First uint64
	Bytes int64
}

// Blocks returns the block files of the log, the oldest first. The last one is still written to.
func (l *logFiles) Blocks() ([]BlockUse, error) {
	l.noteFull()
	total, err := l.blocks.Bytes()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.name, err)
	}
	var list []BlockUse
	next := l.First()
	for _, s := range l.manifest.segments() {
		list, next, total = append(list, BlockUse{s.First, s.Bytes}), s.Last+1, total-s.Bytes
	}
	return append(list, BlockUse{next, max(total, 0)}), nil
}

// blockFilled says that the server has begun a new block file.
func (s *Store) blockFilled() {
	select {
	case s.filled <- struct{}{}:
	default:
	}
}

// recordFull adds to the manifest the block files that are full and durable, and what more changes.
func (l *logFiles) recordFull(more func(*contents)) error {
	added, err := l.filledBlocks()
	if err != nil {
		return err
	}
	return l.manifest.change(func(c *contents) {
		more(c)
		if c.First.First == 0 { // a full disk kept the start from recording it
			c.First.First = l.First()
		}
		for _, s := range added {
			if n := len(c.Segments); s.Last >= c.First.First && (n == 0 || c.Segments[n-1].Last+1 == s.First) {
				c.Segments = append(c.Segments, s)
			}
		}
	})
}

// filledBlocks returns the block files that are full and durable, and not in the manifest yet.
func (l *logFiles) filledBlocks() (list []segment, err error) {
	all, err := l.blocks.List()
	if err != nil {
		return nil, err
	}
	known := uint32(0)
	if segments := l.manifest.segments(); len(segments) > 0 {
		known = segments[len(segments)-1].Block
	}
	last, _ := l.Last()
	for i, n := range all[:max(len(all), 1)-1] {
		if n <= known {
			continue
		}
		s, ok := l.segment(n, all[i+1], last)
		if !ok {
			break // it is not durable yet, or its readers find the damage
		}
		list = append(list, s)
	}
	return list, nil
}

// segment returns what is in a block file, by how it and the next begin.
func (l *logFiles) segment(n, next uint32, durable uint64) (s segment, ok bool) {
	first, err := l.blocks.First(n)
	if err != nil || !first.IsMessage() {
		return s, false
	}
	behind, err := l.blocks.First(next)
	if err != nil || !behind.IsMessage() || behind.Seq() > durable+1 || behind.Seq() <= first.Seq() {
		return s, false
	}
	st, err := os.Stat(l.blocks.Path(n))
	if err != nil {
		return s, false
	}
	m, err := l.stored(behind.Seq() - 1)
	if err != nil {
		return s, false
	}
	chain, ok := chainIn(m.Header)
	return segment{n, first.Seq(), m.Seq, st.Size(), m.At, hex.EncodeToString(chain[:])}, ok
}

// stored reads one message from the files.
func (l *logFiles) stored(seq uint64) (found Message, err error) {
	err = l.blockReader(seq, seq, readChunk).read(context.Background(), func(p page) bool { found = p.messages[0]; return true })
	if err == nil && found.Seq != seq {
		err = errRecord
	}
	return found, err
}

// recordEnd puts on record where the log ends: the stop is a clean one.
func (l *logFiles) recordEnd() error {
	last, chain := l.Last()
	size := int64(0)
	all, err := l.blocks.List()
	if err == nil && len(all) > 0 {
		var st os.FileInfo
		if st, err = os.Stat(l.blocks.Path(all[len(all)-1])); err == nil {
			size = st.Size()
		}
	}
	if err != nil {
		return err
	}
	return l.recordFull(func(c *contents) { c.End = &logEnd{last, hex.EncodeToString(chain[:]), size} })
}

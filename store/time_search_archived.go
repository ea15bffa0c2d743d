package store

import (
	"context"
	"iter"
	"path/filepath"
	"sort"
	"time"
)

// Begin is Since for all of the history: where everything on the log is from that time or later, it looks in the archives.
// Events that are archived and cannot be read count as older.
func (l *Log) Begin(ctx context.Context, t time.Time) (uint64, error) {
	seq, err := l.Since(ctx, t)
	if err != nil || l.archives == nil || seq > l.First() {
		return seq, err
	}
	list, err := l.archives.List()
	if err != nil || len(list) == 0 {
		return seq, err
	}
	i := sort.Search(len(list), func(i int) bool {
		r, err := l.openArchive(filepath.Join(l.archives.dir, list[i].File))
		if err != nil {
			return false
		}
		defer r.close()
		return !r.header.From.Before(t)
	})
	return list[max(i, 1)-1].First, ctx.Err()
}

// MergeAt is [Merge] where each log begins at a sequence of its own.
func MergeAt(ctx context.Context, logs []*Log, starts []uint64) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		heads, stop := openAt(ctx, logs, starts)
		defer stop()
		merged(heads, yield)
	}
}

package store

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"ledge/store/natsblock"
)

// BlockUse is a block file of a log: the sequence of its first event, and its size in bytes.
type BlockUse struct {
	First uint64
	Bytes int64
}

// Blocks returns the block files of the log, the oldest first. The last one is still written to. A block that begins with
// something else than an event counts as a part of the one before it, since [Log.DropBefore] cannot drop up to it.
func (l *Log) Blocks() (list []BlockUse, err error) {
	all, err := l.blocks.List()
	if err != nil {
		return nil, err
	}
	for _, n := range all {
		info, err := os.Stat(l.blocks.Path(n))
		if errors.Is(err, fs.ErrNotExist) {
			continue // dropped meanwhile
		}
		if err != nil {
			return nil, err
		}
		r, err := l.blocks.First(n)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, io.EOF) && !errors.Is(err, natsblock.ErrNoRecord) {
			return nil, err
		}
		switch {
		case err == nil && (r.IsMessage() || len(list) == 0):
			list = append(list, BlockUse{First: r.Seq()})
		case len(list) == 0:
			list = append(list, BlockUse{})
		}
		list[len(list)-1].Bytes += info.Size()
	}
	return list, nil
}

package store

import (
	"context"
	"os"
	"time"

	"ledge/store/natsblock"
)

// Every indexCopyInterval, the index of a log is copied again if the log has indexCopyBlocks or more blocks that the last copy
// does not know. A start after a power cut reads these blocks.
const (
	indexCopyInterval = time.Minute
	indexCopyBlocks   = 8
)

// copyIndexesRegularly copies the indexes that the server writes, until ctx ends.
func (s *Store) copyIndexesRegularly(ctx context.Context) {
	tick := time.NewTicker(indexCopyInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.copyIndexes()
	}
}

// copyIndexes holds restartLock: a restart of JetStream writes the same files.
func (s *Store) copyIndexes() {
	s.restartLock.RLock()
	defer s.restartLock.RUnlock()
	for _, l := range s.logs {
		if err := l.copyIndex(); err != nil {
			s.o.Logger.Warn("no copy of the log's index: a start after a power cut may take longer", "stream", l.name, "error", err)
		}
	}
}

// copyIndex copies the server's index if the last copy does not know enough of the blocks.
func (l *Log) copyIndex() error {
	all, err := l.blocks.List()
	if err != nil || len(all) == 0 || all[len(all)-1] < l.copied+indexCopyBlocks {
		return err
	}
	text, err := os.ReadFile(l.indexPath())
	if err != nil {
		return nil //nolint:nilerr // the server has not written it yet
	}
	x, err := natsblock.Decode(l.name, text)
	if err != nil || x.LastBlock <= l.copied {
		return nil //nolint:nilerr // it is being written
	}
	if err := l.keepIndex(text); err != nil {
		return err
	}
	l.copied = x.LastBlock
	return nil
}

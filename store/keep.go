package store

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"time"

	"ledge/store/natsfiles"
)

// moveFront gives up all events before a sequence: they are not read any more from then on. What is on record first, durably,
// is removed then, in whole block files; a crash between the two leaves more than the record says, and the next start
// removes it. The last block stays, and with it the end of the chain.
func (l *Log) moveFront(ctx context.Context, to uint64) error {
	l.moving.Lock()
	defer l.moving.Unlock()
	last, chain := l.Last()
	if to = min(to, last+1); to <= l.First() {
		return l.unlink(ctx, l.First()) // what a removal that failed has left behind
	}
	if to <= last {
		m, err := l.one(ctx, to-1)
		if err != nil {
			return err
		}
		chain, _ = chainIn(m.Header)
	}
	f, _ := l.store.fronts.of(l.name)
	f.First, f.Chain = to, hex.EncodeToString(chain[:])
	if err := l.store.fronts.record(map[string]front{l.name: f}); err != nil {
		return fmt.Errorf("%s: %w", l.name, err)
	}
	l.setFirst(to)
	return l.unlink(ctx, to)
}

// keepEvery is how often it is looked whether the copies of the indexes are still good enough, and keepBlocks how many new
// blocks make a new copy: a start after a power cut goes over these.
const (
	keepEvery  = time.Minute
	keepBlocks = 8
)

// keepIndexes keeps copies of the indexes that the server writes from time to time, until ctx ends.
func (s *Store) keepIndexes(ctx context.Context) {
	tick := time.NewTicker(keepEvery)
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

// copyIndexes holds the gate: a restart of JetStream writes the same files.
func (s *Store) copyIndexes() {
	s.gate.RLock()
	defer s.gate.RUnlock()
	for _, l := range s.logs {
		if err := l.copyIndex(); err != nil {
			s.o.Logger.Warn("no copy of the log's index: a start after a power cut may take longer", "stream", l.name, "error", err)
		}
	}
}

// copyIndex keeps a copy of the server's index if there are enough blocks that the last copy does not know.
func (l *Log) copyIndex() error {
	all, err := l.blocks.list()
	if err != nil || len(all) == 0 || all[len(all)-1] < l.copied+keepBlocks {
		return err
	}
	text, err := os.ReadFile(l.indexPath())
	if err != nil {
		return nil //nolint:nilerr // the server has not written it yet
	}
	x, err := natsfiles.Decode(l.name, text)
	if err != nil || x.LastBlock <= l.copied {
		return nil //nolint:nilerr // it is being written
	}
	if err := l.keepIndex(text); err != nil {
		return err
	}
	l.copied = x.LastBlock
	return nil
}

package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats-server/v2/server"

	"ledge/store/osfile"
)

func (l *Log) lostStream(why string) error {
	return l.damage(0, "its events are in %s, but the server cannot open them: %s; nothing was written over them", l.blocks.Dir, why)
}

// open holds that the server opened what [Log.prepare] left for it, and no more and no less.
func (l *Log) open(ctx context.Context) error {
	if err := l.opened(ctx, l.last); err != nil {
		return err
	}
	l.show()
	return l.listen()
}

// opened holds that the server has the log up to a sequence, and nothing is missing.
func (l *Log) opened(ctx context.Context, last uint64) error {
	info, err := streamInfo(ctx, l.store.node.write, l.name, true)
	if none, ok := errors.AsType[*server.ApiError](err); ok && none.ErrCode == uint16(server.JSStreamNotFoundErr) {
		return l.lostStream("it does not know the stream")
	}
	if err != nil {
		return err
	}
	if err := l.whole(info.State); err != nil {
		return err
	}
	if st := info.State; st.LastSeq != last || st.Msgs > 0 && st.FirstSeq > l.First() {
		return l.damage(0, "the server opened events %d to %d, and the files hold %d to %d", st.FirstSeq, st.LastSeq, l.First(), last)
	}
	return nil
}

// whole holds that by the server's own account nothing is missing. That is not enough: see [Log.recoverFiles].
func (l *Log) whole(st server.StreamState) error {
	if st.Lost != nil && len(st.Lost.Msgs) > 0 {
		return l.damage(st.Lost.Msgs[0], "the server lost %d events (%d bytes)", len(st.Lost.Msgs), st.Lost.Bytes)
	}
	if st.LastSeq == 0 {
		return nil // an empty stream that was opened again says that 0 is missing
	}
	if len(st.Deleted) > 0 {
		return l.damage(st.Deleted[0], "%d events are missing between %d and %d", len(st.Deleted), st.FirstSeq, st.LastSeq)
	}
	if st.Msgs > 0 && st.Msgs != st.LastSeq-st.FirstSeq+1 {
		return l.damage(st.FirstSeq, "%d events where %d to %d should be", st.Msgs, st.FirstSeq, st.LastSeq)
	}
	return nil
}

// recordManifests puts on record where each log begins, and its full block files, as far as that is not on it yet.
func (s *Store) recordManifests() error {
	all := true
	for _, l := range s.logs {
		fresh := l.manifest.missing
		err := l.recordFull(func(c *contents) {
			if c.First.First == 0 {
				c.First = logStart{First: l.first, Marked: l.last == 0}
			}
		})
		if osfile.IsFull(err) { // a later start does it
			s.o.Logger.Warn("the disk is full: where the log begins is not put on record; free some space", "stream", l.name, "error", err)
			all = false
			continue
		}
		if err != nil {
			return fmt.Errorf("data folder: %w", err)
		}
		if fresh && l.last > 0 {
			s.o.Logger.Warn("the log had no manifest, so all of it was read: an earlier version or a backup has written it, or the file was removed", "stream", l.name, "path", l.manifest.path)
		}
	}
	if !all {
		return nil
	}
	return refuseEarlierVersions(s.o.Dir)
}

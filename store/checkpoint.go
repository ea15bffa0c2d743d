package store

import "context"

// Checkpoint is a sequence that was durable on a log, with its chain hash: the last event that a projection has applied.
type Checkpoint struct {
	Seq   uint64
	Chain [32]byte
}

// namedCheckpoint is a checkpoint with a name for messages.
type namedCheckpoint struct {
	Checkpoint
	who string
}

// checkpoints returns the checkpoint of the log's projection.
func (l *Log) checkpoints() (all []namedCheckpoint) {
	if w, ok := l.store.o.Checkpoints[l.name]; ok && w.Seq > 0 {
		all = append(all, namedCheckpoint{w, "the projection's checkpoint"})
	}
	return all
}

// agrees checks that the log has the event of a checkpoint.
func (l *Log) agrees(ctx context.Context, s *recovery, w namedCheckpoint) error {
	switch {
	case w.Seq > s.last:
		return l.damage(s.last+1, "the log lost events %d to %d that had been acknowledged: it ends at %d, but %s is at %d; nothing was changed", s.last+1, w.Seq, s.last, w.who, w.Seq)
	case s.events == 0 || w.Seq < s.first:
		if w.Seq == s.last && l.chain == (Chain{}) {
			l.chain = w.Chain // nobody else remembers it
		}
		return nil
	}
	got := l.chain
	if w.Seq < s.last {
		link, err := l.verifyFiles(ctx, w.Seq, w.Seq)
		if err != nil {
			return err
		}
		got = link.prev
	}
	if got != w.Chain {
		return l.damage(w.Seq, "its chain hash is %x, but %s at %d has %x: log and checkpoint are not of the same past; nothing was changed", got, w.who, w.Seq, w.Chain)
	}
	return nil
}

package store

import (
	"context"
	"encoding/hex"
)

// Witness is a place on a log that somebody has seen durable: a projection's checkpoint.
type Witness struct {
	Seq   uint64
	Chain [32]byte
}

// witness is one with a name for a message.
type witness struct {
	Witness
	who string
}

// witnesses returns the checkpoints of a log's projections and its end at the last clean stop.
func (l *Log) witnesses(m *mark) (all []witness) {
	if w, ok := l.store.o.Witnesses[l.name]; ok && w.Seq > 0 {
		all = append(all, witness{w, "the projection's checkpoint"})
	}
	if m != nil && m.Ends[l.name].Last > 0 {
		w := witness{Witness{Seq: m.Ends[l.name].Last}, "its end at the last clean stop"}
		_, _ = hex.Decode(w.Chain[:], []byte(m.Ends[l.name].Chain))
		all = append(all, w)
	}
	return all
}

// agrees holds that the log has what a witness has seen.
func (l *Log) agrees(ctx context.Context, s *survey, w witness) error {
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
		return l.damage(w.Seq, "its chain hash is %x, but %s at %d has %x: log and witness are not of the same past; nothing was changed", got, w.who, w.Seq, w.Chain)
	}
	return nil
}

package projections

import (
	"encoding/binary"

	"go.etcd.io/bbolt"

	"ledge/domain"
)

// RecordedEvent is a data event, with the sequence of the event that put it.
type RecordedEvent struct {
	domain.DataEvent
	Seq uint64
}

// RecordedFrom lists, in the order of the log, data events that events from a sequence on have put: as many as one part of
// a cleanup may name. An empty list says that there are no more.
func (v *View) RecordedFrom(seq uint64) (list []RecordedEvent, err error) {
	err = v.reading(func() error {
		left := partOfCleanup
		for suffix := range suffixes(v.rows, appendRange(nil, dataEvents.written().id, ""), writtenAt(seq)) {
			if left.full() {
				break
			}
			row := append([]byte{dataEvents.id}, suffix[suffixHead:]...)
			e, at, _ := dataEvents.read(v.rows, row)
			left.take(1+len(e.Readings), len(v.rows.Get(row)))
			list = append(list, RecordedEvent{e, at})
		}
		return nil
	})
	return list, err
}

// Oldest returns the first sequence whose event has put anything that is still there and that is forgotten with its event,
// see [DB.Forget]; where there is none, the checkpoint's + 1.
func (v *View) Oldest() (seq uint64, err error) {
	err = v.reading(func() error {
		seq = v.filed.seq + 1
		for _, t := range held[v.d.tables] {
			if first, ok := t.first(v.rows); ok {
				seq = min(seq, first)
			}
		}
		return nil
	})
	return seq, err
}

// first implements stored.
func (k *kind[S]) first(rows *bbolt.Bucket) (seq uint64, ok bool) {
	x := k.written()
	if x == nil {
		return 0, false
	}
	for suffix := range suffixes(rows, appendRange(nil, x.id, ""), nil) {
		return seqOf(suffix), true
	}
	return 0, false
}

// writtenAt is what the suffix of the first entry of a sequence in an index called written begins with.
func writtenAt(seq uint64) []byte {
	return binary.BigEndian.AppendUint64(appendTime(nil, 0), seq)
}

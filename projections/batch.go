package projections

import (
	"go.etcd.io/bbolt"

	"ledge/domain"
)

// batch is the fold of some events on the tables of a write transaction.
type batch struct {
	rows   *bbolt.Bucket
	seq    uint64 // of the event that is being folded
	state  domain.State
	tables []table
}

// table is a pending of whatever type.
type table interface{ write(*writer) error }

func newBatch(rows *bbolt.Bucket, held Tables) *batch {
	b := &batch{rows: rows}
	switch held {
	case Events:
		b.state = domain.State{
			Profiles: newPending(profiles, b), Services: newPending(services, b), Devices: newPending(devices, b),
			Watchers:      newPending(watchers, b),
			Subscriptions: newPending(subscriptions, b), IDs: newPending(ids, b), Uses: newPending(uses, b),
			Seeds: newPending(seeds, b),
		}
	case Notifications:
		b.state = domain.State{
			Notifications: newPending(notifications, b), Transmissions: newPending(transmissions, b),
			Cleanups: newPending(cleanups, b), Cursors: newPending(cursors, b),
		}
	case Readings:
		b.state = domain.State{DataEvents: newPending(dataEvents, b), Readings: newPending(readings, b), Cleanups: newPending(cleanups, b)}
	}
	b.state.Answers, b.state.AnswerOrder = newPending(answers, b), newPending(answerOrder, b)
	return b
}

func (b *batch) count(index byte, value string) int64 {
	return tallyAt(b.rows, index, value).count
}

// fold runs the events on the pending tables.
func (b *batch) fold(events []domain.Recorded) error { return fold(b.state, &b.seq, events) }

// write brings what the fold has changed to the file.
func (b *batch) write(w *writer) error {
	for _, t := range b.tables {
		if err := t.write(w); err != nil {
			return err
		}
	}
	return w.flush(b.rows)
}

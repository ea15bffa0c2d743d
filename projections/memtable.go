package projections

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/tidwall/btree"

	"ledge/domain"
)

// memtable is what events that are applied and not yet in the file have put and deleted: rows, by their keys, as the file has them. It does not
// change, so that whoever has one has a snapshot: events are folded on a copy, which shares what they leave as it is.
type memtable struct {
	rows   *btree.BTreeG[memrow]
	events int // how many it has
	bytes  int // what the rows take
	end    checkpoint
}

type memrow struct {
	key   string
	value []byte // nil: deleted
	// entity is a pointer to what value was made of, for the indexes: to decode each row again takes a tenth of a fold.
	entity any
}

// perRow is about how many bytes a row takes in memory beside its key and value.
const perRow = 128

func (r memrow) size() int { return len(r.key) + len(r.value) + perRow }

func newMemtable() *memtable {
	byKey := func(a, b memrow) bool { return a.key < b.key }
	return &memtable{rows: btree.NewBTreeGOptions(byKey, btree.Options{NoLocks: true, Degree: 16})}
}

// copied returns a copy to fold on; of nil an empty one.
func (m *memtable) copied() *memtable {
	if m == nil {
		return newMemtable()
	}
	return &memtable{rows: m.rows.Copy(), events: m.events, bytes: m.bytes, end: m.end}
}

// get returns the row at a key; known is false where m has none, or is nil.
func (m *memtable) get(key []byte) (value []byte, known bool) {
	if m == nil {
		return nil, false
	}
	r, known := m.rows.Get(memrow{key: string(key)})
	return r.value, known
}

func (m *memtable) set(r memrow) {
	old, replaced := m.rows.Set(r)
	if m.bytes += r.size(); replaced {
		m.bytes -= old.size()
	}
}

// folding is a fold of events on a memtable.
type folding struct {
	*memtable
	d     *DB
	below *memtable // which is being written to the file
	seq   uint64    // of the event that is being folded
	buf   bytes.Buffer
}

// fold returns what is to be the fresh memtable with some events more.
func (d *DB) fold(fresh, below *memtable, events []domain.Recorded) (*memtable, error) {
	f := &folding{memtable: fresh.copied(), d: d, below: below}
	if err := f.fold(events); err != nil {
		return nil, err
	}
	last := &events[len(events)-1]
	f.events, f.end = f.events+len(events), checkpoint{last.Seq, last.Chain}
	return f.memtable, nil
}

// fold runs the events' Evolve. An event that is not of this file's stream is an error.
func (f *folding) fold(events []domain.Recorded) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case damage:
			err = r
		default:
			err = fmt.Errorf("fold event %d: %v", f.seq, r)
		}
	}()
	s := f.state()
	for i := range events {
		f.seq = events[i].Seq
		domain.Evolve(s, &events[i])
	}
	return nil
}

func (f *folding) state() (s domain.State) {
	switch f.d.tables {
	case Events:
		s = domain.State{
			Profiles: &foldedTable[domain.Profile]{profiles, f}, Services: &foldedTable[domain.DeviceService]{services, f},
			Devices: &foldedTable[domain.Device]{devices, f}, Watchers: &foldedTable[domain.ProvisionWatcher]{watchers, f},
			Users: &foldedTable[domain.User]{users, f}, Tokens: &foldedTable[domain.Token]{tokens, f},
			Subscriptions: &foldedTable[domain.Subscription]{subscriptions, f}, IDs: &foldedTable[string]{ids, f},
			Uses: &foldedTable[int]{uses, f}, Seeds: &foldedTable[bool]{seeds, f},
		}
	case Notifications:
		s = domain.State{
			Notifications: &foldedTable[domain.Notification]{notifications, f}, Transmissions: &foldedTable[domain.Transmission]{transmissions, f},
			Cleanups: &foldedTable[domain.Cleanup]{cleanups, f}, Cursors: &foldedTable[uint64]{cursors, f},
		}
	case Readings:
		s = domain.State{
			DataEvents: &foldedTable[domain.DataEvent]{dataEvents, f}, Readings: &foldedTable[domain.Reading]{readings, f},
			Cleanups: &foldedTable[domain.Cleanup]{cleanups, f},
		}
	}
	s.Answers, s.AnswerOrder = &foldedTable[domain.Answer]{answers, f}, &foldedTable[string]{answerOrder, f}
	return s
}

// foldedTable is one table of a fold.
type foldedTable[S any] struct {
	*kind[S]
	in *folding
}

// Get implements domain.Table: it reads through to the memtable below, and then to the file.
func (t *foldedTable[S]) Get(name string) (s S, ok bool) {
	key := appendRow(nil, t.id, name)
	row, known := t.in.get(key)
	if !known {
		row, known = t.in.below.get(key)
	}
	if !known {
		return t.readAlone(t.in.d, key)
	}
	if row != nil {
		s, _ = t.mustParse(key[1:], row)
	}
	return s, row != nil
}

// readAlone reads one key in a transaction of its own: one that were held from one event to the next would stop the file
// from growing, and with it the flush.
func (k *kind[S]) readAlone(d *DB, key []byte) (s S, ok bool) {
	defer faults()()
	tx, err := d.file.read()
	if err != nil {
		panic(err)
	}
	defer d.file.done(tx)
	s, _, ok = k.read(tx.Bucket(bucketName), key)
	return s, ok
}

// Put implements domain.Table. A value that cannot be encoded ends the fold.
func (t *foldedTable[S]) Put(name string, s S) {
	t.in.buf.Reset()
	if err := t.encodeRow(&t.in.buf, &s, t.in.seq); err != nil {
		panic(fmt.Errorf("encode %s %q: %w", t.name, name, err))
	}
	t.in.set(memrow{string(appendRow(nil, t.id, name)), bytes.Clone(t.in.buf.Bytes()), &s})
}

// Delete implements domain.Table.
func (t *foldedTable[S]) Delete(name string) {
	t.in.set(memrow{key: string(appendRow(nil, t.id, name))})
}

// encodeRow appends the row of a value that the event of a sequence has put.
func (k *kind[S]) encodeRow(dst *bytes.Buffer, s *S, seq uint64) error {
	if k.canonical != nil {
		same := k.canonical(*s)
		s = &same
	}
	if len(k.indexes) > 0 {
		dst.Write(binary.AppendUvarint(dst.AvailableBuffer(), seq))
	}
	return k.encode(dst, s)
}

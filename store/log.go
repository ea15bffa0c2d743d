package store

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"ledge/store/natsblock"

	"github.com/nats-io/nats-server/v2/server"
)

// Log is one stream: events in the order of their sequences, from 1, each linked by hash to the one before.
type Log struct {
	logReader
	retention
	writer writer

	// verified is the first sequence that was verified at the start.
	verified uint64
	// broken says why this log must not be served from; set once, by damage or by writes that keep failing.
	broken atomic.Pointer[error]
}

func newLog(s *Store, st stream) *Log {
	l := &Log{}
	l.stream, l.store, l.blocks = st, s, natsblock.FilesOf(streamDir(s.o.Dir, st.name))
	l.retention, l.writer = retention{log: l}, writer{log: l}
	return l
}

// Name returns the stream's name, such as "LEDGE_EVENTS".
func (l *Log) Name() string { return l.name }

// show says that the state has all up to the last durable event.
func (l *Log) show() {
	l.mu.Lock()
	l.shown, l.shownChain = l.last, l.chain
	l.mu.Unlock()
	l.store.shown.wake()
}

// fail makes the log refuse from now on, logs why, and tells [Store.Failed], once.
func (l *Log) fail(err error) {
	if !l.broken.CompareAndSwap(nil, &err) {
		return
	}
	select {
	case l.store.failed <- err:
	default: // another log was first
	}
	l.store.o.Logger.Error("log not served any more", "stream", l.name, "error", err)
}

// err returns why the log refuses, or nil.
func (l *Log) err() error {
	if p := l.broken.Load(); p != nil {
		return *p
	}
	return nil
}

// checkServer checks that the server opened what [recoverFiles] left for it, and no more and no less.
func (l *Log) checkServer(ctx context.Context) error {
	if err := l.checkServerEnd(ctx, l.last); err != nil {
		return err
	}
	l.show()
	return l.writer.listen()
}

// checkServerEnd checks that the server has the log up to a sequence, and nothing is missing.
func (l *Log) checkServerEnd(ctx context.Context, last uint64) error {
	info, err := callStream(ctx, l.store.node.write, "INFO", l.name, server.JSApiStreamInfoRequest{DeletedDetails: true})
	if none, ok := errors.AsType[*server.ApiError](err); ok && none.ErrCode == uint16(server.JSStreamNotFoundErr) {
		return l.damage(0, "its events are in %s, but the server cannot open them: it does not know the stream; nothing was written over them", l.blocks.Dir)
	}
	if err != nil {
		return err
	}
	if err := l.checkNoHoles(info.State); err != nil {
		return err
	}
	if st := info.State; st.LastSeq != last || st.Msgs > 0 && st.FirstSeq > l.First() {
		return l.damage(0, "the server opened events %d to %d, and the files hold %d to %d", st.FirstSeq, st.LastSeq, l.First(), last)
	}
	return nil
}

// checkNoHoles checks that by the server's own account nothing is missing. That is not enough: see [recoverFiles].
func (l *Log) checkNoHoles(st server.StreamState) error {
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

// Ready returns why the log takes no events now: it is broken, or, with domain.Full, the disk is.
func (l *Log) Ready() error {
	if err := l.err(); err != nil {
		return refused(err)
	}
	if l.store.room() <= l.store.o.reserve(l.stream) {
		return l.store.o.full(l.stream, "less than the reserve is left")
	}
	return nil
}

// Stats is what a log takes and keeps.
type Stats struct {
	Stream string
	// First and Last are the sequences between which all events are there; First is Last + 1 where there are none.
	First, Last uint64
	// Bytes is the size of the log's files.
	Bytes int64
	// Refused counts the requests that were refused because the disk is full, since the start.
	Refused uint64
	// Skipped counts the events that were read since the start and could not be decoded; see [Log.Skipped].
	Skipped int
	// Reserve is how many bytes of the disk must stay free for the log to take anything but removals.
	Reserve int64
}

// Stats looks at the log's files.
func (l *Log) Stats() (Stats, error) {
	last, _ := l.Last()
	bytes, err := l.blocks.Bytes()
	return Stats{
		Stream: l.name, First: l.First(), Last: last, Bytes: bytes, Refused: l.writer.refusals.Load(), Skipped: len(l.Skipped()),
		Reserve: l.store.o.reserve(l.stream),
	}, err
}

// bounds are the sequences of a log that can be read, and how far queries show it.
type bounds struct {
	mu    sync.Mutex
	first uint64
	last  uint64
	chain Chain
	// shown is how far the state has it, with its chain: what NATS clients are told.
	shown      uint64
	shownChain Chain
}

// Last returns the sequence and the chain hash of the last durable event; 0 and zeros for none.
func (b *bounds) Last() (seq uint64, chain [32]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last, b.chain
}

// First returns the first sequence that is still on the log: 1 unless retention removed events or they were moved to an
// archive, and Last's + 1 where nothing is kept. Of a running server it is the last that was heard of.
func (b *bounds) First() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.first
}

func (b *bounds) setFirst(seq uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.first = max(b.first, seq, 1)
}

func (b *bounds) setLast(seq uint64, chain Chain) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last, b.chain = seq, chain
}

// visible returns what [Log.Last] does, of the last event that a query shows.
func (b *bounds) visible() (seq uint64, chain Chain) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.shown, b.shownChain
}

// logFiles is a log as it is in files: the blocks that the server writes, and the manifest beside them.
type logFiles struct {
	stream
	bounds
	store    *Store
	blocks   *natsblock.Files
	manifest *manifest // nil of a running server, which has it
	offsets  blockOffsets
}

// askFirst is First as it is now: a running server is asked.
func (l *logFiles) askFirst(ctx context.Context) (uint64, error) {
	if l.store.ask != nil {
		all, err := l.store.ask(ctx, nil)
		if err != nil {
			return 0, err
		}
		l.setFirst(all[l.name].First)
	}
	return l.First(), nil
}

// begins returns the first sequence on the log itself and the chain hash of the event before, if that is on record.
func (l *logFiles) begins() (first uint64, base Chain, known bool) {
	f, ok := l.manifest.start()
	if !ok {
		return l.First(), base, false
	}
	return f.First, f.chain(), f.First == 1 || f.Chain != ""
}

// Base returns the first sequence on the log itself, and in hex the chain hash of the event before it: empty if there is
// none or it is not known.
func (l *logFiles) Base() (first uint64, before string) {
	first, base, known := l.begins()
	if !known || first == 1 {
		return first, ""
	}
	return first, hex.EncodeToString(base[:])
}

// Damage is the error for a log that differs from what was written. Seq is the first sequence that is missing or altered, or 0
// for the log as a whole.
type Damage struct {
	Stream string
	Seq    uint64
	What   string
}

const damageCure = "`ledge restore` makes a data folder of a backup, `ledge salvage` makes one of what is whole"

func (d *Damage) Error() string {
	where := ""
	if d.Seq > 0 {
		where = fmt.Sprintf(" at sequence %d", d.Seq)
	}
	return fmt.Sprintf("%s is damaged%s: %s; nothing is served from it: %s", d.Stream, where, d.What, damageCure)
}

// IsDamage reports whether err contains a [Damage].
func IsDamage(err error) bool {
	_, ok := errors.AsType[*Damage](err)
	return ok
}

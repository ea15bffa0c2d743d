package store

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"ledge/store/natsblock"
)

// Log is one stream: events in the order of their sequences, from 1, each linked by hash to the one before.
type Log struct {
	stream
	store    *Store
	blocks   *natsblock.Files
	manifest *manifest // nil of a running server, which has it
	acks     *acks
	letter   letter // for who appends

	// archives has what left the log's start; nil for a log of which nothing is archived. skipGap, where there is one, is
	// told of a missing archive, and the events in it are left out; else that is an error.
	archives *Archives
	skipGap  func(*Gap)
	// snapshots are those that can be used, the newest first.
	snapshots []*Snapshot

	mu    sync.Mutex
	first uint64
	last  uint64
	chain Chain
	// shown is how far the state has it, with its chain: what taps are told.
	shown      uint64
	shownChain Chain

	// verified is the first sequence that was verified at the start; failures counts failed appends in a row.
	verified uint64
	failures int

	moving sync.Mutex // held while the start moves

	// refusals counts requests that were refused for want of disk space.
	refusals atomic.Uint64

	skipped skipped

	// broken says why this log must not be served from; set once, by damage or by writes that keep failing.
	broken atomic.Pointer[error]
}

// Name returns the stream's name, such as "LEDGE_EVENTS".
func (l *Log) Name() string { return l.name }

// Last returns the sequence and the chain hash of the last durable event; 0 and zeros for none.
func (l *Log) Last() (seq uint64, chain [32]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last, l.chain
}

// First returns the first sequence that is still on the log: 1 unless retention removed events or they were moved to an
// archive, and Last's + 1 where nothing is kept. Of a running server it is the last that was heard of.
func (l *Log) First() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first
}

// askFirst is First as it is now: a running server is asked.
func (l *Log) askFirst(ctx context.Context) (uint64, error) {
	if l.store.ask != nil {
		all, err := l.store.ask(ctx, nil)
		if err != nil {
			return 0, err
		}
		l.setFirst(all[l.name].First)
	}
	return l.First(), nil
}

func (l *Log) setFirst(seq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.first = max(l.first, seq, 1)
}

// begins returns the first sequence on the log itself and the chain hash of the event before, where that is on record.
func (l *Log) begins() (first uint64, base Chain, known bool) {
	f, ok := l.manifest.start()
	if !ok {
		return l.First(), base, false
	}
	return f.First, f.chain(), f.First == 1 || f.Chain != ""
}

// Base returns the first sequence on the log itself, and in hex the chain hash of the event before it: empty where there is
// none or it is not known.
func (l *Log) Base() (first uint64, before string) {
	first, base, known := l.begins()
	if !known || first == 1 {
		return first, ""
	}
	return first, hex.EncodeToString(base[:])
}

func (l *Log) setLast(seq uint64, chain Chain) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.chain = seq, chain
}

// show says that the state has all up to the last durable event.
func (l *Log) show() {
	l.mu.Lock()
	l.shown, l.shownChain = l.last, l.chain
	l.mu.Unlock()
	l.store.shown.wake()
}

// visible returns what [Log.Last] does, of the last event that a query shows.
func (l *Log) visible() (seq uint64, chain Chain) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shown, l.shownChain
}

func (l *Log) shownSeq() uint64 {
	seq, _ := l.visible()
	return seq
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

// err returns why the log refuses, nil where it does not.
func (l *Log) err() error {
	if p := l.broken.Load(); p != nil {
		return *p
	}
	return nil
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

func (l *Log) damage(seq uint64, format string, args ...any) error {
	return &Damage{l.name, seq, fmt.Sprintf(format, args...)}
}

package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Log is one stream: events in the order of their sequences, from 1, each linked by hash to the one before.
type Log struct {
	stream
	store  *Store
	blocks *blocks
	places places
	acks   *acks
	letter letter // for who appends

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

	// refusals counts requests that were refused for want of disk space.
	refusals atomic.Uint64

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

// First returns the first sequence that is still kept: 1 unless age or bytes removed events, and Last's + 1 where
// nothing is kept.
func (l *Log) First() uint64 {
	if !l.forever {
		ctx, cancel := context.WithTimeout(context.Background(), apiWait)
		defer cancel()
		if first, err := l.askFirst(ctx); err == nil {
			l.setFirst(first)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first
}

// askFirst asks the server, or, through a tap, which may not, the service that does.
func (l *Log) askFirst(ctx context.Context) (uint64, error) {
	if l.store.node.server == nil {
		all, err := askInfo(ctx, l.store.node.read)
		return all[l.name].First, err
	}
	info, err := streamInfo(ctx, l.store.node.read, l.name, false)
	if err != nil {
		return 0, err
	}
	return info.State.FirstSeq, nil
}

func (l *Log) setFirst(seq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.first = max(l.first, seq, 1)
}

func (l *Log) setLast(seq uint64, chain Chain) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.chain = seq, chain
}

// show says that the state has all up to the last durable event.
func (l *Log) show() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shown, l.shownChain = l.last, l.chain
}

// visible returns what [Log.Last] does, of the last event that a query shows.
func (l *Log) visible() (seq uint64, chain Chain) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shown, l.shownChain
}

// fail makes the log refuse from now on, logs why, and tells [Store.Failed], once.
func (l *Log) fail(err error) {
	if !l.broken.CompareAndSwap(nil, &err) {
		return
	}
	select {
	case l.store.failed <- err:
	default: // another log was first, or this is a tap's
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

// Damage is the error for a log that is not what was written: Seq is the first sequence that is missing or altered, 0
// where it is the log as a whole.
type Damage struct {
	Stream string
	Seq    uint64
	What   string
}

func (d *Damage) Error() string {
	where := ""
	if d.Seq > 0 {
		where = fmt.Sprintf(" at sequence %d", d.Seq)
	}
	return fmt.Sprintf("%s is damaged%s: %s; nothing is served from it: restore the data folder from a backup", d.Stream, where, d.What)
}

// IsDamage reports whether err names damage of a log.
func IsDamage(err error) bool {
	_, ok := errors.AsType[*Damage](err)
	return ok
}

func (l *Log) damage(seq uint64, format string, args ...any) error {
	return &Damage{l.name, seq, fmt.Sprintf(format, args...)}
}

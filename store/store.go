package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
)

// Store is the open log: the server and its three streams.
type Store struct {
	o    Options
	node *node
	logs [3]*Log // in the order of streams

	// gate is held shared across an append and alone across a restart of JetStream, which all streams share.
	gate       sync.RWMutex
	syncAlways atomic.Bool

	failed     chan error // the first reason of a log to refuse
	background sync.WaitGroup
	stop       context.CancelFunc
	closing    sync.Once
	closed     error
}

// Open starts the server, opens or creates the streams, and checks them. The error of a damaged store names the
// damage; nothing is repaired or made anew over what is there.
func Open(ctx context.Context, o Options) (*Store, error) {
	o = o.withDefaults()
	if err := os.MkdirAll(o.Dir, 0o750); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	s := &Store{o: o, failed: make(chan error, 1)}
	s.syncAlways.Store(o.SyncAlways)
	for i, st := range streams {
		s.logs[i] = &Log{stream: st, store: s, blocks: newBlocks(streamDir(o.Dir, st.name))}
	}
	mark, err := takeMark(o.Dir)
	if err != nil {
		return nil, err
	}
	for _, l := range s.logs {
		if err := l.before(mark != nil); err != nil {
			return nil, err
		}
	}
	if s.node, err = startNode(ctx, o); err != nil {
		return nil, err
	}
	if err := s.open(ctx, mark); err != nil {
		s.node.close()
		return nil, err
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, mark *mark) error {
	for _, l := range s.logs {
		if err := l.open(ctx); err != nil {
			return err
		}
		if err := l.start(ctx, mark); err != nil {
			return err
		}
	}
	if err := dropMark(s.o.Dir); err != nil {
		return err
	}
	if err := s.answerInfo(); err != nil {
		return err
	}
	ctx, s.stop = context.WithCancel(context.Background())
	s.background.Go(func() { s.verifyRest(ctx) })
	return nil
}

// Events is the stream of changes to profiles, devices, services and subscriptions, kept for ever.
func (s *Store) Events() *Log { return s.logs[0] }

// Notifications is the stream of notifications and their transmissions.
func (s *Store) Notifications() *Log { return s.logs[1] }

// Readings is the stream of posted values.
func (s *Store) Readings() *Log { return s.logs[2] }

// TapURL is where taps connect, without a login, to see what happens live; empty without a listener.
func (s *Store) TapURL() string { return s.node.tapURL("") }

// HistoryURL is where taps read the streams by direct get, and ask "ledge.info" for where these begin and end.
func (s *Store) HistoryURL() string { return s.node.tapURL(historyUser + ":" + historyUser + "@") }

// Health returns why the store is not fit to serve: damage that was found, writes that fail, a server that is unwell.
// A full disk is not among them: appends are refused then, and all else goes on.
func (s *Store) Health(ctx context.Context) error {
	for _, l := range s.logs {
		if err := l.err(); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.gate.RLock()
	defer s.gate.RUnlock()
	return s.node.health()
}

// Failed yields, once, why a log refuses from now on: damage that was found, or writes that keep failing. Only a new
// start, or a backup, is a cure.
func (s *Store) Failed() <-chan error { return s.failed }

var errClosed = errors.New("the log is closed")

// Close stops the server with everything on disk, and leaves the mark of a clean stop. Appenders are closed before.
func (s *Store) Close() error {
	s.closing.Do(func() { s.closed = s.close() })
	return s.closed
}

func (s *Store) close() error {
	s.stop()
	s.background.Wait()
	s.gate.Lock()
	defer s.gate.Unlock()
	whole := true
	var errs []error
	for _, l := range s.logs {
		if err := l.blocks.syncTail(); err != nil {
			errs = append(errs, fmt.Errorf("sync %s: %w", l.name, err))
		}
		whole = whole && l.err() == nil
		l.broken.CompareAndSwap(nil, &errClosed)
	}
	s.node.close()
	for _, l := range s.logs {
		if err := syncTree(s.o.Dir, streamDir(s.o.Dir, l.name)); err != nil {
			errs = append(errs, fmt.Errorf("sync %s: %w", l.name, err))
		}
	}
	if !whole || len(errs) > 0 {
		return errors.Join(errs...) // without the mark, the next start looks at everything
	}
	return leaveMark(s.o.Dir, s.logs[:])
}

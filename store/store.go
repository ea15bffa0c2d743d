package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"ledge/store/natsblock"
)

// Store is the open log: the server and its three streams.
type Store struct {
	o        Options
	node     *node
	taps     *taps   // nil where nothing is listened on
	logs     [3]*Log // in the order of streams
	observer observer

	// restartLock is held for reading during an append, and for writing during a restart of JetStream, which serves all streams.
	restartLock sync.RWMutex
	ask         Ask           // of a running server, for the logs that [OpenRunning] opens; else nil
	shown       signal        // that queries show more of a log
	filled      chan struct{} // a block file is full

	history  *history     // nil where nothing is listened on
	appended atomic.Int64 // when the last group began, in nanoseconds since the Unix epoch

	failed     chan error // the first reason of a log to refuse
	background sync.WaitGroup
	stop       context.CancelFunc
	closing    sync.Once
	closed     error
}

// Open checks the logs, starts the server on them, or on new ones, and holds that it found what was checked. The error of a
// damaged store names the damage; nothing is changed then. What a crash left unfinished is finished.
func Open(ctx context.Context, o Options) (*Store, error) {
	o = o.withDefaults()
	if err := o.CheckTap(ctx); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	s := &Store{o: o, failed: make(chan error, 1), filled: make(chan struct{}, 1)}
	for i, st := range streams {
		s.logs[i] = &Log{stream: st, store: s, blocks: natsblock.FilesOf(streamDir(o.Dir, st.name))}
	}
	if err := s.logs[0].openArchives(o.ArchiveDir, o.SnapshotDir); err != nil {
		return nil, err
	}
	for _, l := range s.logs {
		var err error
		if l.manifest, err = readManifest(o.Dir, l.name); err != nil {
			return nil, err
		}
	}
	if err := s.recoverFiles(ctx); err != nil {
		return nil, err
	}
	if err := o.removeLayoutStream(); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	var err error
	if s.node, err = startNode(ctx, o); err != nil {
		return nil, err
	}
	if err := s.open(ctx); err != nil {
		s.history.close()
		s.taps.close()
		s.node.close()
		return nil, err
	}
	return s, nil
}

// recoverFiles recovers the logs beside one another. If several are damaged, the first in order is named.
func (s *Store) recoverFiles(ctx context.Context) error {
	var all sync.WaitGroup
	var errs [len(streams)]error
	for i, l := range s.logs {
		all.Go(func() { errs[i] = l.prepare(ctx) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return s.recordManifests()
}

func (s *Store) open(ctx context.Context) error {
	if err := s.testLayout(ctx); err != nil {
		return err
	}
	for _, l := range s.logs {
		if err := l.open(ctx); err != nil {
			return err
		}
	}
	if s.o.TapPort >= 0 {
		if err := s.openTaps(ctx); err != nil {
			return err
		}
	}
	ctx, s.stop = context.WithCancel(context.Background())
	s.background.Go(func() { s.verifyRest(ctx) })
	s.background.Go(func() { s.recordSegments(ctx) })
	return nil
}

// Events is the stream of changes to profiles, devices, services and subscriptions, kept for ever.
func (s *Store) Events() *Log { return s.logs[0] }

// Notifications is the stream of notifications and their transmissions.
func (s *Store) Notifications() *Log { return s.logs[1] }

// Readings is the stream of posted values.
func (s *Store) Readings() *Log { return s.logs[2] }

// TapURL is where taps connect, without a login, to see what happens live; empty before [Store.ListenForTaps], and without a listener.
func (s *Store) TapURL() string { return s.taps.url("") }

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
	if !s.restartLock.TryRLock() {
		return errRestarting
	}
	defer s.restartLock.RUnlock()
	return s.node.health()
}

// Failed yields, once, why a log refuses from now on: damage that was found, or writes that keep failing. Only a new
// start, or the restore of a backup, is a cure.
func (s *Store) Failed() <-chan error { return s.failed }

var (
	errClosed     = errors.New("the log is closed")
	errRestarting = errors.New("the log is being opened again after a failed write")
)

// Close stops the server with everything on disk, and leaves the record of a clean stop. Appenders are closed before.
func (s *Store) Close() error {
	s.closing.Do(func() { s.closed = s.close() })
	return s.closed
}

func (s *Store) close() error {
	s.stop()
	s.history.close()
	s.taps.close()
	s.background.Wait()
	s.restartLock.Lock()
	defer s.restartLock.Unlock()
	whole := true
	var errs []error
	for _, l := range s.logs {
		if err := l.blocks.SyncTail(); err != nil {
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
		return errors.Join(errs...) // without the record, the next start looks at everything
	}
	for _, l := range s.logs {
		errs = append(errs, l.recordEnd())
	}
	return errors.Join(errs...)
}

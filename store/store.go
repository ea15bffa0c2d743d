// Package store is the log: a NATS server with JetStream inside the process, three streams on it, and one way to append.
//
// [Open] starts the server, opens the streams and refuses a damaged one by name. An [Appender] takes commands, decides
// each in turn, appends the events in groups with one fsync for the group, has them applied to a [Projection], and only
// then answers. [Log.Read] and [Appender.Follow] give the events back, in order, with the chain of hashes verified.
//
// NATS clients of others never reach this server: package bus has a server of its own with copies. DESIGN.md says why things are as they are, and gives the bytes of the chain.
package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"ledge/store/osfile"
)

// Store is the open log: the server and its three streams.
type Store struct {
	o        Options
	id       string // of the data folder
	node     *node
	logs     [3]*Log // in the order of streams
	observer atomic.Pointer[Observer]

	// restartLock is held for reading during an append, and for writing during a restart of JetStream, which serves all streams.
	restartLock sync.RWMutex
	ask         Ask                       // of a running server, for the logs that [OpenRunning] opens; else nil
	shown       signal                    // that queries show more of a log
	filled      chan struct{}             // a block file is full
	appended    atomic.Pointer[time.Time] // when the last group began

	failed     chan error // the first reason of a log to refuse
	background sync.WaitGroup
	stop       context.CancelFunc
	closing    sync.Once
	closed     error
}

// Open checks the logs, starts the server on them, or on new ones, and checks that it found the same. The error of a
// damaged store names the damage; nothing is changed then. What a crash left unfinished is finished.
func Open(ctx context.Context, o Options) (*Store, error) {
	o = o.withDefaults()
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	s := &Store{o: o, failed: make(chan error, 1), filled: make(chan struct{}, 1)}
	for i, st := range streams {
		s.logs[i] = newLog(s, st)
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
	s.logs[0].manifest.fromArchives(&s.logs[0].logReader)
	if err := nameNode(s); err != nil {
		return nil, err
	}
	if err := s.recoverLogs(ctx); err != nil {
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
		s.node.close()
		return nil, err
	}
	return s, nil
}

// nameNode decides which id the data folder has: that of its files, or a new one.
func nameNode(s *Store) (err error) {
	var manifests []*manifest
	for _, l := range s.logs {
		manifests = append(manifests, l.manifest)
	}
	s.id, err = oneNode(manifests, s.o.Nodes)
	s.id = cmp.Or(s.id, newNode())
	return err
}

// Node returns the id of the data folder, which its manifests have.
func (s *Store) Node() string { return s.id }

// recoverLogs recovers the logs beside one another. If several are damaged, the first in order is named.
func (s *Store) recoverLogs(ctx context.Context) error {
	var all sync.WaitGroup
	var errs [len(streams)]error
	for i, l := range s.logs {
		all.Go(func() { errs[i] = prepare(ctx, l) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return recordManifests(s)
}

func (s *Store) open(ctx context.Context) error {
	if err := s.testLayout(ctx); err != nil {
		return err
	}
	for _, l := range s.logs {
		if err := l.checkServer(ctx); err != nil {
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

// recordManifests puts on record where each log begins, and its full block files, as far as that is not on it yet.
func recordManifests(s *Store) error {
	all := true
	for _, l := range s.logs {
		fresh := l.manifest.missing
		err := l.recordFull(func(c *contents) {
			c.Node = s.id
			if c.First.First == 0 {
				c.First = logStart{First: l.first, Marked: l.last == 0}
			}
		})
		if osfile.IsFull(err) { // a later start does it
			s.o.Logger.Warn("the disk is full: where the log begins is not put on record; free some space", "stream", l.name, "error", err)
			all = false
			continue
		}
		if err != nil {
			return fmt.Errorf("data folder: %w", err)
		}
		if fresh && l.last > 0 {
			s.o.Logger.Warn("the log had no manifest, so all of it was read: an earlier version or a backup has written it, or the file was removed", "stream", l.name, "path", l.manifest.path)
		}
	}
	if !all {
		return nil
	}
	return refuseEarlierVersions(s.o.Dir)
}

// Observer is told what appends do, for metrics. It is called by one goroutine for each stream, and must be quick.
type Observer interface {
	// Appended is told of each group that is durable: of how many events, of how many bytes, and how long it took from
	// the first decision to the fold.
	Appended(stream string, events, bytes int, took time.Duration)
	// Synced is told of each fsync of a group, also of one that failed.
	Synced(stream string, took time.Duration)
}

// Observe has an observer told from now on.
func (s *Store) Observe(o Observer) { s.observer.Store(&o) }

// FreeBytes returns the free bytes on the disk of the store, as appends see them.
func (s *Store) FreeBytes() (uint64, error) { return s.o.FreeBytes(s.o.Dir) }

// TotalBytes returns the size of the disk of the store; 0 if the system does not tell.
func (s *Store) TotalBytes() (uint64, error) { return osfile.TotalBytes(s.o.Dir) }

// room returns the free bytes on the disk of the store. If the system does not tell, the write itself will.
func (s *Store) room() int64 {
	free, err := s.FreeBytes()
	if err != nil {
		s.o.Logger.Warn("free disk space unknown", "dir", s.o.Dir, "error", err)
		return math.MaxInt64
	}
	return int64(min(free, math.MaxInt64))
}

package main

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"sync"

	"ledge/domain"
	"ledge/projections"
	"ledge/store"
)

var silent = slog.New(slog.NewTextHandler(io.Discard, nil))

// openStore opens the log of a data folder.
func openStore(ctx context.Context, dir string) (*store.Store, error) {
	return store.Open(ctx, store.Options{Dir: filepath.Join(dir, "nats"), Logger: silent})
}

// openState opens a projection of a data folder, under the name that Ledge gives it.
func openState(dir string, held projections.Tables) (*projections.DB, error) {
	file := map[projections.Tables]string{projections.Events: "state.db", projections.Notifications: "notifications.db", projections.Readings: "readings.db"}[held]
	return projections.Open(projections.Options{Path: filepath.Join(dir, file), Tables: held, Logger: silent})
}

// eventLog is an open event stream with one appender.
type eventLog struct {
	store    *store.Store
	appender *store.Appender
	next     int      // number of the next device
	labels   []string // that its devices have beside their own
}

func openLog(ctx context.Context, dir string, p store.Projection) (*eventLog, error) {
	s, err := openStore(ctx, dir)
	if err != nil {
		return nil, err
	}
	a, err := store.NewAppender(ctx, s.Events(), p, store.AppenderOptions{})
	if err != nil {
		s.Close()
		return nil, err
	}
	l := &eventLog{store: s, appender: a}
	if err := l.submit(ctx, base()...); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *eventLog) close() {
	l.appender.Close()
	l.store.Close()
}

// submit holds that each request was recorded.
func (l *eventLog) submit(ctx context.Context, requests ...domain.Request) error {
	outcomes, err := l.appender.Submit(ctx, requests...)
	for _, o := range outcomes {
		if err == nil {
			err = o.Err
		}
	}
	return err
}

// devices returns commands that add devices which are not there yet.
func (l *eventLog) devices(n int) []domain.Request {
	l.next += n
	return addRequests(l.next-n, n, l.labels...)
}

// checkpoint is a projection that keeps only how far it is, and what devices refer to.
type checkpoint struct {
	mu    sync.Mutex
	state domain.State
	seq   uint64
	chain [32]byte
}

func newCheckpoint() *checkpoint { return &checkpoint{state: domain.NewMapState()} }

func (c *checkpoint) State() (domain.State, func()) { return c.state, func() {} }

func (c *checkpoint) Apply(group []domain.Recorded) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range group {
		switch r.Event.(type) {
		case domain.DeviceAdded, domain.DataEventAdded: // nothing refers to them
		default:
			r.Event.Evolve(c.state)
		}
	}
	c.seq, c.chain = group[len(group)-1].Seq, group[len(group)-1].Chain
	return nil
}

func (c *checkpoint) Checkpoint() (uint64, [32]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seq, c.chain
}

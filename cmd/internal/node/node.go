// Package node opens a data folder: the log, and the state that is folded from it. Whatever works on an open folder, the server or a
// command, has a [Node]. Errors of the log and of the state have their exit codes here.
package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/domain"
	"ledge/domain/history"
	"ledge/projections"
	"ledge/store"
)

// Node is the log of a data folder with the state that is folded from it.
type Node struct {
	Store                            *store.Store
	Changes, Notifications, Readings Part
	Entities                         *history.Entities // of the log of changes, as of any event
	Logger                           *slog.Logger
	Now                              func() time.Time           // the clock of what is done with it
	Failed                           chan error                 // holds why the state cannot be used any more
	why                              atomic.Pointer[exit.Error] // the same
	closers                          []func() error
	Room                             *datadir.Room // that is left for its files
}

// Part is one stream: its log, the state that is folded from it, and the appender that records on it.
type Part struct {
	node     *Node
	stream   string
	File     string // of the state, in the data folder
	Tables   projections.Tables
	Log      *store.Log
	State    *projections.DB
	Appender *store.Appender
}

// Tables are the tables of the states, in the order of store.Streams and datadir.StateFiles.
var Tables = [3]projections.Tables{projections.Events, projections.Notifications, projections.Readings}

// Parts returns the parts: changes, notifications, readings.
func (n *Node) Parts() []*Part { return []*Part{&n.Changes, &n.Notifications, &n.Readings} }

// View returns one consistent view of the state.
func (p *Part) View() (domain.View, func()) {
	v, done := p.State.View()
	return domain.View{State: v.State, Lists: v}, done
}

// Recorded returns the last event that the state shows.
func (p *Part) Recorded() uint64 {
	seq, _ := p.State.Checkpoint()
	return seq
}

// mostChangeBytes is the most that the changes of one request may write to the log.
const mostChangeBytes = 64 << 20

// appenderOptions are the limits of an appender, and where it tells how far a fold has come.
func appenderOptions(p *Part, options Options) store.AppenderOptions {
	o := store.AppenderOptions{Messages: options.Messages, CatchingUp: func(done, total uint64) { options.Folding(p.File, int64(done), int64(total)) }}
	if p.Tables == projections.Events {
		o.SubmitBytes = mostChangeBytes
	}
	return o
}

// Options are what the log and its projections need.
type Options struct {
	Paths                datadir.Paths
	ReserveBytes         int64                                // free disk space below which changes are refused
	ReadingsReserveBytes int64                                // and below which readings are refused
	Messages             bool                                 // whether followers of the logs need messages, see store.AppenderOptions
	Folding              func(file string, done, total int64) // is told how many events of a fold are done; nil: the log and systemd are told
	Now                  func() time.Time                     // the clock; nil: the clock of the machine
	MaxBytes             int64                                // that the data folder may take; 0 for no limit
	Logger               *slog.Logger
}

// Open opens the log and brings its projections up to it. The caller has the lock of the data folder.
func Open(ctx context.Context, o Options) (*Node, error) {
	if o.Folding == nil {
		o.Folding = NewFoldLog(o.Logger).Folding
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	n := &Node{Logger: o.Logger, Now: o.Now, Failed: make(chan error, 1), Room: datadir.NewRoom(o.Paths.Data, uint64(o.MaxBytes))}
	if err := n.open(ctx, o); err != nil {
		_ = n.Close()
		return nil, n.stateCause(err)
	}
	return n, nil
}

func (n *Node) open(ctx context.Context, options Options) (err error) {
	o := StoreOptions(options)
	o.FreeBytes = n.freeBytes
	for i, p := range n.Parts() {
		*p = Part{node: n, stream: store.Streams()[i], File: datadir.StateFiles[i], Tables: Tables[i]}
	}
	if err = n.openStates(options.Paths.Data, &o); err != nil {
		return err
	}
	if n.Store, err = store.Open(ctx, o); err != nil {
		return WithCode(err)
	}
	n.onClose(n.Store.Close)
	n.Changes.Log, n.Notifications.Log, n.Readings.Log = n.Store.Events(), n.Store.Notifications(), n.Store.Readings()
	for _, p := range n.Parts() {
		if err = n.refill(ctx, options.Paths, p); err != nil {
			return WithCode(err)
		}
		if p.Appender, err = store.NewAppender(ctx, p.Log, n.decideOn(p), appenderOptions(p, options)); err != nil {
			return WithCode(err)
		}
		n.onClose(p.Appender.Close)
	}
	if err := n.checkFollows(); err != nil {
		return WithCode(err)
	}
	for _, p := range n.Parts() {
		if err := p.State.SetNode(n.Store.Node()); err != nil {
			return err
		}
	}
	n.Entities = &history.Entities{State: n.Changes.State.State, Try: n.Try, Last: n.Changes.Recorded, History: n.history}
	return nil
}

// openStates opens the projections before the log, because they are witnesses of how far the log was durable, and of where it began.
func (n *Node) openStates(dir string, o *store.Options) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return exit.With(exit.Folder, fmt.Errorf("setting data-dir: %w", err))
	}
	o.Checkpoints, o.Nodes = map[string]store.Checkpoint{}, map[string]string{}
	for i, p := range n.Parts() {
		db, err := projections.Open(n.stateOptions(filepath.Join(dir, p.File), p.Tables))
		if err != nil {
			return exit.With(exit.Folder, err)
		}
		n.onClose(db.Close)
		p.State = db
		seen := store.Checkpoint{}
		if seen.Seq, seen.Chain = db.Checkpoint(); i > 0 && seen.Seq > 0 {
			v, done := db.View()
			seen.First, err = v.Oldest()
			done()
		}
		if err == nil {
			o.Nodes[p.File], err = db.Node()
		}
		if err != nil {
			return err
		}
		o.Checkpoints[p.stream] = seen
	}
	o.Follows, err = n.follows()
	return err
}

func (n *Node) stateOptions(path string, tables projections.Tables) projections.Options {
	return projections.Options{Path: path, Tables: tables, Logger: n.Logger, Failed: n.stateFailed}
}

// StoreOptions returns the options of the store. They have no limits of age and bytes, because package retention removes what is too old or
// too much.
func StoreOptions(o Options) store.Options {
	return store.Options{
		Dir: o.Paths.Log(), ReserveBytes: o.ReserveBytes, ReadingsReserveBytes: o.ReadingsReserveBytes, Logger: o.Logger,
		ArchiveDir: o.Paths.Archives(), SnapshotDir: o.Paths.Snapshots(),
	}
}

// freeBytes returns how many bytes the log may still take. It is 0 while the disk has no room for the state.
func (n *Node) freeBytes(dir string) (uint64, error) {
	stalled := func(p *Part) bool { return p.State != nil && p.State.Stalled() != nil }
	if slices.ContainsFunc(n.Parts(), stalled) {
		return 0, nil
	}
	return n.Room.Free(dir)
}

func (n *Node) onClose(f func() error) { n.closers = append(n.closers, f) }

// Close closes what Open has opened, the last first. It goes on if one of them fails.
func (n *Node) Close() error {
	var errs []error
	for i := len(n.closers) - 1; i >= 0; i-- {
		if err := n.closers[i](); err != nil {
			n.Logger.Error("close", "error", err)
			errs = append(errs, err)
		}
	}
	n.closers = nil
	return errors.Join(errs...)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ledge/bridge"
	"ledge/bridge/asof"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/domain"
	"ledge/projections"
	"ledge/store"
	"ledge/store/osfile"
	"ledge/store/tap"
)

// data is the log with what is folded from it.
type data struct {
	store                           *store.Store
	state, notes, values            *projections.DB
	events, notifications, readings *store.Appender
	logger                          *slog.Logger
	now                             func() time.Time           // the clock of what is done with it
	forgotten                       chan struct{}              // holds one token when retention has removed readings
	failed                          chan error                 // holds why the state cannot be used any more
	why                             atomic.Pointer[exit.Error] // the same
	entities                        *asof.Entities
	closers                         []func() error
}

// projection is one stream's log and what is folded from it.
type projection struct {
	file   string
	tables projections.Tables
	log    *store.Log
	db     *projections.DB
}

func (d *data) projections() []projection {
	return []projection{
		{datadir.StateFiles[0], projections.Events, d.store.Events(), d.state},
		{datadir.StateFiles[1], projections.Notifications, d.store.Notifications(), d.notes},
		{datadir.StateFiles[2], projections.Readings, d.store.Readings(), d.values},
	}
}

// mostChangeBytes is the most that the changes of one request may write to the log.
const mostChangeBytes = 64 << 20

// appenderOptions are what an appender refuses, and where it tells how far a fold has come.
func (d *data) appenderOptions(c *Config, p projection) store.AppenderOptions {
	folding := c.folding
	if folding == nil {
		folding = newFoldLog(d.logger).folding
	}
	o := store.AppenderOptions{CatchingUp: func(done, total uint64) { folding(p.file, int64(done), int64(total)) }}
	if p.tables == projections.Events {
		o.SubmitBytes = mostChangeBytes
	}
	return o
}

// openData opens the log and brings its projections up to it.
func openData(ctx context.Context, c *Config, tapPort int, logger *slog.Logger) (*data, error) {
	d := &data{logger: logger, now: time.Now, forgotten: make(chan struct{}, 1), failed: make(chan error, 1)}
	if err := d.open(ctx, c, tapPort); err != nil {
		_ = d.close()
		return nil, d.cause(err)
	}
	return d, nil
}

func (d *data) open(ctx context.Context, c *Config, tapPort int) (err error) {
	o := storeOptions(c, tapPort, d.logger)
	o.FreeBytes = d.freeBytes
	if err := whenFree(ctx, d.logger, c.address("tap-host", c.TapHost), tapPort, func() error { return o.Tap.Check(ctx) }); err != nil {
		return storeError(err)
	}
	if err = d.openStates(c, &o); err != nil {
		return err
	}
	if d.store, err = store.Open(ctx, o); err != nil {
		return storeError(err)
	}
	d.onClose(d.store.Close)
	appenders := []**store.Appender{&d.events, &d.notifications, &d.readings}
	for i, p := range d.projections() {
		if p.db, err = d.refill(ctx, c, p); err != nil {
			return storeError(err)
		}
		if *appenders[i], err = store.NewAppender(ctx, p.log, d.decideOn(p), d.appenderOptions(c, p)); err != nil {
			return storeError(err)
		}
		d.onClose((*appenders[i]).Close)
	}
	if err := d.checkFollows(); err != nil {
		return storeError(err)
	}
	for _, p := range d.projections() {
		if err := p.db.SetNode(d.store.Node()); err != nil {
			return err
		}
	}
	if err := d.store.Tap().Listen(ctx); err != nil {
		return storeError(err)
	}
	d.entities = &asof.Entities{State: d.state.State, Try: d.whole, Last: d.recorded, History: d.history}
	d.forgetInBackground(ctx)
	return nil
}

// decideOn is the state that the requests of a stream are decided on.
func (d *data) decideOn(p projection) store.Projection {
	if p.db == d.state {
		return p.db
	}
	return withIdentities{p.db, d.state}
}

// withIdentities is the state of another stream than the log of changes. Its users and tokens are those of the log of changes at the moment
// when a decision asks: a request that has lost its right changes nothing on any stream.
type withIdentities struct {
	*projections.DB
	changes *projections.DB
}

// State implements store.Projection.
func (p withIdentities) State() (domain.State, func()) {
	s, release := p.DB.State()
	s.Users = asked[domain.User](func(name string) (domain.User, bool) {
		v, done := p.changes.View()
		defer done()
		return v.State.Users.Get(name)
	})
	s.Tokens = asked[domain.Token](func(name string) (domain.Token, bool) {
		v, done := p.changes.View()
		defer done()
		return v.State.Tokens.Get(name)
	})
	return s, release
}

// asked is a table that is only read.
type asked[S any] func(name string) (S, bool)

func (t asked[S]) Get(name string) (S, bool) { return t(name) }

func (asked[S]) Put(string, S) { panic("only the log of changes changes users and tokens") }

func (asked[S]) Delete(string) { panic("only the log of changes changes users and tokens") }

// openStates opens the projections. They come before the log: they are witnesses of how far it was durable, and of where it began.
func (d *data) openStates(c *Config, o *store.Options) error {
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return exit.With(exit.Folder, fmt.Errorf("setting data-dir: %w", err))
	}
	o.Checkpoints, o.Nodes = map[string]store.Checkpoint{}, map[string]string{}
	for i, to := range []**projections.DB{&d.state, &d.notes, &d.values} {
		db, err := projections.Open(d.stateOptions(filepath.Join(c.DataDir, datadir.StateFiles[i]), tables[i]))
		if err != nil {
			return exit.With(exit.Folder, err)
		}
		d.onClose(db.Close)
		*to = db
		seen := store.Checkpoint{}
		if seen.Seq, seen.Chain = db.Checkpoint(); i > 0 && seen.Seq > 0 {
			v, done := db.View()
			seen.First, err = v.Oldest()
			done()
		}
		if err == nil {
			o.Nodes[datadir.StateFiles[i]], err = db.Node()
		}
		if err != nil {
			return err
		}
		o.Checkpoints[store.Streams()[i]] = seen
	}
	return d.whole(func() error { o.Follows = d.follows(); return nil })
}

// follows returns the last change that notifications and callbacks follow.
func (d *data) follows() (seq uint64) {
	notes, done := d.notes.State()
	defer done()
	for _, name := range []string{domain.CursorDeviceChanges, domain.CursorCallbacks} {
		at, _ := notes.Cursors.Get(name)
		seq = max(seq, at)
	}
	return seq
}

// checkFollows holds that the log of changes has what the notifications follow: else notifications and callbacks would wait until it has.
func (d *data) checkFollows() error {
	last, _ := d.store.Events().Last()
	return d.whole(func() error {
		if at := d.follows(); at > last {
			return notFollowed(last, at)
		}
		return nil
	})
}

// notFollowed is the damage of a log of changes that ends before an event that the notifications follow.
func notFollowed(last, at uint64) error {
	return &store.Damage{Stream: store.EventsStream, Seq: last + 1, What: fmt.Sprintf(
		"the log ends at %d, and notifications or callbacks follow event %d: it lost events, or is an older copy than %s", last, at, store.NotificationsStream)}
}

func (d *data) stateOptions(path string, tables projections.Tables) projections.Options {
	return projections.Options{Path: path, Tables: tables, Logger: d.logger, Failed: d.stateFailed}
}

// forgetEvery is how often what retention has removed from the log is taken out of the state.
const forgetEvery = 10 * time.Second

// forgetInBackground does so at once and again and again until close.
func (d *data) forgetInBackground(ctx context.Context) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(forgetEvery)
		defer tick.Stop()
		for ctx.Err() == nil {
			for _, p := range d.projections()[1:] {
				d.forget(ctx, p)
			}
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	})
	d.onClose(func() error { stop(); running.Wait(); return nil })
}

// forget takes out of the state what is not on the log any more.
func (d *data) forget(ctx context.Context, p projection) {
	started := time.Now()
	n, err := p.db.Forget(ctx, p.log.First())
	switch {
	case err != nil && ctx.Err() == nil:
		d.logger.Warn("what retention has removed from the log is still in the state", "file", p.file, "error", err)
	case n > 0:
		if p.db == d.values {
			wake(d.forgotten)
		}
		d.logger.Debug("removed from the state what retention has removed from the log", "file", p.file, "rows", n, "took", time.Since(started))
	}
}

// storeOptions has no limits of age and bytes: what is removed, and when, is decided here, see [bound].
func storeOptions(c *Config, tapPort int, logger *slog.Logger) store.Options {
	return store.Options{
		Dir: c.logDir(), Tap: tapOptions(c, tapPort),
		ReserveBytes: int64(c.DiskReserve), ReadingsReserveBytes: int64(c.readingsReserve()), Logger: logger,
		ArchiveDir: c.archiveDir(), SnapshotDir: c.snapshotDir(),
	}
}

// tapOptions returns nil for port -1, which is no taps.
func tapOptions(c *Config, port int) *tap.Options {
	if port < 0 {
		return nil
	}
	return &tap.Options{
		Host: c.address("tap-host", c.TapHost), Port: port, Descriptors: c.tapFiles,
		TLS: c.tap.tls, Login: c.tap.login, Still: c.tap.still,
	}
}

// freeBytes is what the log may still take: nothing while the disk has no room for what was made of it.
func (d *data) freeBytes(dir string) (uint64, error) {
	stalled := func(db *projections.DB) bool { return db != nil && db.Stalled() != nil }
	if slices.ContainsFunc([]*projections.DB{d.state, d.notes, d.values}, stalled) {
		return 0, nil
	}
	return osfile.FreeBytes(dir)
}

func (d *data) onClose(f func() error) { d.closers = append(d.closers, f) }

// close closes all that open opened, the last first, whatever fails.
func (d *data) close() error {
	var errs []error
	for i := len(d.closers) - 1; i >= 0; i-- {
		if err := d.closers[i](); err != nil {
			d.logger.Error("close", "error", err)
			errs = append(errs, err)
		}
	}
	d.closers = nil
	return errors.Join(errs...)
}

// view is one consistent look at the state of profiles, services, devices and subscriptions.
func (d *data) view() (domain.View, func()) {
	v, done := d.state.View()
	return domain.View{State: v.State, Lists: v}, done
}

// noteView is one consistent look at the notifications.
func (d *data) noteView() (domain.View, func()) {
	v, done := d.notes.View()
	return domain.View{State: v.State, Lists: v}, done
}

// valueView is one consistent look at the events of core-data and their readings.
func (d *data) valueView() (domain.View, func()) {
	v, done := d.values.View()
	return domain.View{State: v.State, Lists: v}, done
}

// history reads a part of the event stream. Of what is archived, a part from event 1 on tells only what was there in the end.
func (d *data) history(ctx context.Context, from, to uint64, f func(domain.Recorded) error) error {
	if from == 1 && d.store.Events().First() > 1 {
		return pastOf(ctx, d.store, to, f)
	}
	return each(d.store.Events().Read(ctx, from, to), f)
}

func each(events iter.Seq2[domain.Recorded, error], f func(domain.Recorded) error) error {
	for r, err := range events {
		if err == nil {
			err = f(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// deviceServices lists the names of the device services.
func (d *data) deviceServices() (names []string, err error) {
	v, done := d.state.View()
	defer done()
	list, _, err := v.Services(domain.Page{Limit: -1})
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names, err
}

// recorded is the last event that the state shows.
func (d *data) recorded() uint64 {
	seq, _ := d.state.Checkpoint()
	return seq
}

// noted is the last sequence of the notification stream that requests were answered with.
func (d *data) noted() uint64 {
	seq, _ := d.notes.Checkpoint()
	return seq
}

// pending lists the notifications that were in flight at a crash.
func (d *data) pending() (pending []domain.Notification, err error) {
	err = d.whole(func() (err error) {
		v, done := d.notes.View()
		defer done()
		pending, err = bridge.PendingIn(v.Notifications)
		return err
	})
	return pending, err
}

// forgotBeginning reports whether the beginning of a stream is not there any more from which bridge and callbacks would
// otherwise begin: of the notifications, which say how far they were, or of the changes.
func (d *data) forgotBeginning() bool {
	return d.store.Notifications().First() > 1 || d.store.Events().First() > 1
}

// bridgeStart is where the bridge goes on.
func (d *data) bridgeStart(ctx context.Context) (at bridge.Start, err error) {
	err = d.whole(func() (err error) { at, err = d.lookForBridge(); return err })
	return at, err
}

func (d *data) lookForBridge() (bridge.Start, error) {
	v, done := d.state.View()
	defer done()
	notes, notesDone := d.notes.State()
	defer notesDone()
	k := bridge.Known{Lists: v, Events: d.recorded(), Cursors: notes.Cursors, Forgotten: d.forgotBeginning()}
	k.Notifications, _ = d.notes.Checkpoint()
	return bridge.StartAt(k)
}

// storeError gives an error of the store its exit code: a port, a folder, damage, or none of its own.
func storeError(err error) error {
	switch {
	case errors.Is(err, tap.ErrListen):
		return exit.With(exit.Port, err)
	case store.IsDamage(err), isGap(err):
		return exit.With(exit.Damaged, err)
	case isBroken(err):
		return exit.With(exit.State, err)
	case datadir.IsTrouble(err):
		return exit.With(exit.Folder, fmt.Errorf("setting data-dir: %w", err))
	default:
		return err
	}
}

// isGap reports whether what is to be folded is in an archive that is missing or damaged.
func isGap(err error) bool {
	_, ok := errors.AsType[*store.Gap](err)
	return ok
}

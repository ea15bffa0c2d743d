package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"ledge/bridge"
	"ledge/domain"
	"ledge/projections"
	"ledge/store"
)

// stateFiles are the files of the projections, one for each stream: events, notifications, readings.
var stateFiles = []string{"state.db", "notifications.db", "readings.db"}

// data is the log with what is folded from it.
type data struct {
	store                           *store.Store
	state, notes, values            *projections.DB
	events, notifications, readings *store.Appender
	logger                          *slog.Logger
	now                             func() time.Time // the clock of what is done with it
	forgotten                       chan struct{}    // holds one token when retention has removed readings
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
		{stateFiles[0], projections.Events, d.store.Events(), d.state},
		{stateFiles[1], projections.Notifications, d.store.Notifications(), d.notes},
		{stateFiles[2], projections.Readings, d.store.Readings(), d.values},
	}
}

// limits are what an appender refuses. Only events hold more than was asked for: the whole entity after each change of it.
func (p projection) limits(c *Config) (o store.AppenderOptions) {
	if p.tables == projections.Events {
		o.SubmitBytes = int(c.LimitChangeBytes)
	}
	return o
}

// openData opens the log and brings its projections up to it.
func openData(ctx context.Context, c *Config, tapPort int, logger *slog.Logger) (*data, error) {
	d := &data{logger: logger, now: now, forgotten: make(chan struct{}, 1)}
	if err := d.open(ctx, c, tapPort); err != nil {
		_ = d.close()
		return nil, err
	}
	return d, nil
}

func (d *data) open(ctx context.Context, c *Config, tapPort int) (err error) {
	o := storeOptions(c, tapPort, d.logger)
	o.FreeBytes = d.freeBytes
	if d.store, err = store.Open(ctx, o); err != nil {
		return storeError(err)
	}
	d.onClose(d.store.Close)
	dbs := []**projections.DB{&d.state, &d.notes, &d.values}
	appenders := []**store.Appender{&d.events, &d.notifications, &d.readings}
	for i, p := range d.projections() {
		if *dbs[i], err = projections.Open(projections.Options{Path: filepath.Join(c.DataDir, p.file), Tables: p.tables, Logger: d.logger}); err != nil {
			return exitError{exitFolder, err}
		}
		d.onClose((*dbs[i]).Close)
		if *appenders[i], err = store.NewAppender(ctx, p.log, *dbs[i], p.limits(c)); err != nil {
			return storeError(err)
		}
		d.onClose((*appenders[i]).Close)
		(*dbs[i]).RequestsFirst()
	}
	d.forgetInBackground(ctx)
	return nil
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

func storeOptions(c *Config, tapPort int, logger *slog.Logger) store.Options {
	return store.Options{
		Dir: filepath.Join(c.DataDir, "nats"), SyncAlways: c.Sync == "always", TapHost: c.TapHost, TapPort: tapPort,
		ReserveBytes: int64(c.DiskReserve), ReadingsReserveBytes: int64(c.DiskReadingsReserve),
		NotificationsMaxBytes: int64(c.NotificationsMaxBytes),
		ReadingsMaxAge:        c.ReadingsMaxAge, ReadingsMaxBytes: int64(c.ReadingsMaxBytes), Logger: logger,
	}
}

// freeBytes is what the log may still take: nothing while the disk has no room for what was made of it.
func (d *data) freeBytes(dir string) (uint64, error) {
	stalled := func(db *projections.DB) bool { return db != nil && db.Stalled() != nil }
	if slices.ContainsFunc([]*projections.DB{d.state, d.notes, d.values}, stalled) {
		return 0, nil
	}
	return store.FreeBytes(dir)
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

// history reads a part of the event stream for the bridge.
func (d *data) history(ctx context.Context, from, to uint64, f func(domain.Recorded) error) error {
	for r, err := range d.store.Events().Read(ctx, from, to) {
		if err == nil {
			err = f(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// recorded is the last event that the state shows.
func (d *data) recorded() uint64 {
	seq, _ := d.state.Checkpoint()
	return seq
}

// activity moves whenever something is recorded.
func (d *data) activity() uint64 {
	var sum uint64
	for _, p := range d.projections() {
		seq, _ := p.db.Checkpoint()
		sum += seq
	}
	return sum
}

// pending lists the notifications that were in flight at a crash.
func (d *data) pending() ([]domain.Notification, error) {
	v, done := d.notes.View()
	defer done()
	return bridge.PendingIn(v.Notifications)
}

// bridgeStart is where the bridge goes on.
func (d *data) bridgeStart() (bridge.Start, error) {
	v, done := d.state.View()
	defer done()
	notes, notesDone := d.notes.State()
	defer notesDone()
	k := bridge.Known{Lists: v, Events: d.recorded(), Cursors: notes.Cursors, Forgotten: d.store.Notifications().First() > 1}
	k.Notifications, _ = d.notes.Checkpoint()
	return bridge.StartAt(k)
}

// storeError gives an error of the store its exit code: a port, a folder, damage, or none of its own.
func storeError(err error) error {
	switch {
	case errors.Is(err, store.ErrListen):
		return exitError{exitPort, err}
	case store.IsDamage(err):
		return exitError{exitDamaged, err}
	case isFolderTrouble(err):
		return exitError{exitFolder, fmt.Errorf("setting data-dir: %w", err)}
	default:
		return err
	}
}

// isFolderTrouble reports whether the file system says no for reasons that are not the log's: rights, space, an unreachable
// disk.
func isFolderTrouble(err error) bool {
	return errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EROFS)
}

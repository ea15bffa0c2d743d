package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"ledge/domain"
	"ledge/projections"
	"ledge/store"
)

// heal has the file of a projection folded anew from its log whenever it is found damaged, or cannot be written.
func (d *data) heal(p projection, db *projections.DB) {
	read := func(ctx context.Context, from uint64) iter.Seq2[domain.Recorded, error] {
		last, _ := p.log.Last()
		return func(yield func(domain.Recorded, error) bool) {
			if p.tables != projections.Events { // changes are all there, on the log or in archives
				from = max(from, p.log.First())
			}
			if from > last {
				return
			}
			for r, err := range p.log.Read(ctx, from, last) {
				if store.IsDamage(err) || isGap(err) {
					d.giveUp(err)
				}
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
	}
	if p.tables == projections.Events {
		db.BeginWith(d.beginAnew)
	}
	db.HealFrom(read, d.giveUp)
}

// beginAnew makes a file of the newest snapshot, if the log's first events are archived.
func (d *data) beginAnew(path string) error {
	first := d.store.Events().First()
	if first == 1 {
		return nil
	}
	last, _ := d.store.Events().Last()
	err := restoreSnapshot(d.store, path, first-1, last, d.logger)
	if errors.Is(err, errNoSnapshot) {
		return nil // through the archives then
	}
	return err
}

// giveUp ends the program: the state is damaged, and the log cannot be folded.
func (d *data) giveUp(err error) {
	err = exitError{exitDamaged, fmt.Errorf("the state is damaged and cannot be folded from the log: %w; restore the data folder from a backup", err)}
	select {
	case d.failed <- err:
	default: // another was first
	}
}

// health returns why the state is not fit to serve, naming the file: it is damaged, or could not be written.
func (d *data) health() error {
	for _, db := range []*projections.DB{d.state, d.notes, d.values} {
		if err := db.Health(); err != nil {
			return err
		}
	}
	return nil
}

// whole runs f, which reads the state, again and again until no damage keeps it from that; ctx bounds the wait.
func (d *data) whole(ctx context.Context, f func() error) error {
	for {
		err := tried(f)
		if err == nil || d.health() == nil && domain.CodeOf(err) != domain.Unavailable {
			return err
		}
		select {
		case err := <-d.failed:
			return err
		case <-ctx.Done():
			return err
		case <-time.After(lookAgainForHealth):
		}
	}
}

// tried runs f, which reads the state, and returns the error of a state that cannot be read for now as any other. What runs in
// the background reads the state in this way or by whole: else a damaged row ends the process.
func tried(f func() error) (err error) {
	if failed := domain.Try(func() { err = f() }); failed != nil {
		return failed
	}
	return err
}

// lookAgainForHealth is the time between two looks at a state that is being healed.
const lookAgainForHealth = 50 * time.Millisecond

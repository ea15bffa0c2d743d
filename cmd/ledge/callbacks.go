package main

import (
	"context"
	"fmt"

	"ledge/bridge/asof"
	"ledge/bridge/callback"
	"ledge/bridge/lanes"
)

// startCallbacks starts to call device services back.
func (p *Program) startCallbacks(ctx context.Context) error {
	p.callback = callback.New(callback.Options{
		Limits: callback.Limits{Limits: lanes.Limits{Concurrency: p.outgoing("callbacks", callback.DefaultConcurrency, p.files.Outgoing/4)}},
		Events: asof.Followed{Log: p.data.events, Entities: p.data.entities, Want: asof.CalledBack}, Notifications: p.data.notifications, History: p.data.entities.Read, Guard: p.guard, Self: p.instance, Now: p.Now, Logger: p.Logger,
	})
	err := p.data.whole(func() error {
		at, done := p.data.callbackStart()
		defer done()
		return p.callback.Start(at)
	})
	if err != nil {
		return fmt.Errorf("start the callbacks: %w", err)
	}
	p.onClose(p.callback.Close)
	return nil
}

// callbackStart is where the callbacks go on.
func (d *data) callbackStart() (at callback.Start, done func()) {
	state, stateDone := d.view()
	notes, notesDone := d.notes.State()
	at = callback.Start{State: state, Cursors: notes.Cursors, Forgotten: d.forgotBeginning()}
	at.Events = d.recorded()
	return at, func() { stateDone(); notesDone() }
}

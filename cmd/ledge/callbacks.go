package main

import (
	"context"
	"fmt"

	"ledge/bridge/asof"
	"ledge/bridge/callback"
	"ledge/bridge/lanes"
	"ledge/cmd/internal/node"
)

// startCallbacks starts to call device services back.
func (p *Program) startCallbacks(ctx context.Context) error {
	p.callback = callback.New(callback.Options{
		Limits: callback.Limits{Limits: lanes.Limits{Concurrency: p.outgoing("callbacks", callback.DefaultConcurrency, p.files.Outgoing/4)}},
		Events: asof.Followed{Log: p.node.Changes.Appender, Entities: p.node.Entities, Want: asof.CalledBack}, Notifications: p.node.Notifications.Appender, History: p.node.Entities.Read, Guard: p.guard, Self: p.instance, Now: p.Now, Logger: p.Logger,
	})
	err := p.node.Read(func() error {
		at, done := callbackStart(p.node)
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
func callbackStart(d *node.Node) (at callback.Start, done func()) {
	state, stateDone := d.Changes.View()
	notes, notesDone := d.Notifications.State.State()
	at = callback.Start{State: state, Cursors: notes.Cursors, Forgotten: forgotBeginning(d)}
	at.Events = d.Changes.Recorded()
	return at, func() { stateDone(); notesDone() }
}

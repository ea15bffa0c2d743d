package main

import (
	"context"
	"fmt"
	"time"

	"ledge/bridge/callback"
)

// startCallbacks starts to call device services back.
func (p *Program) startCallbacks(ctx context.Context) error {
	c := p.Config
	p.callback = callback.New(callback.Options{
		Limits: callback.Limits{
			Timeout: c.CallbackTimeout, ValidationTimeout: c.CallbackValidationTimeout, Tries: c.CallbackTries, GiveUp: c.CallbackGiveUp,
			Waiting: c.CallbackQueue, AtOnce: c.CallbackConcurrency, AnswerBytes: int64(c.CallbackAnswerBytes),
			Last: time.Second,
		},
		Events: p.data.events, Notifications: p.data.notifications, History: p.data.history, Guard: p.guard, Now: p.Now, Logger: p.Logger,
	})
	at, done := p.data.callbackStart()
	defer done()
	if err := p.callback.Start(ctx, at); err != nil {
		return fmt.Errorf("start the callbacks: %w", err)
	}
	p.onClose(p.callback.Close)
	return nil
}

// callbackStart is where the callbacks go on.
func (d *data) callbackStart() (at callback.Start, done func()) {
	state, stateDone := d.view()
	notes, notesDone := d.notes.State()
	at = callback.Start{State: state, Cursors: notes.Cursors, Forgotten: d.store.Notifications().First() > 1}
	at.Events = d.recorded()
	return at, func() { stateDone(); notesDone() }
}

package channels

import (
	"fmt"

	"ledge/bridge/asof"
	"ledge/bridge/callback"
	"ledge/bridge/lanes"
	"ledge/cmd/internal/node"
)

// startCallbacks starts to call device services back.
func (cs *Channels) startCallbacks() error {
	cs.Callbacks = callback.New(callback.Options{
		Limits: callback.Limits{Limits: lanes.Limits{Concurrency: cs.outgoing("callbacks", callback.DefaultConcurrency, cs.OutgoingDescriptors/4)}},
		Events: asof.Followed{Log: cs.Node.Changes.Appender, Entities: cs.Node.Entities, Want: asof.CalledBack}, Notifications: cs.Node.Notifications.Appender, History: cs.Node.Entities.Read, Guard: cs.Guard, Self: cs.Instance, Now: cs.Now, Logger: cs.Logger,
	})
	err := cs.Node.Read(func() error {
		at, done := callbackStart(cs.Node)
		defer done()
		return cs.Callbacks.Start(at)
	})
	if err != nil {
		return fmt.Errorf("start the callbacks: %w", err)
	}
	cs.onClose(cs.Callbacks.Close)
	return nil
}

// callbackStart returns where the callbacks continue. Call done when they have started.
func callbackStart(d *node.Node) (at callback.Start, done func()) {
	state, stateDone := d.Changes.View()
	notes, notesDone := d.Notifications.State.State()
	at = callback.Start{State: state, Cursors: notes.Cursors, Forgotten: forgotBeginning(d)}
	at.Events = d.Changes.Recorded()
	return at, func() { stateDone(); notesDone() }
}

package channels

import (
	"fmt"

	"ledge/bridge/callback"
	"ledge/bridge/lanes"
	"ledge/domain"
	"ledge/domain/history"
	"ledge/projections"
)

// readLists calls read with the state of the changes.
func (cs *Channels) readLists(read func(domain.Lists) error) error {
	return cs.Node.Changes.Read(func(v *projections.View) error { return read(v) })
}

// startCallbacks starts to call device services back.
func (cs *Channels) startCallbacks() error {
	cs.Callbacks = callback.New(callback.Options{
		Limits: callback.Limits{Limits: lanes.Limits{Concurrency: cs.outgoing("callbacks", callback.DefaultConcurrency, cs.OutgoingDescriptors/4)}},
		Lists:  cs.readLists,
		Events: history.Followed{Log: cs.Node.Changes.Appender, Entities: cs.Node.Entities, Want: history.CalledBack}, Notifications: cs.Node.Notifications.Appender, History: cs.Node.Entities.Read, Guard: cs.Guard, Self: cs.Instance, Now: cs.Now, Logger: cs.Logger,
	})
	err := readBoth(cs.Node, func(changes, notes *projections.View) error {
		return cs.Callbacks.Start(callback.Start{
			State: domain.View{State: changes.State, Lists: changes}, Cursors: notes.Cursors, Forgotten: forgotBeginning(cs.Node), Events: cs.Node.Changes.Recorded(),
		})
	})
	if err != nil {
		return fmt.Errorf("start the callbacks: %w", err)
	}
	cs.onClose(cs.Callbacks.Close)
	return nil
}

package main

import (
	"ledge/bridge/replays"
)

// newReplays wires the replays.
func (p *Program) newReplays() *replays.Replays {
	d := p.data
	return replays.New(replays.Options{
		Bridge: p.engine, Sockets: p.sockets, Past: d.store.Notifications(), Look: d.noteView, Log: d.notifications, Logger: p.Logger,
		Last: func() uint64 { seq, _ := d.notes.Checkpoint(); return seq },
	})
}

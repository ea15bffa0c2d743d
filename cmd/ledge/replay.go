package main

import (
	"ledge/bridge/replays"
)

// newReplays wires the replays.
func (p *Program) newReplays() *replays.Replays {
	d := p.node
	return replays.New(replays.Options{
		Bridge: p.engine, Sockets: p.sockets, Past: d.Notifications.Log, Look: d.Notifications.View, Log: d.Notifications.Appender, Logger: p.Logger,
		Last: func() uint64 { seq, _ := d.Notifications.State.Checkpoint(); return seq },
	})
}

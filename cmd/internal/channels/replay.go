package channels

import (
	"ledge/bridge/replays"
)

// NewReplays wires the replays.
func (cs *Channels) NewReplays() *replays.Replays {
	d := cs.Node
	return replays.New(replays.Options{
		Bridge: cs.Engine, Sockets: cs.Sockets, Past: d.Notifications.Log, Look: d.Notifications.View, Log: d.Notifications.Appender, Logger: cs.Logger,
		Last: func() uint64 { seq, _ := d.Notifications.State.Checkpoint(); return seq },
	})
}

package channels

import (
	"ledge/bridge/guard"
)

// newGuard returns the guard on where the program sends and binds.
func (cs *Channels) newGuard() *guard.Guard {
	return guard.New(guard.Options{
		Deny: cs.DenyDestinations, Allow: cs.AllowDestinations, Binds: cs.AllowBinds,
		Closed:   cs.Closed,
		Resolver: newResolver().Net(), OwnPorts: cs.OwnPorts, OwnSocket: func(port int) bool { return cs.Sockets.Sockets != nil && cs.Sockets.Bound(port) },
	})
}

package channels

import (
	"time"

	"ledge/bridge/zeromq"
	"ledge/domain"
)

// socketLinger is how long closing sockets may take to send what waits.
const socketLinger = time.Second

// socketOptions are the limits of the ZeroMQ sockets, as far as there are file descriptors for them.
func (cs *Channels) socketOptions() zeromq.Options {
	o := zeromq.Options{Vet: cs.Guard.Bind, ClientOf: domain.ClientOf, ServerKey: cs.curveKey, Logger: cs.Logger}.WithDefaults()
	if !fitSockets(&o, cs.ZeroMQDescriptors) {
		cs.Logger.Info("ZeroMQ sockets and peers are limited by the file descriptors of the process; raise their limit, such as with ulimit -n, for more",
			"sockets", o.MaxSockets, "peers", o.MaxPeers, "peersPerAddress", o.MaxPeersPerAddress, "descriptors", cs.ZeroMQDescriptors)
	}
	return o
}

// fitSockets lowers limits that need more descriptors than there are: a quarter for sockets, the rest for peers, and half of that for
// those of one address. It reports whether all fit.
func fitSockets(o *zeromq.Options, descriptors int) bool {
	if o.MaxSockets+o.MaxPeers <= descriptors {
		return true
	}
	o.MaxSockets = min(o.MaxSockets, max(1, descriptors/4))
	o.MaxPeers = max(1, min(o.MaxPeers, descriptors-o.MaxSockets))
	o.MaxPeersPerAddress = min(o.MaxPeersPerAddress, max(1, o.MaxPeers/2))
	return false
}

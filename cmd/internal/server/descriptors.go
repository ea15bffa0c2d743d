package server

import (
	"fmt"

	"ledge/handlers/connections"
)

// descriptors says how many file descriptors each part of the process may have open. Each part keeps its own limit; this
// is the only place that splits the total.
type descriptors struct {
	// Store is for the log, the .db files, backups and all else that must not fail. No client can use it up.
	Store int
	// HTTP is for the connections to all HTTP services, and for one file with a large value for each of them.
	HTTP int
	// ZeroMQ is for the listeners of ZeroMQ sockets and their subscribers.
	ZeroMQ int
	// NATS is for connections of NATS clients.
	NATS int
	// Outgoing is for connections to receivers of notifications, brokers, mail servers and device services.
	Outgoing int
}

const (
	// storeDescriptors is what a node has open for itself: 28 when it is idle, and room for segments, archives and a backup.
	storeDescriptors = 128
	// leastDescriptors is the lowest limit with which a node starts.
	leastDescriptors = 64
)

// splitDescriptors splits the most descriptors that the process may open.
func splitDescriptors(most int) (descriptors, error) {
	if most < leastDescriptors {
		return descriptors{}, fmt.Errorf("%d file descriptors are allowed, and %d is the least; raise the limit, such as with `ulimit -n 1024`", most, leastDescriptors)
	}
	d := descriptors{Store: min(storeDescriptors, most/2)}
	rest := most - d.Store
	d.HTTP, d.ZeroMQ, d.NATS = rest/2, rest/4, rest/8
	d.Outgoing = rest - d.HTTP - d.ZeroMQ - d.NATS
	return d, nil
}

// mostConnections is how many HTTP connections there may be; some 25 KB of memory each.
const mostConnections = 2048

// connections are the limits of HTTP connections. Each may have a file open beside its socket.
func (d descriptors) connections() connections.Limits {
	total := min(mostConnections, d.HTTP/2)
	return connections.Limits{Total: total, Service: total - total/4}
}

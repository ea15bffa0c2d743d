package channels

import (
	"context"

	"ledge/bridge/dns"
	"ledge/bridge/zeromq"
)

// socketNames are the names of the hosts of ZeroMQ channels.
type socketNames struct {
	*dns.Resolver
	sockets *zeromq.Sockets
}

// Unknown implements lookups.Names.
func (n socketNames) Unknown(host string, port int) bool { return n.sockets.Unknown(host, port) }

// LookUp implements lookups.Names. What is wrong is said by whoever binds.
func (n socketNames) LookUp(ctx context.Context, host string) { _, _ = n.Lookup(ctx, host) }

// before looks up the address of a host before a socket is bound, if that is needed.
func (n socketNames) before(ctx context.Context, host string, port int) {
	if n.Unknown(host, port) {
		n.LookUp(ctx, host)
	}
}

// newResolver returns a resolver with limits of their own: those that requests bring take no turns from those that are connected to.
func newResolver() *dns.Resolver { return dns.New(dns.Options{}) }

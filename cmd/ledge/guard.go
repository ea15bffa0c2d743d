package main

import (
	"net"
	"net/url"
	"strconv"

	"ledge/bridge/guard"
)

// newGuard is the guard on where this program sends and binds. Its own ports are those that it listens on now.
func (p *Program) newGuard() *guard.Guard {
	own := map[int]string{}
	for name := range p.servers.byName {
		own[portOf(p.servers.address(name))] = name
	}
	if tap, err := url.Parse(p.node.Store.Tap().URL()); err == nil && tap.Host != "" {
		own[portOf(tap.Host)] = "the tap"
	}
	c := p.Config
	return guard.New(guard.Options{
		Deny: c.DenyDestinations, Allow: c.AllowDestinations, Binds: c.AllowBinds,
		Resolver: newResolver().Net(), OwnPorts: own, OwnSocket: func(port int) bool { return p.sockets.Sockets != nil && p.sockets.Bound(port) },
	})
}

func portOf(address string) int {
	_, port, _ := net.SplitHostPort(address)
	n, _ := strconv.Atoi(port)
	return n
}

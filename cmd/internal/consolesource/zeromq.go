package consolesource

import (
	"context"
	"net"
	"net/netip"
	"strconv"

	"ledge/handlers/console"
)

// netInterfaces are the network interfaces that are up. Addresses that need a zone are left out.
func netInterfaces() (list []console.NetInterface) {
	all, err := net.Interfaces()
	if err != nil {
		return nil // the form takes any text
	}
	for _, one := range all {
		if one.Flags&net.FlagUp == 0 {
			continue
		}
		i := console.NetInterface{Name: one.Name}
		addresses, _ := one.Addrs() // without them the name is enough
		for _, a := range addresses {
			if p, err := netip.ParsePrefix(a.String()); err == nil && !p.Addr().IsLinkLocalUnicast() {
				i.Addresses = append(i.Addresses, p.Addr().String())
			}
		}
		list = append(list, i)
	}
	return list
}

func (s *Source) socketStates() (list []console.SocketState) {
	for _, one := range s.Channels.Sockets.Stats() {
		list = append(list, console.SocketState{
			Host: one.Host, Port: one.Port, Subscribers: one.Subscribers, Published: one.Published, Drops: one.Drops, Evictions: one.Evictions,
		})
	}
	return list
}

// portUse binds the port for a moment. A name is not looked up: its answer is not known.
func (s *Source) portUse(host string, port int) string {
	if s.Channels.Sockets.Bound(port) {
		return console.PortShared
	}
	for _, one := range netInterfaces() {
		if one.Name == host && len(one.Addresses) > 0 {
			host = one.Addresses[0]
		}
	}
	if host == "*" || host == "" {
		host = "0.0.0.0"
	}
	if _, err := netip.ParseAddr(host); err != nil {
		return console.PortUnknown
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return console.PortTaken
	}
	_ = l.Close()
	return console.PortFree
}

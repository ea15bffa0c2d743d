package domain

import (
	"net/netip"
	"strings"
)

// ClientOf returns the client at a network address, host:port. Limits are shared between clients. A client is an IPv4
// address or an IPv6 network of 64 bits, which is what one customer of a provider has.
func ClientOf(address string) string {
	i := strings.LastIndexByte(address, ':')
	if i < 0 || address[0] != '[' {
		return address[:max(i, 0)]
	}
	ip, err := netip.ParseAddr(strings.Trim(address[:i], "[]"))
	if err != nil {
		return address[:i]
	}
	if ip = ip.Unmap().WithZone(""); ip.Is4() {
		return ip.String()
	}
	network, _ := ip.Prefix(64) // no error: an IPv6 address has 128 bits
	return network.String()
}

// Client is who sent the command.
func (s Stamp) Client() string { return ClientOf(s.Origin) }

// Share returns how much of a shared amount a client may have that has held of it while free is left: three times what
// then stays free for others. Alone it gets three quarters. Whatever others hold, something stays free for one more client.
func Share(held, free int64) int64 {
	all := held + max(free, 0)
	return all - all/4
}

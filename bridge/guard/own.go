package guard

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// own checks that an address and a port are not what Ledge itself listens on: a message that comes back to Ledge makes the next one.
func (g *Guard) own(addr netip.Addr, port int) error {
	owner, ok := g.o.OwnPorts[port]
	if !ok && g.o.OwnSocket != nil && g.o.OwnSocket(port) {
		owner, ok = "a ZeroMQ channel", true
	}
	if !ok || !slices.ContainsFunc(meanings(addr), isThisMachine) {
		return nil
	}
	return &Refused{"port", fmt.Sprintf("%d at %s is Ledge's own, for %s; Ledge does not send to itself: choose another destination", port, addr, owner)}
}

// IsOwnURL reports whether Ledge itself listens at the host and port of an http or https URL, as far as that can be known without a name
// server.
func (g *Guard) IsOwnURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	port, err := strconv.Atoi(cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]))
	if err != nil {
		return false
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil {
		return g.own(addr, port) != nil
	}
	return g.ownName(u.Hostname(), port) != nil
}

// ownName is own for a name that means this machine without a name server (RFC 6761, 6.3).
func (g *Guard) ownName(host string, port int) error {
	if host = canonical(host); host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return g.own(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)
	}
	return nil
}

// isThisMachine reports whether a connection to an address ends on this machine. If its addresses cannot be listed, it does.
func isThisMachine(addr netip.Addr) bool {
	if addr.IsLoopback() || addr.IsUnspecified() {
		return true
	}
	all, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(all, func(a net.Addr) bool {
		p, err := netip.ParsePrefix(a.String())
		return err == nil && plain(p.Addr()) == addr
	})
}

// ShowsAnswer reports whether what was answered on a connection may be shown to clients. Of answers of this machine they see only the
// status: services answer there that nobody else can ask.
func (g *Guard) ShowsAnswer(conn net.Conn) bool {
	remote, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil || slices.ContainsFunc(meanings(remote.Addr()), netip.Addr.IsLoopback) {
		return false
	}
	local, err := netip.ParseAddrPort(conn.LocalAddr().String())
	return err != nil || plain(local.Addr()) != plain(remote.Addr()) // this machine has other addresses too
}

package guard

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// NoDestinations is what is refused unless an operator says otherwise: link-local addresses, by which clouds serve the
// credentials of their machines, and the other addresses by which some do.
const NoDestinations = "169.254.0.0/16,fe80::/10,fd00:ec2::254,fd20:ce::254,100.100.100.200,168.63.129.16,192.0.0.192,metadata.google.internal"

// Options configure a [Guard].
type Options struct {
	// Deny are the destinations, of notifications, and of callbacks and commands to device services, that are refused, whatever Allow
	// says (setting deny-destinations). Allow are the only ones that are not; none at all allows every one (setting
	// allow-destinations).
	Deny, Allow Rules
	// Binds are the only hosts and ports where sockets may be bound; none at all allows every one (setting allow-binds).
	Binds Rules
	// OwnPorts are the ports that Ledge itself listens on, by what is behind them. OwnSocket reports whether a ZeroMQ socket of Ledge is
	// bound to a port; nil where there are none. Ledge sends nothing to either on this machine, and binds nothing to the former.
	OwnPorts  map[int]string
	OwnSocket func(port int) bool
	// Closed is the reason for which every destination and every bind is refused; empty: none is refused for it.
	Closed string
	// Resolver finds the addresses of names that are connected to; nil is that of the machine.
	Resolver *net.Resolver
	// ConnectTimeout bounds the connecting of DialContext: 5 s where it is zero.
	ConnectTimeout time.Duration
}

// Guard holds what may be connected to and bound. Its methods may be called from several goroutines.
type Guard struct{ o Options }

// New returns a Guard.
func New(o Options) *Guard {
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = 5 * time.Second
	}
	return &Guard{o}
}

// Refused says why a host and port may not be used.
type Refused struct {
	// Field is which of the two is wrong, "host" or "port", as in the JSON of a channel.
	Field string
	// Message names the value, the setting that forbids it and the cure.
	Message string
}

func (r *Refused) Error() string { return r.Field + ": " + r.Message }

// Permanent says that another try meets the same refusal.
func (r *Refused) Permanent() bool { return true }

// privileged are the ports below which an ordinary user may not listen.
const privileged = 1024

// Destination checks a host and port as they are posted. A name whose addresses decide is left to DialContext. The
// error is a *Refused.
func (g *Guard) Destination(host string, port int) error {
	if err := g.Allowed(host, port); err != nil {
		return err
	}
	if addr, err := netip.ParseAddr(unbracket(host)); err == nil {
		return g.own(addr, port)
	}
	return g.ownName(host, port)
}

// Allowed is Destination by the settings alone: it lets Ledge's own listeners pass.
func (g *Guard) Allowed(host string, port int) error {
	host = unbracket(host)
	if addr, err := netip.ParseAddr(host); err == nil {
		return g.address(host, addr, port, false)
	}
	_, err := g.name(host, port)
	return err
}

// name checks a name before it is resolved; allowed says that its addresses need no rule that allows them.
func (g *Guard) name(host string, port int) (allowed bool, err error) {
	if g.o.Closed != "" {
		return false, g.closedError(host)
	}
	if text, ok := g.o.Deny.host(host, port); ok {
		return false, denied(host, text)
	}
	if len(g.o.Allow.list) == 0 {
		return true, nil
	}
	if _, ok := g.o.Allow.host(host, port); ok {
		return true, nil
	}
	if !g.o.Allow.someNetwork(port) {
		return false, notAllowed(host, port)
	}
	return false, nil
}

// address checks an address that host stands for; allowed says that a rule allows the name.
func (g *Guard) address(host string, addr netip.Addr, port int, allowed bool) error {
	if g.o.Closed != "" {
		return g.closedError(host)
	}
	if text, ok := g.o.Deny.any(meanings(addr), port); ok {
		if plain(addr).String() != host {
			host += ", which is " + addr.String()
		}
		return denied(host, text)
	}
	if allowed || len(g.o.Allow.list) == 0 {
		return nil
	}
	if _, ok := g.o.Allow.any(leadsTo(addr), port); !ok {
		return notAllowed(host, port)
	}
	return nil
}

func (g *Guard) closedError(host string) error {
	return &Refused{"host", fmt.Sprintf("%s is refused: %s", host, g.o.Closed)}
}

func denied(host, text string) error {
	return &Refused{"host", fmt.Sprintf("%s is refused as a destination by the entry %s of the setting deny-destinations; choose another host or change that setting", host, text)}
}

func notAllowed(host string, port int) error {
	return &Refused{"host", fmt.Sprintf("%s with port %d is not a destination that the setting allow-destinations has; choose another host or port, or add it there", host, port)}
}

// DialContext connects to a host and port, unless the host or the address that it has now is refused: then the error
// has a *Refused in its chain.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return nil, fmt.Errorf("port %q: %w", portText, err)
	}
	allowed := false
	if _, err := netip.ParseAddr(host); err != nil {
		if allowed, err = g.name(host, port); err != nil {
			return nil, err
		}
	}
	d := net.Dialer{Timeout: g.o.ConnectTimeout, Resolver: g.o.Resolver, Control: func(_, at string, _ syscall.RawConn) error {
		resolved, err := netip.ParseAddrPort(at)
		if err != nil {
			return err
		}
		if err := g.address(host, resolved.Addr(), port, allowed); err != nil {
			return err
		}
		return g.own(resolved.Addr(), port)
	}}
	return d.DialContext(ctx, network, address)
}

// Bind checks where a socket is about to be bound; at is what host was resolved to. The error is a *Refused.
func (g *Guard) Bind(host string, at netip.AddrPort) error {
	if g.o.Closed != "" {
		return g.closedError(host)
	}
	port := int(at.Port())
	if port < privileged {
		return &Refused{"port", fmt.Sprintf("%d is privileged; choose one from %d to 65535", port, privileged)}
	}
	if owner, ok := g.o.OwnPorts[port]; ok {
		return &Refused{"port", fmt.Sprintf("%d is Ledge's own, for %s; choose another", port, owner)}
	}
	if len(g.o.Binds.list) == 0 {
		return nil
	}
	if _, ok := g.o.Binds.host(host, port); ok {
		return nil
	}
	if _, ok := g.o.Binds.any([]netip.Addr{plain(at.Addr())}, port); ok {
		return nil
	}
	return &Refused{"host", fmt.Sprintf("%s with port %d is not where the setting allow-binds lets sockets be bound; choose another host or port, or add it there", host, port)}
}

func unbracket(host string) string { return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]") }

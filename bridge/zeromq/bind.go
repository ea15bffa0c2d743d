package zeromq

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

const lookupTimeout = 5 * time.Second

var wildcard = netip.IPv6Unspecified()

// resolve turns a host into the address to bind. The order is libzmq's: wildcard, address,
// interface, name.
func (o Options) resolve(host string) (netip.Addr, error) {
	if host == "*" || host == "" {
		return wildcard, nil
	}
	literal := strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if addr, err := netip.ParseAddr(literal); err == nil {
		return addr.Unmap(), nil
	}
	if ifi, err := net.InterfaceByName(host); err == nil {
		return interfaceAddr(ifi)
	}
	return o.lookup(host)
}

// isName reports whether a host is neither the wildcard, nor an address, nor an interface.
func isName(host string) bool {
	if _, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")); err == nil || host == "*" || host == "" {
		return false
	}
	_, err := net.InterfaceByName(host)
	return err != nil
}

func interfaceAddr(ifi *net.Interface) (netip.Addr, error) {
	addrs, err := ifi.Addrs()
	if err != nil {
		return netip.Addr{}, fmt.Errorf("read the addresses of interface %q: %w", ifi.Name, err)
	}
	var found []netip.Addr
	for _, a := range addrs {
		p, err := netip.ParsePrefix(a.String())
		if err != nil {
			continue
		}
		addr := p.Addr().Unmap()
		if addr.IsLinkLocalUnicast() && addr.Is6() {
			addr = addr.WithZone(ifi.Name)
		}
		found = append(found, addr)
	}
	if len(found) == 0 {
		return netip.Addr{}, fmt.Errorf("interface %q has no IP address; give it one, or use \"*\"", ifi.Name)
	}
	return preferIPv4(found), nil
}

func (o Options) lookup(host string) (netip.Addr, error) {
	ask := o.Lookup
	if ask == nil {
		ask = askNameServer
	}
	found, err := ask(host)
	if err == nil && len(found) == 0 {
		err = errors.New("no address")
	}
	if err != nil {
		return netip.Addr{}, fmt.Errorf("neither an IP address, nor one of this machine's interfaces (%s), "+
			"nor a name that resolves (%w); use \"*\" for all addresses", interfaceNames(), err)
	}
	return preferIPv4(found), nil
}

func askNameServer(host string) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

func preferIPv4(addrs []netip.Addr) netip.Addr {
	for _, a := range addrs {
		if a.Unmap().Is4() {
			return a.Unmap()
		}
	}
	return addrs[0]
}

func interfaceNames() string {
	all, _ := net.Interfaces()
	names := make([]string, len(all))
	for i, ifi := range all {
		names[i] = ifi.Name
	}
	return strings.Join(names, ", ")
}

// listen binds addr, which host resolved to, and starts a publisher on it, with one channel.
func listen(host string, addr netip.Addr, port int, access Access, l *limits) (*Publisher, error) {
	tcp, err := listenTCP(addr, port)
	if err != nil {
		return nil, bindError(host, port, withCure(err))
	}
	p := newPublisher(tcp, l)
	err = p.hold(host, access)
	if err == nil {
		err = p.start()
	}
	if err != nil {
		_ = tcp.Close()
		return nil, bindError(host, port, err)
	}
	return p, nil
}

// hold adds a channel to the socket.
func (p *Publisher) hold(host string, access Access) error {
	if len(access.ClientKeys) > 0 && p.o.serverKeys == nil {
		return errors.New("clientKeys: this server has no key for CURVE; its log says why at the start")
	}
	known := p.audiences.has(access)
	if err := p.audiences.hold(access); err != nil {
		return err
	}
	if at := p.tcp.Addr().(*net.TCPAddr); !known && access.isOpen() && !at.IP.IsLoopback() {
		p.o.Logger.Warn("ZeroMQ socket is open to other machines: all that can reach it may subscribe, without a password; "+
			"the fields allow and clientKeys of a channel limit who may, and the setting allow-binds where sockets are bound", "host", host, "address", at.String())
	}
	return nil
}

func listenTCP(addr netip.Addr, port int) (*net.TCPListener, error) {
	if port < 0 || port > 65535 {
		return nil, errors.New("a port is a number from 1 to 65535")
	}
	network := "tcp6"
	if addr == wildcard {
		network, addr = "tcp", netip.Addr{} // both IPv4 and IPv6, as far as the system has them
	} else if addr.Is4() {
		network = "tcp4"
	}
	return net.ListenTCP(network, net.TCPAddrFromAddrPort(netip.AddrPortFrom(addr, uint16(port))))
}

func bindError(host string, port int, err error) error {
	return fmt.Errorf("zeromq: bind host %q, port %d: %w", host, port, err)
}

func withCure(err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w; choose another port, or stop what uses this one", err)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%w; choose a port above 1023, or run with the right to bind this one", err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%w; choose an address of this machine, or \"*\"", err)
	}
	return err
}

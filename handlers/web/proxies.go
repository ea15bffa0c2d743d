package web

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

const forwardedFor = "X-Forwarded-For"

// Proxies are the networks of reverse proxies whose X-Forwarded-For says where a request comes from.
type Proxies []netip.Prefix

// ParseProxy reads one network, or one address, of [Proxies].
func ParseProxy(text string) (netip.Prefix, error) {
	network, err := netip.ParsePrefix(text)
	if ip, single := netip.ParseAddr(text); single == nil {
		network, err = netip.PrefixFrom(ip, ip.BitLen()), nil
	}
	switch {
	case err != nil:
		return network, fmt.Errorf("%q is not a network; write it as 10.1.2.3, 10.0.0.0/8 or fd00::/8", text)
	case network.Bits() == 0:
		return network, fmt.Errorf("%q is every address, so that each client could give itself another one; name the network of the proxies", text)
	}
	return network.Masked(), nil
}

func (p Proxies) has(ip netip.Addr) bool {
	return slices.ContainsFunc(p, func(n netip.Prefix) bool { return n.Contains(ip) })
}

// Before returns a handler that gives requests which a proxy passes on the address of its client as RemoteAddr, with port 0, and passes
// them to next. Everything that looks at a request's address comes behind it.
func (p Proxies) Before(next http.Handler) http.Handler {
	if len(p) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = p.clientOf(r)
		next.ServeHTTP(w, r)
	})
}

// clientOf returns the address of a request's client, host:port: the rightmost one that is not a proxy's. Each proxy appends the address
// that it sees, and what stands left of that anybody may have written. An entry that is not an address ends the list.
func (p Proxies) clientOf(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !p.has(plain(peer.Addr())) {
		return r.RemoteAddr
	}
	client := netip.Addr{}
	for rest := strings.Join(r.Header[forwardedFor], ","); rest != ""; {
		i := strings.LastIndexByte(rest, ',')
		ip, ok := forwardedAddress(rest[i+1:])
		if !ok {
			break
		}
		client = ip
		if !p.has(ip) {
			break
		}
		rest = rest[:max(i, 0)]
	}
	if !client.IsValid() {
		return r.RemoteAddr
	}
	return netip.AddrPortFrom(client, 0).String()
}

// forwardedAddress reads an entry of X-Forwarded-For; some proxies add a port.
func forwardedAddress(entry string) (netip.Addr, bool) {
	entry = strings.Trim(entry, " \t")
	if ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(entry, "["), "]")); err == nil {
		return plain(ip), true
	}
	at, err := netip.ParseAddrPort(entry)
	return plain(at.Addr()), err == nil
}

func plain(ip netip.Addr) netip.Addr { return ip.Unmap().WithZone("") }

// IsForwarded reports whether a proxy passes the request on. The listener's identity is for programs of this machine, and a proxy of
// this machine passes on what others send.
func IsForwarded(r *http.Request) bool {
	for _, name := range []string{"Forwarded", forwardedFor, "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Via"} {
		if len(r.Header[name]) > 0 {
			return true
		}
	}
	return false
}

package guard

import "net/netip"

// plain is an address as it is compared: an IPv4 address is one, however it is written.
func plain(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }

// The networks in whose addresses a gateway or a tunnel finds an IPv4 address.
var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")   // RFC 6052
	nat64Local = netip.MustParsePrefix("64:ff9b:1::/48") // RFC 8215
	sixToFour  = netip.MustParsePrefix("2002::/16")      // RFC 3056
	teredo     = netip.MustParsePrefix("2001::/32")      // RFC 4380
	siit       = netip.MustParsePrefix("::ffff:0:0:0/96")
	compatible = netip.MustParsePrefix("::/96") // RFC 4291, 2.5.5.1
)

// leadsTo returns addr, and the addresses that it surely stands for: the system connects an unspecified one to the loopback address.
func leadsTo(addr netip.Addr) []netip.Addr {
	addr = plain(addr)
	switch b := addr.As16(); {
	case addr == netip.IPv4Unspecified():
		return []netip.Addr{addr, netip.AddrFrom4([4]byte{127, 0, 0, 1})}
	case addr == netip.IPv6Unspecified():
		return []netip.Addr{addr, netip.IPv6Loopback()}
	case nat64.Contains(addr):
		return []netip.Addr{addr, netip.AddrFrom4([4]byte(b[12:]))}
	}
	return []netip.Addr{addr}
}

// meanings are all addresses that addr may lead to, by whatever gateway or tunnel there is.
func meanings(addr netip.Addr) []netip.Addr {
	all := leadsTo(addr)
	addr = all[0]
	if !addr.Is6() {
		return all
	}
	b := addr.As16()
	last := func(mask byte) [4]byte { return [4]byte{b[12] ^ mask, b[13] ^ mask, b[14] ^ mask, b[15] ^ mask} }
	var found [][4]byte
	switch {
	case nat64Local.Contains(addr):
		found = [][4]byte{last(0), {b[6], b[7], b[9], b[10]}}
	case sixToFour.Contains(addr):
		found = [][4]byte{[4]byte(b[2:6])}
	case teredo.Contains(addr):
		found = [][4]byte{[4]byte(b[4:8]), last(0xff)}
	case siit.Contains(addr), compatible.Contains(addr) && b[12] != 0:
		found = [][4]byte{last(0)}
	}
	if b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe { // ISATAP, RFC 5214
		found = append(found, last(0))
	}
	for _, v4 := range found {
		all = append(all, leadsTo(netip.AddrFrom4(v4))...)
	}
	return all
}

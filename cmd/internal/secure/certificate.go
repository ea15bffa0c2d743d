// Package secure finds the addresses that are listened on, the names of the server's certificate, and the key of the secret store.
package secure

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"

	"ledge/cmd/internal/certs"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
)

// WithAuthorityCode gives an error of the local CA its exit code.
func WithAuthorityCode(err error) error {
	if errors.Is(err, certs.ErrDamaged) {
		return exit.With(exit.Damaged, err)
	}
	return exit.With(exit.Folder, err)
}

// CheckAuthority checks the CA in a data folder, if there is one.
func CheckAuthority(dir string) error {
	if _, err := certs.ReadAuthority(dir); err != nil {
		return WithAuthorityCode(err)
	}
	return nil
}

// CertificateNames returns the names and addresses by which clients may address this machine, the most important first: those of the
// hosts of the settings, hosts, and the addresses that were found.
func CertificateNames(settings []config.Address, hosts []string, found Addresses) certs.Names {
	n := certs.Names{Hosts: []string{"localhost"}, Addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()}}
	if name, err := os.Hostname(); err == nil {
		short, _, _ := strings.Cut(name, ".")
		n.Hosts = append(n.Hosts, name, short)
	}
	for _, s := range settings {
		if ip, err := netip.ParseAddr(s.Host); err != nil {
			n.Hosts = append(n.Hosts, strings.TrimSuffix(s.Host, "."))
		} else {
			n.Addresses = append(n.Addresses, ip)
		}
		n.Addresses = append(n.Addresses, found[s.Setting])
	}
	for _, host := range hosts {
		if host != "*" {
			n.Hosts = append(n.Hosts, strings.TrimSuffix(host, "."))
		}
	}
	n.Addresses = append(n.Addresses, machineAddresses()...)
	return n
}

// machineAddresses returns the addresses of all interfaces.
func machineAddresses() (list []netip.Addr) {
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			list = append(list, p.Addr())
		}
	}
	return list
}

// OwnAddress is the first address at which other machines reach this one, of IPv4 if there is one, else 127.0.0.1.
func OwnAddress() netip.Addr {
	own := netip.MustParseAddr("127.0.0.1")
	for _, a := range machineAddresses() {
		switch a = a.Unmap(); {
		case !a.IsGlobalUnicast():
		case a.Is4():
			return a
		case own.IsLoopback():
			own = a
		}
	}
	return own
}

package main

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"ledge/cmd/internal/certs"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/services"
	"ledge/domain"
	"ledge/handlers/transport"
)

// secure gets the certificate and what the listeners of secure mode need.
func (p *Program) secure() error {
	c := p.Config
	if !c.Secure {
		return nil
	}
	if err := p.loadClientCA(); err != nil {
		return exit.With(exit.Usage, err)
	}
	var clients func() *x509.CertPool
	if c.TLSClientCA != "" {
		clients = p.clients.Load
	}
	if c.TLSCert != "" {
		var err error
		p.keeper, err = certs.OpenFiles(certs.FilesOptions{CertPath: c.TLSCert, KeyPath: c.TLSKey, Now: p.Now, Logger: p.Logger})
		if err != nil {
			return exit.With(exit.Usage, err)
		}
	} else if err := p.localCertificate(); err != nil {
		return err
	}
	p.tapTLS = certs.Config(p.keeper, clients)
	web := certs.Config(p.keeper, clients, "http/1.1") // the limits are for each connection
	p.transport = &transport.Options{TLS: web, Failures: new(transport.Failures), Logger: p.Logger}
	if c.Loopback != config.LoopbackSecure {
		p.transport.Local = &domain.Identity{Actor: "local", Role: domain.Role(c.Loopback)}
	}
	p.inBackground(func(done <-chan struct{}) { certs.Run(done, p.keeper) })
	return nil
}

// loadClientCA reads the CAs that sign the certificates of clients.
func (p *Program) loadClientCA() error {
	pool, err := config.ReadClientCAs(p.Config.TLSClientCA)
	if err == nil {
		p.clients.Store(pool)
	}
	return err
}

// localCertificate has the CA in the data folder sign a certificate.
func (p *Program) localCertificate() (err error) {
	if p.authority, err = certs.OpenAuthority(p.Config.DataDir, p.Now()); err != nil {
		return authorityError(err)
	}
	p.keeper, err = certs.NewLocal(certs.LocalOptions{Authority: p.authority, Names: func() certs.Names { return certificateNames(p.Config, p.addresses) }, Now: p.Now, Logger: p.Logger})
	return err
}

func authorityError(err error) error {
	if errors.Is(err, certs.ErrDamaged) {
		return exit.With(exit.Damaged, err)
	}
	return exit.With(exit.Folder, err)
}

// checkAuthority returns what is wrong with the CA in a data folder, if there is one.
func checkAuthority(dir string) error {
	if _, err := certs.ReadAuthority(dir); err != nil {
		return authorityError(err)
	}
	return nil
}

// certificateNames returns the names and addresses by which clients may address this machine, the most important first.
func certificateNames(c *config.Config, found addresses) certs.Names {
	n := certs.Names{Hosts: []string{"localhost"}, Addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()}}
	if name, err := os.Hostname(); err == nil {
		short, _, _ := strings.Cut(name, ".")
		n.Hosts = append(n.Hosts, name, short)
	}
	for _, s := range c.BindSettings() {
		if ip, err := netip.ParseAddr(s[1]); err != nil {
			n.Hosts = append(n.Hosts, strings.TrimSuffix(s[1], "."))
		} else {
			n.Addresses = append(n.Addresses, ip)
		}
		n.Addresses = append(n.Addresses, found[s[0]])
	}
	for _, host := range c.AllowHosts.List {
		if host != "*" {
			n.Hosts = append(n.Hosts, strings.TrimSuffix(host, "."))
		}
	}
	n.Addresses = append(n.Addresses, machineAddresses()...)
	return n
}

// machineAddresses are those of all interfaces.
func machineAddresses() (list []netip.Addr) {
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			list = append(list, p.Addr())
		}
	}
	return list
}

// ownAddress is the first address at which other machines reach this one, of IPv4 if there is one, else 127.0.0.1.
func ownAddress() netip.Addr {
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

func (s *servers) scheme() string {
	if s.config.Secure {
		return "https"
	}
	return "http"
}

// trust is what the line "ready" says of the local CA.
func (p *Program) trust() []any {
	if p.authority == nil {
		return nil
	}
	return []any{"trust", "ledge ca --data-dir " + p.Config.DataDir, "ca-sha256", certs.Fingerprint(p.authority.Cert)}
}

// welcome tells a person at a terminal how to go on.
func (p *Program) welcome() {
	if p.Terminal == nil {
		return
	}
	if !p.Config.Secure {
		fmt.Fprintf(p.Terminal, "\nThe console is at %s; log in as %s.\n\n", p.servers.url(services.Console), adminName)
		return
	}
	fmt.Fprint(p.Terminal, "\nLedge runs in secure mode:\n")
	for _, one := range services.All {
		fmt.Fprintf(p.Terminal, "  %-14s %s\n", one.Setting, p.servers.url(one.Name))
	}
	if p.authority != nil {
		fmt.Fprintf(p.Terminal, "Clients have to trust its CA (SHA-256 %s):\n  ledge ca --data-dir %s > ledge-ca.pem\n  curl --cacert ledge-ca.pem %s/api/v2/ping\n",
			certs.Fingerprint(p.authority.Cert), p.Config.DataDir, p.servers.url(services.Metadata))
	}
	file := filepath.Join(p.Config.DataDir, datadir.AdminPasswordFile)
	if _, err := os.Lstat(file); err == nil {
		fmt.Fprintf(p.Terminal, "Log in as %s. Until it is changed, the password is in %s.\n", adminName, file)
	}
	fmt.Fprintln(p.Terminal)
}

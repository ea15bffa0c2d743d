package server

import (
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"

	"ledge/cmd/internal/certs"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/identities"
	"ledge/cmd/internal/secure"
	"ledge/cmd/internal/services"
	"ledge/domain"
	"ledge/handlers/transport"
)

// secure gets the certificate and what the listeners of secure mode need.
func (p *Server) secure() error {
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
func (p *Server) loadClientCA() error {
	pool, err := config.ReadClientCAs(p.Config.TLSClientCA)
	if err == nil {
		p.clients.Store(pool)
	}
	return err
}

// localCertificate has the CA in the data folder sign a certificate.
func (p *Server) localCertificate() (err error) {
	if p.authority, err = certs.OpenAuthority(p.Config.DataDir, p.Now()); err != nil {
		return secure.WithAuthorityCode(err)
	}
	p.keeper, err = certs.NewLocal(certs.LocalOptions{Authority: p.authority, Names: func() certs.Names {
		return secure.CertificateNames(p.Config.BindSettings(), p.Config.AllowHosts.List, p.addresses)
	}, Now: p.Now, Logger: p.Logger})
	return err
}

func (s *servers) scheme() string {
	if s.config.Secure {
		return "https"
	}
	return "http"
}

// trust is what the line "ready" says of the local CA.
func (p *Server) trust() []any {
	if p.authority == nil {
		return nil
	}
	return []any{"trust", "ledge ca --data-dir " + p.Config.DataDir, "ca-sha256", certs.Fingerprint(p.authority.Cert)}
}

// welcome tells a person at a terminal how to go on.
func (p *Server) welcome() {
	if p.Terminal == nil {
		return
	}
	if !p.Config.Secure {
		fmt.Fprintf(p.Terminal, "\nThe console is at %s; log in as %s.\n\n", p.servers.url(services.Console), identities.AdminName)
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
		fmt.Fprintf(p.Terminal, "Log in as %s. Until it is changed, the password is in %s.\n", identities.AdminName, file)
	}
	fmt.Fprintln(p.Terminal)
}

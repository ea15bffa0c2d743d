package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

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

// tlsParts are the parts of secure mode. All are nil in open mode.
type tlsParts struct {
	keeper    certs.Keeper
	clients   atomic.Pointer[x509.CertPool] // CAs of client certificates
	authority *certs.Authority              // signs the certificate; nil if the certificate comes from files
	transport *transport.Options            // of the HTTP services
	nats      *tls.Config
}

// openTLS reads or makes the certificate of secure mode.
func (p *Server) openTLS() error {
	c, t := p.Config, &p.tls
	if !c.Secure {
		return nil
	}
	if err := t.loadClientCA(c.TLSClientCA); err != nil {
		return exit.With(exit.Usage, err)
	}
	var clients func() *x509.CertPool
	if c.TLSClientCA != "" {
		clients = t.clients.Load
	}
	if c.TLSCert != "" {
		var err error
		t.keeper, err = certs.OpenFiles(certs.FilesOptions{CertPath: c.TLSCert, KeyPath: c.TLSKey, Now: p.Now, Logger: p.Logger})
		if err != nil {
			return exit.With(exit.Usage, err)
		}
	} else if err := t.signCertificate(p); err != nil {
		return err
	}
	t.nats = certs.Config(t.keeper, clients)
	web := certs.Config(t.keeper, clients, "http/1.1") // the limits are for each connection
	t.transport = &transport.Options{TLS: web, Failures: new(transport.Failures), Logger: p.Logger}
	if c.Loopback != config.LoopbackSecure {
		t.transport.Local = &domain.Identity{Actor: "local", Role: domain.Role(c.Loopback)}
	}
	p.inBackground(func(ctx context.Context) error { return certs.Run(ctx, t.keeper) })
	return nil
}

// loadClientCA reads the CAs that sign the certificates of clients.
func (t *tlsParts) loadClientCA(path string) error {
	pool, err := config.ReadClientCAs(path)
	if err == nil {
		t.clients.Store(pool)
	}
	return err
}

// signCertificate has the CA in the data folder sign a certificate.
func (t *tlsParts) signCertificate(p *Server) (err error) {
	if t.authority, err = certs.OpenAuthority(p.Config.DataDir, p.Now()); err != nil {
		return secure.WithAuthorityCode(err)
	}
	t.keeper, err = certs.NewLocal(certs.LocalOptions{Authority: t.authority, Names: func() certs.Names {
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

// describeCA returns the attributes of the local CA in the line "ready".
func (t *tlsParts) describeCA(dir string) []any {
	if t.authority == nil {
		return nil
	}
	return []any{"trust", "ledge ca --data-dir " + dir, "ca-sha256", certs.Fingerprint(t.authority.Cert)}
}

// printWelcome tells a person at a terminal how to go on.
func printWelcome(p *Server) {
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
	if authority := p.tls.authority; authority != nil {
		fmt.Fprintf(p.Terminal, "Clients have to trust its CA (SHA-256 %s):\n  ledge ca --data-dir %s > ledge-ca.pem\n  curl --cacert ledge-ca.pem %s/api/v2/ping\n",
			certs.Fingerprint(authority.Cert), p.Config.DataDir, p.servers.url(services.Metadata))
	}
	file := filepath.Join(p.Config.DataDir, datadir.AdminPasswordFile)
	if _, err := os.Lstat(file); err == nil {
		fmt.Fprintf(p.Terminal, "Log in as %s. Until it is changed, the password is in %s.\n", identities.AdminName, file)
	}
	fmt.Fprintln(p.Terminal)
}

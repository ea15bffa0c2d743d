// Package certs has the certificate by which clients know this server.
//
// The certificate comes from files that somebody else writes ([Files]), or from a CA of its own in the data folder ([Local]).
// Both look for changes when [Run] or a test tells them to. A change holds for the next handshake; connections stay open.
package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"time"

	"ledge/cmd/internal/loop"
)

// Keeper has a certificate that can change.
type Keeper interface {
	// Certificate returns the one for the next handshake.
	Certificate() *tls.Certificate
	// Look replaces the certificate if there is a reason.
	Look()
	// Reload is Look for an operator: it tells at once why a new certificate cannot be used.
	Reload() error
}

// lookEvery is how soon a change is seen.
const lookEvery = 5 * time.Second

// Run looks for changes until ctx ends.
func Run(ctx context.Context, k Keeper) error {
	return loop.Every(ctx, lookEvery, func(context.Context) { k.Look() })
}

// suites12 are those of TLS 1.2 with forward secrecy and authenticated encryption: Mozilla's "intermediate" without DHE. Many IP cameras and
// POS terminals speak no TLS 1.3. Go chooses the suites of TLS 1.3 itself.
var suites12 = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// Config returns what a listener with application protocols needs, with TLS 1.3 or 1.2. A client may show a certificate; one that
// the clients of that moment have not signed ends the handshake. Without clients no client is asked for a certificate.
func Config(k Keeper, clients func() *x509.CertPool, protocols ...string) *tls.Config {
	c := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		CipherSuites:   suites12,
		NextProtos:     protocols,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return k.Certificate(), nil },
	}
	if clients != nil {
		c.ClientAuth = tls.VerifyClientCertIfGiven
		c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
			now := c.Clone()
			now.ClientCAs = clients()
			return now, nil
		}
	}
	return c
}

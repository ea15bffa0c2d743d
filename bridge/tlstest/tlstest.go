// Package tlstest makes certificates for tests, in PEM.
package tlstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	PEM  string // its own certificate
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority returns an authority of its own.
func NewAuthority(tb testing.TB, name string) *Authority {
	tb.Helper()
	a := &Authority{cert: template(name)}
	a.cert.IsCA, a.cert.BasicConstraintsValid, a.cert.KeyUsage = true, true, x509.KeyUsageCertSign
	a.PEM, a.key = issue(tb, a.cert, nil)
	return a
}

// Sign returns a certificate of a server and of a client, and its key. It is for 127.0.0.1, and for the name if that is one of DNS.
func (a *Authority) Sign(tb testing.TB, name string) (certificate, private string) {
	tb.Helper()
	return a.SignUntil(tb, name, time.Now().Add(time.Hour))
}

// SignUntil is Sign of a certificate that expires at a time.
func (a *Authority) SignUntil(tb testing.TB, name string, at time.Time) (certificate, private string) {
	tb.Helper()
	c := template(name)
	c.NotAfter = at
	c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	if strings.Contains(name, ".") {
		c.DNSNames = []string{name}
	}
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	certificate, key := issue(tb, c, a)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	return certificate, encode("PRIVATE KEY", der)
}

func template(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62))
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

// issue makes a key and a certificate for it, signed by a or, where that is nil, by itself.
func issue(tb testing.TB, c *x509.Certificate, a *Authority) (certificate string, key *ecdsa.PrivateKey) {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	parent, signer := c, key
	if a != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		tb.Fatal(err)
	}
	return encode("CERTIFICATE", der), key
}

func encode(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

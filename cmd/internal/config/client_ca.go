package config

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

const maxCAFile = 1 << 20 // bytes

// addCertificates adds all of a text in PEM, unlike AppendCertsFromPEM, which skips what it cannot read.
func addCertificates(pool *x509.CertPool, text []byte) error {
	added := 0
	for block, rest := pem.Decode(text); ; block, rest = pem.Decode(rest) {
		if block == nil {
			if added == 0 {
				return errors.New("has no certificate")
			}
			if bytes.Contains(rest, []byte("-----BEGIN")) {
				return fmt.Errorf("what follows certificate %d is broken", added)
			}
			return nil
		}
		if block.Type != "CERTIFICATE" {
			return fmt.Errorf("has a block of the type %q", block.Type)
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return fmt.Errorf("certificate %d: %w", added+1, err)
		}
		if !cert.IsCA {
			return errors.New("the certificate of " + cert.Subject.String() + " is not that of a CA")
		}
		pool.AddCert(cert)
		added++
	}
}

// ReadClientCAs returns the certificates of the CAs of clients, from the file of the setting tls-client-ca. Without a path it returns nil.
func ReadClientCAs(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	text, err := ReadFile(path, maxCAFile)
	if err != nil {
		return nil, fmt.Errorf("setting tls-client-ca: %w", err)
	}
	pool := x509.NewCertPool()
	if err := addCertificates(pool, text); err != nil {
		return nil, fmt.Errorf("setting tls-client-ca: %s: %w; give a file of certificates in PEM", path, err)
	}
	return pool, nil
}

package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"ledge/store/osfile"
)

// The files of the CA in the data folder.
const (
	CAFile    = "ca.pem"
	CAKeyFile = "ca-key.pem"
)

const (
	certBlock = "CERTIFICATE" // of PEM files
	keyBlock  = "PRIVATE KEY" // PKCS #8
	maxCA     = 64 << 10      // bytes of a file
	caYears   = 10
	// backdated is how far the clock of a client may be behind.
	backdated = time.Hour
)

// ErrDamaged is in errors about files that are there and cannot be what Ledge has written.
var ErrDamaged = errors.New("damaged")

// earliest is a time that has passed. Machines without a battery start with an older clock; a CA that they make is valid
// when the clock is right.
var earliest = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Authority is a CA that signs certificates of this server.
type Authority struct {
	Cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// OpenAuthority reads the CA in a data folder. Where there is none it makes one, durably: the key first, so that a crash never
// leaves a certificate whose key is lost. A key without a certificate is what such a crash leaves; it gets its certificate.
func OpenAuthority(dir string, now time.Time) (*Authority, error) {
	a, err := ReadAuthority(dir)
	if err != nil || a != nil {
		return a, err
	}
	key, err := readKey(dir)
	if errors.Is(err, fs.ErrNotExist) {
		key, err = makeKey(dir)
	}
	if err != nil {
		return nil, err
	}
	der, err := signCA(key, now)
	if err != nil {
		return nil, fmt.Errorf("make a CA: %w", err)
	}
	if err := osfile.Write(filepath.Join(dir, CAFile), encode(certBlock, der)); err != nil {
		return nil, fmt.Errorf("make a CA: %w", err)
	}
	return ReadAuthority(dir)
}

// ReadAuthority reads the CA in a data folder. It returns nil where there is no certificate.
func ReadAuthority(dir string) (*Authority, error) {
	_, cert, err := ReadCA(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	key, err := readKey(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, damaged(dir, CAKeyFile, "it is missing, and the CA certificate is there")
	}
	if err != nil {
		return nil, err
	}
	if !key.PublicKey.Equal(cert.PublicKey) {
		return nil, damaged(dir, CAKeyFile, "it does not belong to "+CAFile)
	}
	return &Authority{cert, key}, nil
}

// ReadCA reads the certificate of the CA in a data folder. The error is fs.ErrNotExist where there is none.
func ReadCA(dir string) (text []byte, cert *x509.Certificate, err error) {
	text, err = osfile.Read(filepath.Join(dir, CAFile), maxCA)
	if err != nil {
		return nil, nil, err
	}
	der, ok := decode(text, certBlock)
	if !ok {
		return nil, nil, damaged(dir, CAFile, "it is not one certificate in PEM")
	}
	cert, err = x509.ParseCertificate(der)
	if err == nil && !cert.IsCA {
		err = errors.New("it is not the certificate of a CA")
	}
	if err == nil {
		err = cert.CheckSignatureFrom(cert)
	}
	if err != nil {
		return nil, nil, damaged(dir, CAFile, err.Error())
	}
	return text, cert, nil
}

func damaged(dir, file, why string) error {
	return fmt.Errorf("the local CA is %w: %s: %s; take %s and %s from a backup, or move both away: the next start in secure mode makes a new CA, which all clients must be told to trust",
		ErrDamaged, filepath.Join(dir, file), why, CAFile, CAKeyFile)
}

func readKey(dir string) (*ecdsa.PrivateKey, error) {
	path := filepath.Join(dir, CAKeyFile)
	text, err := osfile.Read(path, maxCA)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("%s has mode %04o, so others than its owner may have read it; run `chmod 600 %s`, or move it and %s away for a new CA", path, mode, path, CAFile)
	}
	der, ok := decode(text, keyBlock)
	if !ok {
		return nil, damaged(dir, CAKeyFile, "it is not one key in PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, damaged(dir, CAKeyFile, err.Error())
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, damaged(dir, CAKeyFile, "it is no ECDSA key")
	}
	return key, nil
}

func makeKey(dir string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a CA: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("make a CA: %w", err)
	}
	if err := osfile.Write(filepath.Join(dir, CAKeyFile), encode(keyBlock, der)); err != nil {
		return nil, fmt.Errorf("make a CA: %w", err)
	}
	return key, nil
}

// signCA returns the certificate of a CA. Its name follows from the key, so that each CA has a name of its own.
func signCA(key *ecdsa.PrivateKey, now time.Time) ([]byte, error) {
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, err
	}
	until := now
	if now.Before(earliest) {
		until = earliest
	}
	sum := sha256.Sum256(public)
	template := &x509.Certificate{
		SerialNumber: newSerial(), Subject: pkix.Name{CommonName: fmt.Sprintf("Ledge CA %x", sum[:4])},
		NotBefore: now.Add(-backdated), NotAfter: until.AddDate(caYears, 0, 0),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}
	return x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
}

func newSerial() *big.Int {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	b[0] &= 0x7f        // positive
	return new(big.Int).SetBytes(b)
}

// Fingerprint is the SHA-256 of a certificate, in hex.
func Fingerprint(cert *x509.Certificate) string { return fmt.Sprintf("%x", sha256.Sum256(cert.Raw)) }

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// decode returns the one block of a PEM file.
func decode(text []byte, kind string) (der []byte, ok bool) {
	block, rest := pem.Decode(text)
	if block == nil || block.Type != kind || len(bytes.TrimSpace(rest)) > 0 {
		return nil, false
	}
	return block.Bytes, true
}

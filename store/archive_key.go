package store

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"

	"ledge/store/osfile"
)

// SigningKey signs archives and snapshots, with Ed25519.
type SigningKey struct{ private ed25519.PrivateKey }

const (
	keyBlock = "PRIVATE KEY" // of the PEM file: PKCS #8, as openssl reads it
	maxKey   = 4 << 10       // bytes of the file
)

// OpenSigningKey reads the key at path. Where there is none, it makes one that only its owner can read. It refuses a file
// that others can read.
func OpenSigningKey(path string) (*SigningKey, error) {
	k, err := ReadSigningKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("signing key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("signing key: %w", err)
	}
	if err := osfile.Write(path, pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: der})); err != nil {
		return nil, fmt.Errorf("signing key: %w", err)
	}
	return &SigningKey{private}, nil
}

// ReadSigningKey reads the key at path; the error is fs.ErrNotExist where there is none.
func ReadSigningKey(path string) (*SigningKey, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("signing key: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("signing key: %s is not a regular file; put the key itself there", path)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("signing key: %s has mode %04o, so others than its owner can read it; run `chmod 600 %s`", path, mode, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("signing key: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKey))
	if err != nil {
		return nil, fmt.Errorf("signing key: %w", err)
	}
	if block, _ := pem.Decode(text); block != nil && block.Type == keyBlock {
		if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			if private, ok := key.(ed25519.PrivateKey); ok {
				return &SigningKey{private}, nil
			}
		}
	}
	return nil, fmt.Errorf("signing key: %s is not an Ed25519 key in PEM; restore it from a backup, or move it away: the next archive is then signed with a new key", path)
}

// Public returns the public key in base64.
func (k *SigningKey) Public() string {
	return base64.StdEncoding.EncodeToString(k.private.Public().(ed25519.PublicKey))
}

func (k *SigningKey) sign(text string) string {
	return base64.StdEncoding.EncodeToString(ed25519.Sign(k.private, []byte(text)))
}

// signed reports whether a signature of text is by the key with a public key; both are in base64.
func signed(public, text, signature string) bool {
	key, err := base64.StdEncoding.Strict().DecodeString(public)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return false
	}
	sig, err := base64.StdEncoding.Strict().DecodeString(signature)
	return err == nil && ed25519.Verify(key, []byte(text), sig)
}

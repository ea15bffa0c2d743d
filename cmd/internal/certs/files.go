package certs

import (
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxFile = 1 << 20 // bytes of a certificate file and of a key file
	// expiresSoon is how long before the end of a certificate a warning is logged.
	expiresSoon = 14 * 24 * time.Hour
)

// FilesOptions are all required.
type FilesOptions struct {
	CertPath, KeyPath string // PEM
	Now               func() time.Time
	Logger            *slog.Logger
}

// Files is a [Keeper] of a certificate in two files. The files are read again at each look, because the names may be links
// that are replaced, as by certbot and Kubernetes. A pair that cannot be used changes nothing and is logged once. As the two
// files cannot be replaced at the same moment, that is when a second look finds the same.
type Files struct {
	o       FilesOptions
	current atomic.Pointer[tls.Certificate]

	looking        sync.Mutex
	active, broken [sha256.Size]byte // of what was read
	warned         bool              // of broken
	expiryWarned   bool              // of active
}

// OpenFiles reads both files. The error names the settings.
func OpenFiles(o FilesOptions) (*Files, error) {
	f := &Files{o: o}
	pair, id, err := f.read()
	if err != nil {
		return nil, err
	}
	f.use(pair, id)
	return f, nil
}

// Certificate implements [Keeper].
func (f *Files) Certificate() *tls.Certificate { return f.current.Load() }

// Look implements [Keeper].
func (f *Files) Look() {
	f.looking.Lock()
	defer f.looking.Unlock()
	id, err := f.replace()
	if err == nil {
		f.warnOfExpiry()
		return
	}
	if id != f.broken {
		f.broken, f.warned = id, false
		return
	}
	if !f.warned {
		f.warned = true
		f.o.Logger.Warn("the new TLS certificate cannot be used, the old one stays in use", "error", err)
	}
}

// Reload implements [Keeper].
func (f *Files) Reload() error {
	f.looking.Lock()
	defer f.looking.Unlock()
	id, err := f.replace()
	if err != nil {
		f.broken, f.warned = id, true
	}
	return err
}

// replace uses what the files have now. It returns the hash of that.
func (f *Files) replace() (id [sha256.Size]byte, err error) {
	pair, id, err := f.read()
	if id == f.active {
		f.broken = id
		return id, nil
	}
	if err == nil {
		err = f.worse(pair)
	}
	if err == nil {
		f.use(pair, id)
		f.o.Logger.Info("new TLS certificate in use", "subject", pair.Leaf.Subject.String(), "until", pair.Leaf.NotAfter)
	}
	return id, err
}

func (f *Files) use(pair *tls.Certificate, id [sha256.Size]byte) {
	f.current.Store(pair)
	f.active, f.broken, f.expiryWarned = id, id, false
	if info, err := os.Stat(f.o.KeyPath); err == nil && info.Mode().Perm()&0o004 != 0 && runtime.GOOS != "windows" {
		f.o.Logger.Warn("all users of this machine can read the TLS key; run `chmod o-r` on it", "tls-key", f.o.KeyPath)
	}
	f.warnOfExpiry()
}

// worse refuses a certificate that is not valid now where the one in use is.
func (f *Files) worse(pair *tls.Certificate) error {
	now, old := f.o.Now(), f.current.Load().Leaf
	if valid := !now.After(old.NotAfter) && !now.Before(old.NotBefore); !valid {
		return nil
	}
	if now.After(pair.Leaf.NotAfter) || now.Before(pair.Leaf.NotBefore) {
		return fmt.Errorf("setting tls-cert: %s: it is valid from %s to %s, which is not now; get a new one", f.o.CertPath, pair.Leaf.NotBefore.Format(time.RFC3339), pair.Leaf.NotAfter.Format(time.RFC3339))
	}
	return nil
}

func (f *Files) warnOfExpiry() {
	leaf, now := f.current.Load().Leaf, f.o.Now()
	if f.expiryWarned || now.Add(expiresSoon).Before(leaf.NotAfter) && !now.Before(leaf.NotBefore) {
		return
	}
	f.expiryWarned = true
	f.o.Logger.Warn("clients refuse the TLS certificate before and after it is valid; replace it in time, no restart is needed",
		"tls-cert", f.o.CertPath, "from", leaf.NotBefore, "until", leaf.NotAfter)
}

// read returns the pair, and the hash of what was read, errors included.
func (f *Files) read() (pair *tls.Certificate, id [sha256.Size]byte, err error) {
	cert, certErr := readFile(f.o.CertPath)
	key, keyErr := readFile(f.o.KeyPath)
	h := sha256.New()
	fmt.Fprintf(h, "%d %d %v %v ", len(cert), len(key), certErr, keyErr)
	h.Write(cert)
	h.Write(key)
	h.Sum(id[:0])
	if certErr != nil {
		return nil, id, fmt.Errorf("setting tls-cert: %w; give a PEM file with the certificate of the server, followed by those of the CAs between it and the root", certErr)
	}
	if keyErr != nil {
		return nil, id, fmt.Errorf("setting tls-key: %w; give a PEM file with the key that belongs to tls-cert", keyErr)
	}
	loaded, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, id, fmt.Errorf("settings tls-cert and tls-key: %s and %s: %w; give two PEM files, the certificate first, and the key without a password that belongs to it", f.o.CertPath, f.o.KeyPath, err)
	}
	return &loaded, id, nil
}

// readFile reads a regular file, also by way of a link.
func readFile(path string) ([]byte, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errors.New(path + ": it is not a file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s: it is longer than 1 MiB", path)
	}
	return text, err
}

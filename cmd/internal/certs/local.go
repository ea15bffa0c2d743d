package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// validity of a certificate that the local CA signs. After two thirds of it there is a new one.
	validity = 90 * 24 * time.Hour
	// mostNames is the most host names, and the most addresses, in a certificate. A client takes a handshake of 64 KiB at least.
	mostNames = 256
)

// Names are those by which clients address the server.
type Names struct {
	Hosts     []string
	Addresses []netip.Addr
}

// LocalOptions are all required.
type LocalOptions struct {
	Authority *Authority
	// Names are asked for at each look. The most important come first; there may be at most 256 of each kind.
	Names  func() Names
	Now    func() time.Time
	Logger *slog.Logger
}

// Local is a [Keeper] of a certificate that the local CA has signed. The certificate and its key are only in memory: each
// start makes new ones, which takes less than a millisecond, so they always have the addresses of now and no file of them can
// be read, lost or damaged. Clients trust the CA, so they notice nothing.
type Local struct {
	o       LocalOptions
	current atomic.Pointer[tls.Certificate]
	looking sync.Mutex
	names   Names // in current
	failed  bool  // the last try to sign
}

// NewLocal signs the first certificate.
func NewLocal(o LocalOptions) (*Local, error) {
	l := &Local{o: o}
	if err := l.sign(l.usable()); err != nil {
		return nil, err
	}
	l.warnOfExpiry()
	return l, nil
}

// Certificate implements [Keeper].
func (l *Local) Certificate() *tls.Certificate { return l.current.Load() }

// Look implements [Keeper].
func (l *Local) Look() {
	l.looking.Lock()
	defer l.looking.Unlock()
	var why string
	names := l.usable()
	now, leaf := l.o.Now(), l.current.Load().Leaf
	switch {
	case now.After(leaf.NotAfter.Add(-validity/3)) && leaf.NotAfter.Before(l.o.Authority.Cert.NotAfter):
		why = "its time"
	case now.Before(leaf.NotBefore):
		why = "the clock"
	case !slices.Equal(names.Hosts, l.names.Hosts) || !slices.Equal(names.Addresses, l.names.Addresses):
		why = "names and addresses"
	default:
		return
	}
	if err := l.sign(names); err != nil {
		if !l.failed {
			l.o.Logger.Warn("no new TLS certificate can be made, the old one stays in use", "error", err)
		}
		l.failed = true
		return
	}
	l.failed = false
	l.o.Logger.Info("new TLS certificate in use", "because of", why, "until", l.current.Load().Leaf.NotAfter, "hosts", names.Hosts, "addresses", names.Addresses)
	l.warnOfExpiry()
}

// Reload implements [Keeper].
func (l *Local) Reload() error {
	l.Look()
	return nil
}

func (l *Local) warnOfExpiry() {
	if ca := l.o.Authority.Cert; l.o.Now().Add(validity).After(ca.NotAfter) {
		l.o.Logger.Warn("the local CA ends soon, and with it all trust in this server; stop it, move both files of the CA away, start it, and let clients trust the new CA",
			"files", []string{CAFile, CAKeyFile}, "until", ca.NotAfter)
	}
}

// usable returns the names of now as a certificate can have them.
func (l *Local) usable() Names {
	all := l.o.Names()
	var n Names
	for _, host := range all.Hosts {
		if isASCII(host) && !slices.Contains(n.Hosts, host) {
			n.Hosts = append(n.Hosts, host)
		}
	}
	for _, a := range all.Addresses {
		a = a.Unmap().WithZone("")
		if a.IsValid() && !a.IsUnspecified() && !a.IsMulticast() && !slices.Contains(n.Addresses, a) {
			n.Addresses = append(n.Addresses, a)
		}
	}
	n.Hosts, n.Addresses = n.Hosts[:min(len(n.Hosts), mostNames)], n.Addresses[:min(len(n.Addresses), mostNames)]
	slices.Sort(n.Hosts)
	slices.SortFunc(n.Addresses, netip.Addr.Compare)
	return n
}

func isASCII(host string) bool {
	return host != "" && len(host) <= 253 && !slices.ContainsFunc([]byte(host), func(b byte) bool { return b <= ' ' || b > '~' })
}

// sign makes a key and a certificate with the names, and puts them in use.
func (l *Local) sign(names Names) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	ca, now := l.o.Authority, l.o.Now()
	template := &x509.Certificate{
		SerialNumber: newSerial(), Subject: pkix.Name{CommonName: "ledge"},
		NotBefore: now.Add(-backdated), NotAfter: now.Add(validity), DNSNames: names.Hosts,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	if end := ca.Cert.NotAfter; template.NotAfter.After(end) {
		template.NotAfter = end
	}
	for _, a := range names.Addresses {
		template.IPAddresses = append(template.IPAddresses, net.IP(a.AsSlice()))
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.Cert, &key.PublicKey, ca.key)
	if err != nil {
		return err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return err
	}
	l.current.Store(&tls.Certificate{Certificate: [][]byte{der, ca.Cert.Raw}, PrivateKey: key, Leaf: leaf})
	l.names = names
	return nil
}

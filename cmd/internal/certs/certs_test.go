package certs

import (
	"bytes"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ledge/bridge/tlstest"
)

// clock is a time that a test sets.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func newClock() *clock { return &clock{time.Now()} }

func logTo(b *bytes.Buffer) *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

func mustWrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func newLocal(t *testing.T, c *clock, names *Names, log *bytes.Buffer) *Local {
	t.Helper()
	a, err := OpenAuthority(t.TempDir(), c.now)
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewLocal(LocalOptions{Authority: a, Names: func() Names { return *names }, Now: c.Now, Logger: logTo(log)})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A certificate is renewed after two thirds of its time, when the addresses change and when the clock goes back.
func TestRenewal(t *testing.T) {
	c, log := newClock(), &bytes.Buffer{}
	names := &Names{Hosts: []string{"localhost", "edge"}, Addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1")}}
	l := newLocal(t, c, names, log)
	renewed := func(what string, want bool) {
		t.Helper()
		before := l.Certificate()
		l.Look()
		if got := l.Certificate() != before; got != want {
			t.Errorf("%s: renewed %t, want %t", what, got, want)
		}
		roots := x509.NewCertPool()
		roots.AddCert(l.o.Authority.Cert)
		for _, name := range append(names.Hosts, names.Addresses[len(names.Addresses)-1].String()) {
			if _, err := l.Certificate().Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, CurrentTime: c.now}); err != nil {
				t.Errorf("%s: %s: %v", what, name, err)
			}
		}
	}
	renewed("at once", false)
	c.now = c.now.Add(validity*2/3 - time.Hour)
	renewed("before two thirds", false)
	c.now = c.now.Add(2 * time.Hour)
	renewed("after two thirds", true)
	names.Addresses = append(names.Addresses, netip.MustParseAddr("192.0.2.7"))
	renewed("one more address", true)
	renewed("the same", false)
	c.now = c.now.Add(-48 * time.Hour)
	renewed("the clock went back", true)
	c.now = c.now.AddDate(caYears-1, 10, 0)
	renewed("near the end of the CA", true)
	if !strings.Contains(log.String(), "the local CA ends soon") {
		t.Errorf("no warning: %s", log)
	}
}

// More names than a certificate takes are left out, the first stay.
func TestNamesAreBounded(t *testing.T) {
	names := &Names{Hosts: []string{"first", "not ascii ü"}}
	a := netip.MustParseAddr("10.0.0.0")
	for range 2 * mostNames {
		a = a.Next()
		names.Addresses = append(names.Addresses, a, a)
	}
	l := newLocal(t, newClock(), names, &bytes.Buffer{})
	leaf := l.Certificate().Leaf
	if len(leaf.DNSNames) != 1 || len(leaf.IPAddresses) != mostNames || leaf.VerifyHostname("10.0.0.1") != nil {
		t.Errorf("got %v and %d addresses", leaf.DNSNames, len(leaf.IPAddresses))
	}
}

// A CA stays what it is, is private, and heals what a crash leaves. A damaged one is never replaced.
func TestAuthority(t *testing.T) {
	c := newClock()
	dir := t.TempDir()
	first, err := OpenAuthority(dir, c.now)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, CAKeyFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key: %v, %v", info.Mode(), err)
	}
	if again, err := OpenAuthority(dir, c.now); err != nil || !again.Cert.Equal(first.Cert) || !again.Cert.MaxPathLenZero {
		t.Errorf("again: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, CAFile)); err != nil {
		t.Fatal(err)
	}
	if healed, err := OpenAuthority(dir, c.now); err != nil || healed.Cert.Subject.String() != first.Cert.Subject.String() || !first.key.Equal(healed.key) {
		t.Errorf("a crash between key and certificate: %v", err)
	}
	other := t.TempDir()
	if _, err := OpenAuthority(other, c.now); err != nil {
		t.Fatal(err)
	}
	foreign, _ := os.ReadFile(filepath.Join(other, CAKeyFile))
	whole, _ := os.ReadFile(filepath.Join(dir, CAFile))
	for _, damage := range []struct{ file, text, want string }{
		{CAFile, "", "not one certificate"},
		{CAFile, string(whole[:len(whole)/2]), "not one certificate"},
		{CAFile, strings.Replace(string(whole), "\nMI", "\nMJ", 1), CAFile},
		{CAKeyFile, "", "not one key"},
		{CAKeyFile, string(foreign), "does not belong"},
	} {
		path := filepath.Join(dir, damage.file)
		before, _ := os.ReadFile(path)
		mustWrite(t, path, damage.text)
		_, err := OpenAuthority(dir, c.now)
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), damage.want) || !strings.Contains(err.Error(), "from a backup") {
			t.Errorf("%s %.20q: got %v", damage.file, damage.text, err)
		}
		if after, _ := os.ReadFile(path); string(after) != damage.text {
			t.Errorf("%s was replaced", damage.file)
		}
		mustWrite(t, path, string(before))
	}
	if err := os.Chmod(filepath.Join(dir, CAKeyFile), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenAuthority(dir, c.now); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("mode 0640: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, CAKeyFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenAuthority(dir, c.now); !errors.Is(err, ErrDamaged) {
		t.Errorf("without its key: %v", err)
	}
}

// A CA that was made with the clock of a machine without a battery is valid when the clock is right.
func TestAuthorityOfAnOldClock(t *testing.T) {
	a, err := OpenAuthority(t.TempDir(), time.Unix(0, 0))
	if err != nil || a.Cert.NotAfter.Before(earliest.AddDate(caYears, 0, 0)) {
		t.Errorf("until %v, %v", a.Cert.NotAfter, err)
	}
}

// Files are read again when they change, also by way of a link. What cannot be used changes nothing and is logged once.
func TestFilesAreReadAgain(t *testing.T) {
	ca, c, log := tlstest.NewAuthority(t, "ca"), newClock(), &bytes.Buffer{}
	dir := t.TempDir()
	put := func(version, cert, key string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, version), 0o700); err != nil {
			t.Fatal(err)
		}
		mustWrite(t, filepath.Join(dir, version, "c"), cert)
		mustWrite(t, filepath.Join(dir, version, "k"), key)
		if err := os.Symlink(version, filepath.Join(dir, "next")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, "live")); err != nil {
			t.Fatal(err)
		}
	}
	cert1, key1 := ca.Sign(t, "one")
	cert2, key2 := ca.Sign(t, "two")
	put("1", cert1, key1)
	f, err := OpenFiles(FilesOptions{filepath.Join(dir, "live", "c"), filepath.Join(dir, "live", "k"), c.Now, logTo(log)})
	if err != nil {
		t.Fatal(err)
	}
	log.Reset()
	serves := func(want string, warnings int) {
		t.Helper()
		f.Look()
		if got := f.Certificate().Leaf.Subject.CommonName; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got := strings.Count(log.String(), "cannot be used"); got != warnings {
			t.Errorf("%d warnings, want %d: %s", got, warnings, log)
		}
	}
	serves("one", 0)
	put("2", cert2, key2)
	serves("two", 0)
	put("3", cert1, key2) // perhaps half of a change
	serves("two", 0)
	serves("two", 1)
	serves("two", 1)
	put("4", "broken", key2)
	serves("two", 1)
	serves("two", 2)
	if err := os.RemoveAll(filepath.Join(dir, "4")); err != nil {
		t.Fatal(err)
	}
	serves("two", 2)
	serves("two", 3)
	put("5", cert1, key1)
	serves("one", 3)
}

// What an operator should know of the files is logged at the start.
func TestFilesWarn(t *testing.T) {
	ca, c, log := tlstest.NewAuthority(t, "ca"), newClock(), &bytes.Buffer{}
	cert, key := ca.Sign(t, "one")
	dir := t.TempDir()
	o := FilesOptions{filepath.Join(dir, "c"), filepath.Join(dir, "k"), c.Now, logTo(log)}
	mustWrite(t, o.CertPath, cert)
	mustWrite(t, o.KeyPath, key)
	if err := os.Chmod(o.KeyPath, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFiles(o); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"all users of this machine can read the TLS key", "replace it in time"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is missing: %s", want, log)
		}
	}
}

// A certificate that is over does not take the place of a valid one, and a valid one takes the place of one that is over.
func TestExpiredFilesAreNotUsed(t *testing.T) {
	c, log := newClock(), &bytes.Buffer{}
	start := c.now
	dir := t.TempDir()
	o := FilesOptions{filepath.Join(dir, "c"), filepath.Join(dir, "k"), c.Now, logTo(log)}
	put := func() *x509.Certificate {
		t.Helper()
		pair := newLocal(t, c, &Names{}, &bytes.Buffer{}).Certificate()
		der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
		if err != nil {
			t.Fatal(err)
		}
		mustWrite(t, o.CertPath, string(encode(certBlock, pair.Certificate[0])))
		mustWrite(t, o.KeyPath, string(encode(keyBlock, der)))
		return pair.Leaf
	}
	valid := put()
	f, err := OpenFiles(o)
	if err != nil {
		t.Fatal(err)
	}
	c.now = start.AddDate(-1, 0, 0)
	put()
	c.now = start
	f.Look()
	f.Look()
	if !f.Certificate().Leaf.Equal(valid) || !strings.Contains(log.String(), "which is not now") {
		t.Errorf("a certificate that is over is in use: %s", log)
	}
	c.now = start.AddDate(1, 0, 0)
	next := put()
	f.Look()
	if !f.Certificate().Leaf.Equal(next) {
		t.Error("a valid certificate is not in use")
	}
}

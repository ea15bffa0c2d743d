package certs

import (
	"crypto/tls"
	"net"
	"testing"
	"time"
)

// TestVersions connects with TLS 1.3, and with TLS 1.2 by each kind of suite. Older versions, and suites without authenticated encryption
// or without forward secrecy, are refused.
func TestVersions(t *testing.T) {
	authority, err := OpenAuthority(t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	local, err := NewLocal(LocalOptions{Authority: authority, Names: func() Names { return Names{Hosts: []string{"localhost"}} }, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		version, suite uint16
		want           bool
	}{
		{tls.VersionTLS13, 0, true}, {tls.VersionTLS12, 0, true}, {tls.VersionTLS11, 0, false},
		{tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, true},
		{tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, true},
		{tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, false},
		{tls.VersionTLS12, tls.TLS_RSA_WITH_AES_128_GCM_SHA256, false},
	} {
		client := &tls.Config{InsecureSkipVerify: true, MinVersion: c.version, MaxVersion: c.version} //nolint:gosec // the versions are what is tested
		if c.suite != 0 {
			client.CipherSuites = []uint16{c.suite}
		}
		here, there := net.Pipe()
		served := make(chan error, 1)
		go func() { served <- tls.Server(there, Config(local, nil)).HandshakeContext(t.Context()); there.Close() }()
		err := tls.Client(here, client).HandshakeContext(t.Context())
		here.Close()
		if got := err == nil && <-served == nil; got != c.want {
			t.Errorf("%s, suite %s: connected is %t, want %t: %v", tls.VersionName(c.version), tls.CipherSuiteName(c.suite), got, c.want, err)
		}
	}
}

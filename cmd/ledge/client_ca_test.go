package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/bridge/tlstest"
	"ledge/cmd/ledgetest"
)

// Each line of the file is read or refused: nobody is to believe that a CA is trusted which is not.
func TestClientCAFile(t *testing.T) {
	t.Parallel()
	ca := tlstest.NewAuthority(t, "ca")
	cert, key := ca.Sign(t, "server")
	for text, want := range map[string]string{
		"": "has no certificate", "text": "has no certificate", key: `has a block of the type "PRIVATE KEY"`, ca.PEM + key: `has a block of the type "PRIVATE KEY"`,
		cert: "CN=server is not that of a CA", ca.PEM + "-----BEGIN CERTIFICATE-----\nbad": "what follows certificate 1 is broken",
		"-----BEGIN CERTIFICATE-----\naGk=\n-----END CERTIFICATE-----\n": "certificate 1: ", strings.Repeat("x", maxCAFile+1): "make it shorter", ca.PEM + ca.PEM: "",
	} {
		path := ledgetest.MustWriteFile(t, "ca.pem", text)
		roots, err := caPool("tls-client-ca", path)
		if want == "" && (err != nil || roots == nil) || want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "setting tls-client-ca: "+path)) {
			t.Errorf("%.60q: got %v, want %q", text, err, want)
		}
	}
	if roots, err := caPool("tls-client-ca", ""); roots != nil || err != nil {
		t.Errorf("no path: %v", err)
	}
	if _, err := caPool("tls-client-ca", filepath.Join(t.TempDir(), "none.pem")); !os.IsNotExist(errors.Unwrap(err)) {
		t.Errorf("no file: got %v", err)
	}
}

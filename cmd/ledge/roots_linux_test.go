package main

import (
	"crypto/x509"
	"os"
	"os/exec"
	"testing"
)

// TestRootsWithoutASystem holds that the program trusts the CAs that Mozilla trusts if the system has no CAs, as in the image for
// containers.
func TestRootsWithoutASystem(t *testing.T) {
	if os.Getenv("TEST_LEDGE_ROOTS") != "" {
		pool, err := x509.SystemCertPool()
		if err != nil {
			t.Fatal(err)
		}
		if pool.Equal(x509.NewCertPool()) {
			t.Error("there are no CAs")
		}
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRootsWithoutASystem$")
	cmd.Env = append(os.Environ(), "TEST_LEDGE_ROOTS=1", "SSL_CERT_FILE=/dev/null", "SSL_CERT_DIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

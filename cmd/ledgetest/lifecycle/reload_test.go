package lifecycle

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ledge/bridge/tlstest"
	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// reload sends SIGHUP and returns the lines that are logged until one has the text.
func reload(p *ledgetest.Node, until string) string {
	p.TB.Helper()
	before := len(p.Log.String())
	_ = p.Cmd.Process.Signal(syscall.SIGHUP)
	ledgetest.Await(p, until, func() bool { return strings.Contains(p.Log.String()[before:], until) })
	return p.Log.String()[before:]
}

// TestReload has SIGHUP load new certificates and the log level, and leave all as it is where the new files are bad.
func TestReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ca, clients, others := tlstest.NewAuthority(t, "ca"), tlstest.NewAuthority(t, "clients"), tlstest.NewAuthority(t, "others")
	certificate := func(name string) {
		cert, key := ca.Sign(t, name)
		put("cert.pem", cert)
		put("key.pem", key)
	}
	files := "secure: true\ntls-cert: " + at("cert.pem") + "\ntls-key: " + at("key.pem") + "\ntls-client-ca: " + at("clients.pem") + "\n"
	put("ledge.yaml", files+"max-result-count: 20")
	put("clients.pem", clients.PEM)
	certificate("first")
	p := ledgetest.Start(t, t.TempDir(), "--config", at("ledge.yaml"), "--metadata-port", "127.0.0.1:0")
	accepted := func(signer *tlstest.Authority) (server string) {
		t.Helper()
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM([]byte(ca.PEM))
		cert, key := signer.Sign(t, "cam-1")
		pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
		if err != nil {
			t.Fatal(err)
		}
		shows := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, GetClientCertificate: shows}, DisableKeepAlives: true}, Timeout: ledgetest.Timeout}
		resp, err := c.Get(p.Metadata + "/api/v2/ping")
		if err != nil {
			return ""
		}
		resp.Body.Close()
		return resp.TLS.PeerCertificates[0].Subject.CommonName
	}
	holds := func(what, server string, known, unknown *tlstest.Authority) {
		t.Helper()
		if got := accepted(known); got != server {
			t.Errorf("%s: the server has the certificate %q, want %q", what, got, server)
		}
		if accepted(unknown) != "" {
			t.Errorf("%s: a client with a certificate of another CA is accepted", what)
		}
	}
	holds("at the start", "first", clients, others)

	put("ledge.yaml", files+"max-result-count: 30\nlog-level: debug\nresend-limit: 3")
	put("clients.pem", others.PEM)
	certificate("second")
	lines := reload(p, `"msg":"reloaded"`)
	if !strings.Contains(lines, `needs a restart","settings":"max-result-count, resend-limit"`) || !strings.Contains(lines, `"log-level":"debug"`) {
		t.Errorf("reloaded: %s", lines)
	}
	holds("reloaded", "second", others, clients)

	put("ledge.yaml", files+"log-level: loud")
	put("clients.pem", "broken")
	put("cert.pem", "broken")
	lines = reload(p, "the CA of client certificates; the old one stays in use")
	if got := strings.Count(lines, `"level":"ERROR"`); got != 3 || !strings.Contains(lines, "use debug, info, warn or error") || !strings.Contains(lines, "give two PEM files") {
		t.Errorf("%d errors for three bad files: %s", got, lines)
	}
	holds("after bad files", "second", others, clients)
	if code := p.Stop(); code != exit.OK {
		t.Errorf("exit code %d", code)
	}
}

// TestReloadUnderNohup holds that SIGHUP reloads also where it was ignored at the start.
func TestReloadUnderNohup(t *testing.T) {
	t.Parallel()
	p := ledgetest.LaunchUnder(t, []string{"nohup"}, t.TempDir())
	if err := p.WaitReady(); err != nil {
		t.Fatalf("%v\n%s", err, p.Log)
	}
	reload(p, `"msg":"reloaded"`)
	if code := p.Stop(); code != exit.OK {
		t.Errorf("exit code %d", code)
	}
}

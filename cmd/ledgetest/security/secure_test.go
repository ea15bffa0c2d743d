package security

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ledge/bridge/tlstest"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/services"
	"ledge/cmd/ledgetest"
)

// TestSecure starts secure mode on an empty folder: with the CA, clients reach each service at each address of the machine.
func TestSecure(t *testing.T) {
	t.Parallel()
	if _, stderr, code := ledgetest.Run(t, "ca", "--data-dir", t.TempDir()); code != exit.Folder || !strings.Contains(stderr, "start once with `ledge serve --secure`") {
		t.Errorf("ledge ca without a CA: %d %s", code, stderr)
	}
	p := ledgetest.Start(t, t.TempDir(), "--secure")
	ca := ledgetest.CA(p)
	get := ledgetest.OverTLS(t, ca, ledgetest.Client13)
	for _, url := range []string{p.Metadata, p.CoreData, p.DeviceREST, p.Notifications, p.Console, p.NATS} {
		// Nothing that listens on 127.0.0.1 alone is at 127.0.0.2.
		conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.2", fmt.Sprint(ledgetest.URLPort(t, url))))
		if err != nil {
			t.Errorf("%s does not listen on all addresses: %v", url, err)
			continue
		}
		conn.Close()
	}
	if a, err := get(ledgetest.At(t, p.Console, "https", "127.0.0.1") + "/login"); err != nil || a.Status != http.StatusOK {
		t.Errorf("console: %d %v", a.Status, err)
	}
	hosts := []string{"127.0.0.1", "localhost", ledgetest.MachineAddress(t)}
	for _, service := range []string{p.Metadata, p.CoreData, p.DeviceREST, p.Notifications} {
		for _, host := range hosts {
			if a, err := get(ledgetest.At(t, service, "https", host) + "/api/v2/ping"); err != nil || a.Status != http.StatusOK {
				t.Errorf("%s at %s: %d %v", service, host, a.Status, err)
			}
			a, err := get(ledgetest.At(t, service, "http", host) + "/api/v2/ping")
			if err != nil || a.Status != http.StatusBadRequest || a.Body != "this port takes only TLS; use https:// instead of http://\n" {
				t.Errorf("plain HTTP to %s at %s: %d %s %v", service, host, a.Status, a.Body, err)
			}
		}
	}
	other := tlstest.NewAuthority(t, "other")
	if _, err := ledgetest.OverTLS(t, other.PEM, ledgetest.Client13)(p.Metadata + "/api/v2/ping"); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("a client that trusts another CA: %v", err)
	}
	if _, err := ledgetest.OverTLS(t, ca, ledgetest.Client12)(p.Metadata + "/api/v2/ping"); err != nil {
		t.Errorf("a client with TLS 1.2: %v", err)
	}
	if _, err := ledgetest.OverTLS(t, ca, ledgetest.Client11)(p.Metadata + "/api/v2/ping"); err == nil || !strings.Contains(err.Error(), "protocol version") {
		t.Errorf("a client with TLS 1.1: %v", err)
	}
	if curl, err := exec.LookPath("curl"); err == nil {
		out, err := exec.CommandContext(t.Context(), curl, "-sS", "--noproxy", "*", "--cacert", ledgetest.MustWriteFile(t, "ca.pem", ca), ledgetest.At(t, p.Metadata, "https", "127.0.0.1")+"/api/v2/ping").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "core-metadata") {
			t.Errorf("curl: %v %s", err, out)
		}
	}
	if code := p.Stop(); code != exit.OK {
		t.Errorf("exit code %d", code)
	}
	if ledgetest.CA(p) != ca {
		t.Error("the CA of a stopped server is another")
	}
}

// TestSwitchModes changes the mode by a restart only. What was written stays, and so does the CA.
func TestSwitchModes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	p.AddDevice("cam")
	p.Stop()
	p = ledgetest.Start(t, dir, "--secure")
	ca := ledgetest.CA(p)
	token, stderr, code := ledgetest.Run(t, "token", "create", "--data-dir", dir, "t", "--role", "viewer")
	if code != exit.OK {
		t.Fatal(stderr)
	}
	login := []string{"Authorization", "Bearer " + strings.TrimSpace(token)}
	if a, err := ledgetest.OverTLS(t, ca, ledgetest.Client12)(p.Metadata+"/api/v2/device/name/cam", login...); err != nil || a.Status != http.StatusOK {
		t.Errorf("secure: %d %v", a.Status, err)
	}
	p.Stop()
	p = ledgetest.Start(t, dir)
	if a := p.Call(http.MethodGet, p.Metadata+"/api/v2/device/name/cam", "", ""); a.Status != http.StatusOK {
		t.Errorf("open again: %d", a.Status)
	}
	p.Stop()
	file := filepath.Join(t.TempDir(), "backup.tar")
	if _, stderr, code := ledgetest.Run(t, "backup", "--data-dir", dir, file); code != exit.OK {
		t.Fatal(stderr)
	}
	restored := filepath.Join(t.TempDir(), "restored")
	if _, stderr, code := ledgetest.Run(t, "restore", file, restored); code != exit.OK {
		t.Fatal(stderr)
	}
	salvaged := filepath.Join(t.TempDir(), "salvaged")
	if _, stderr, code := ledgetest.Run(t, "salvage", "--data-dir", dir, salvaged); code != exit.OK {
		t.Fatal(stderr)
	}
	for _, copied := range []string{restored, salvaged} {
		p = ledgetest.Start(t, copied, "--secure")
		a, err := ledgetest.OverTLS(t, ca, ledgetest.Client13)(p.Metadata+"/api/v2/device/name/cam", login...)
		if salvage := copied == salvaged; err != nil || a.Status != http.StatusOK && !salvage {
			t.Errorf("%s does not have the CA or the token: %d %v", copied, a.Status, err)
		}
		p.Stop()
	}
	if err := os.WriteFile(filepath.Join(dir, "ca.pem"), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"serve", "--secure"}, {"verify"}, {"backup", file + ".2"}, {"ca"}} {
		_, stderr, code := ledgetest.Run(t, slices.Concat(args, []string{"--data-dir", dir}, services.FreePorts("0"))...)
		if code != exit.Damaged || args[0] != "verify" && !strings.Contains(stderr, "move both away") {
			t.Errorf("%v with a damaged CA: %d %s", args, code, stderr)
		}
	}
}

// TestLoopbackOpen holds that only programs of this machine get in without TLS.
func TestLoopbackOpen(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir(), "--secure", "--loopback", "operator")
	get := ledgetest.OverTLS(t, ledgetest.CA(p), ledgetest.Client13)
	for _, test := range []struct {
		scheme, host string
		header       []string
		want         int
	}{
		{"http", "127.0.0.1", nil, http.StatusOK},
		{"https", "127.0.0.1", nil, http.StatusUnauthorized},
		{"http", "127.0.0.1", []string{"X-Forwarded-For", "203.0.113.9"}, http.StatusBadRequest},
		{"http", "127.0.0.1", []string{"Forwarded", "for=203.0.113.9"}, http.StatusBadRequest},
		{"http", "127.0.0.1", []string{"Via", "1.1 proxy"}, http.StatusBadRequest},
		{"http", "127.0.0.1", []string{"X-Forwarded-Host", "edge.example.org"}, http.StatusBadRequest},
		{"http", "127.0.0.1", []string{"X-Forwarded-Proto", "https"}, http.StatusBadRequest},
	} {
		a, err := get(ledgetest.At(t, p.Metadata, test.scheme, test.host)+"/api/v2/device/all", test.header...)
		if err != nil || a.Status != test.want {
			t.Errorf("%+v: got %d %s %v", test, a.Status, a.Body, err)
		}
	}
}

// TestCertificateFiles replaces the files of a server that runs. Connections stay open, new ones see the new certificate.
func TestCertificateFiles(t *testing.T) {
	t.Parallel()
	ca := tlstest.NewAuthority(t, "ca")
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	put := func(c, k string) {
		t.Helper()
		for path, text := range map[string]string{cert: c, key: k} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(ca.Sign(t, "first"))
	p := ledgetest.Start(t, t.TempDir(), "--secure", "--tls-cert", cert, "--tls-key", key, "--metadata-port", "127.0.0.1:0")
	serves := func() string {
		t.Helper()
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM([]byte(ca.PEM))
		c, err := tls.Dial("tcp", strings.TrimPrefix(p.Metadata, "https://"), &tls.Config{RootCAs: pool, MinVersion: ledgetest.Client13})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	get := ledgetest.OverTLS(t, ca.PEM, ledgetest.Client13)
	if a, err := get(p.Metadata + "/api/v2/ping"); err != nil || a.Status != http.StatusOK || serves() != "first" {
		t.Fatal(a.Status, err)
	}
	live, err := tls.Dial("tcp", strings.TrimPrefix(p.Metadata, "https://"), &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // the test looks at one connection
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	in := bufio.NewReader(live)
	ping := func() {
		t.Helper()
		_ = live.SetDeadline(time.Now().Add(ledgetest.Timeout))
		fmt.Fprint(live, "GET /api/v2/ping HTTP/1.1\r\nHost: localhost\r\n\r\n")
		resp, err := http.ReadResponse(in, nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("the connection did not survive: %v", err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	ping()
	put(ca.Sign(t, "second"))
	ledgetest.Await(p, "the new certificate", func() bool { return serves() == "second" })
	ping()
	put("broken", "broken")
	ledgetest.Await(p, "a warning", func() bool { return strings.Contains(p.Log.String(), "the old one stays in use") })
	ping()
	if got := serves(); got != "second" {
		t.Errorf("got %s", got)
	}
	p.Stop()
	_, stderr, code := ledgetest.Run(t, "serve", "--secure", "--tls-cert", cert, "--tls-key", key, "--data-dir", t.TempDir())
	if code != exit.Usage || !strings.Contains(stderr, "tls-cert") || !strings.Contains(stderr, "give two PEM files") {
		t.Errorf("a start with broken files: %d %s", code, stderr)
	}
}

// TestClientCertificates holds that a client certificate is asked for and verified, and that none is needed to connect.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	ca, other := tlstest.NewAuthority(t, "clients"), tlstest.NewAuthority(t, "other")
	p := ledgetest.Start(t, t.TempDir(), "--secure", "--tls-client-ca", ledgetest.MustWriteFile(t, "clients.pem", ca.PEM))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(ledgetest.CA(p)))
	for name, test := range map[string]struct {
		signer *tlstest.Authority
		fine   bool
	}{"known": {ca, true}, "unknown": {other, false}, "none": {nil, true}} {
		config := &tls.Config{RootCAs: roots, MinVersion: ledgetest.Client13}
		if test.signer != nil {
			cert, key := test.signer.Sign(t, "cam-1")
			pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
			if err != nil {
				t.Fatal(err)
			}
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		}
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}, Timeout: ledgetest.Timeout}
		resp, err := c.Get(p.Metadata + "/api/v2/ping")
		if err == nil {
			resp.Body.Close()
		}
		if (err == nil) != test.fine {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSilentTLS has clients begin TLS, or nothing, and stop. Each connection ends, and others are served meanwhile.
func TestSilentTLS(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir(), "--secure")
	address := strings.TrimPrefix(ledgetest.At(t, p.Metadata, "https", "127.0.0.1"), "https://")
	var all []net.Conn
	for _, text := range []string{"", "\x16", "\x16\x03\x01\x02\x00\x01", "G", "GET / HTTP/1.1\r\n"} {
		for range 50 {
			c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_, _ = io.WriteString(c, text)
			all = append(all, c)
		}
	}
	get := ledgetest.OverTLS(t, ledgetest.CA(p), ledgetest.Client13)
	if a, err := get(p.Metadata + "/api/v2/ping"); err != nil || a.Status != http.StatusOK {
		t.Errorf("beside silent clients: %d %v", a.Status, err)
	}
	for _, c := range all {
		_ = c.SetReadDeadline(time.Now().Add(ledgetest.Timeout))
		if _, err := io.Copy(io.Discard, c); os.IsTimeout(err) {
			t.Fatal("a silent connection is still open")
		}
	}
}

// TestOwnAddressIsRefused holds that Ledge sends nothing to its own ports at any address of the machine.
func TestOwnAddressIsRefused(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir(), "--secure", "--loopback", "operator")
	base := ledgetest.At(t, p.Notifications, "http", "127.0.0.1")
	for _, host := range []string{"127.0.0.1", ledgetest.MachineAddress(t)} {
		for _, service := range []string{p.Metadata, p.CoreData, p.DeviceREST, p.Notifications} {
			channel := fmt.Sprintf(`{"type":"REST","scheme":"https","host":%q,"port":%d,"path":"/","httpMethod":"POST"}`, host, ledgetest.URLPort(t, service))
			a := p.Call(http.MethodPost, base+"/api/v2/subscription", "application/json", ledgetest.SubscriptionJSON("own", "own", channel))
			if !strings.Contains(a.Body, "is Ledge's own, for ") {
				t.Errorf("%s at %s: %d %s", service, host, a.Status, a.Body)
			}
		}
	}
}

// TestWelcome holds what a person at a terminal is told. script gives the server a terminal.
func TestWelcome(t *testing.T) {
	t.Parallel()
	script, err := exec.LookPath("script")
	if err != nil {
		t.Skip("script is not installed: Debian's package bsdutils")
	}
	if terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err != nil {
		t.Skipf("there are no pseudo-terminals: %v", err)
	} else {
		terminal.Close()
	}
	for _, test := range []struct {
		flag, last  string
		wants       []string
		hasPassword bool
	}{
		{"--secure", "curl --cacert", []string{
			"ledge ca --data-dir DIR", "curl --cacert ledge-ca.pem https://", "DIR/admin-password", "console        https://",
		}, true},
		{"", "The console is at", []string{
			"The console is at http://127.0.0.1:", "Log in as user admin with the password ", "DIR/admin-password",
		}, true},
		{">" + os.DevNull, "msg=ready", []string{ // only the log has a terminal
			"its password is in a file until it is changed", "file=DIR/admin-password",
		}, false},
	} {
		dir := t.TempDir()
		ctx, cancel := context.WithTimeout(t.Context(), ledgetest.Timeout)
		defer cancel()
		// exec: control-C would end a shell that waits for Ledge too, and dash then answers 130 for both.
		cmd := exec.CommandContext(ctx, script, "-qec", "exec "+ledgetest.Binary+" serve "+
			strings.Join(services.FreePorts("-1"), " ")+" --data-dir "+dir+" "+test.flag, os.DevNull)
		keys, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for in := bufio.NewScanner(out); in.Scan(); {
			text.WriteString(in.Text() + "\n")
			if strings.Contains(in.Text(), test.last) {
				// Control-C stops Ledge itself. To end script would leave Ledge writing in a folder that the test removes.
				if _, err := keys.Write([]byte{3}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("after control-C: %v", err)
		}
		password := strings.TrimSpace(ledgetest.MustRead(t, filepath.Join(dir, "admin-password")))
		if strings.Contains(text.String(), password) != test.hasPassword {
			t.Errorf("%s: the password is shown: %v, want %v", test.flag, !test.hasPassword, test.hasPassword)
		}
		for _, want := range test.wants {
			if want = strings.ReplaceAll(want, "DIR", dir); !strings.Contains(text.String(), want) {
				t.Errorf("%q is missing: %s", want, text.String())
			}
		}
	}
}

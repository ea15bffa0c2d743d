package security

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ledge/bridge/tlstest"
	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// trial is how a client is admitted or refused: with a token, and the file of a CA.
type trial struct {
	name, token, ca string
	want            string // in what the client prints
}

// trials are a good token and all ways of being refused. good is of an identity that may do what the client tries, also for the device;
// poor is of one whose role may not.
func trials(s *ledgetest.Secured, t *testing.T, good, poor domain.Role) []trial {
	t.Helper()
	ca := ledgetest.MustWriteFile(t, "ca.pem", ledgetest.CA(s.Node))
	other := ledgetest.MustWriteFile(t, "other.pem", tlstest.NewAuthority(t, "other").PEM)
	token := s.CreateToken(t, "good", good, "sample-*")
	revoked := s.CreateToken(t, "revoked", good, "sample-*")
	s.Ledge(t, "token", "revoke", "revoked")
	expired := createExpired(s, t, "--role", string(good))
	for s.Send(expired, http.MethodGet, s.Metadata+"/api/v2/version", "", "").Status != http.StatusUnauthorized {
	}
	return []trial{
		{"good", token, ca, ""},
		{"expired", expired, ca, "the token has expired; ask for a new one"},
		{"revoked", revoked, ca, "the token is not valid; ask for a new one"},
		{"wrong role", s.CreateToken(t, "poor", poor, "sample-*"), ca, "token:poor is a " + string(poor)},
		{"wrong pattern", s.CreateToken(t, "elsewhere", domain.Poster, "cam-*"), ca, "only to devices that match cam-*"},
		{"unknown CA", token, other, "certificate"},
	}
}

// createExpired creates the token "expired", whose lifetime is as short as the server takes it.
func createExpired(s *ledgetest.Secured, t *testing.T, flags ...string) string {
	t.Helper()
	for lifetime := 4 * time.Millisecond; ; lifetime *= 2 {
		out, stderr, code := ledgetest.Run(t, append([]string{"token", "create"}, append(flags, "--data-dir", s.Dir, "expired", "--expires", lifetime.String())...)...)
		if code == exit.OK {
			return strings.TrimSpace(out)
		}
		if !strings.Contains(stderr, "is not after the time of creation") {
			t.Fatalf("ledge token create: %d %s", code, stderr)
		}
	}
}

// at127 is a service's URL at 127.0.0.1.
func at127(s *ledgetest.Secured, t *testing.T, service string) string {
	return ledgetest.At(t, service, "https", "127.0.0.1")
}

// shows runs a program and holds that it prints a text.
func shows(t *testing.T, what, want, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	out, err := cmd.CombinedOutput()
	if !strings.Contains(string(out), want) {
		t.Errorf("%s: %v\n%s\nwant %s", what, err, out, want)
	}
}

// TestPythonRequests posts with Python's requests, which trusts what `ledge ca` prints.
func TestPythonRequests(t *testing.T) {
	t.Parallel()
	const python = "/usr/bin/python3"
	if exec.Command(python, "-c", "import requests").Run() != nil {
		t.Skip("Python's requests are not installed: Debian's package python3-requests")
	}
	s := ledgetest.StartSecured(t)
	for _, c := range trials(s, t, domain.Poster, domain.Viewer) {
		if c.name == "good" {
			c.want = "200 "
		}
		shows(t, c.name, c.want, python, "testdata/requests_client.py", at127(s, t, s.DeviceREST)+"/api/v2/resource/sample-numeric/int", c.ca, c.token)
	}
}

// TestCurl posts with curl and a token.
func TestCurl(t *testing.T) {
	t.Parallel()
	curl := ledgetest.NeedCurl(t)
	s := ledgetest.StartSecured(t)
	for _, c := range trials(s, t, domain.Poster, domain.Viewer) {
		if c.name == "good" {
			c.want = "200"
		}
		shows(t, c.name, c.want, curl, "-sS", "-w", "%{http_code}", "--noproxy", "*", "--cacert", c.ca, "-H", "Authorization: Bearer "+c.token, "-H", "Content-Type: text/plain",
			"-d", "42", at127(s, t, s.DeviceREST)+"/api/v2/resource/sample-numeric/int")
	}
}

// TestCurlCertificate posts with curl and a client certificate, for which the server has a token without a secret.
func TestCurlCertificate(t *testing.T) {
	t.Parallel()
	curl := ledgetest.NeedCurl(t)
	clients, other := tlstest.NewAuthority(t, "clients"), tlstest.NewAuthority(t, "other")
	s := ledgetest.StartSecured(t, "--tls-client-ca", ledgetest.MustWriteFile(t, "clients.pem", clients.PEM))
	ca := ledgetest.MustWriteFile(t, "ca.pem", ledgetest.CA(s.Node))
	create := func(name string, flags ...string) {
		t.Helper()
		s.Ledge(t, append([]string{"token", "create", "--certificate", name}, flags...)...)
	}
	create("good", "--devices", "sample-*")
	create("elsewhere", "--devices", "cam-*")
	create("reader", "--role", "viewer")
	createExpired(s, t, "--certificate")
	create("revoked")
	s.Ledge(t, "token", "revoke", "revoked")
	for _, c := range []struct {
		name   string
		signer *tlstest.Authority
		ca     string
		want   string
	}{
		{"good", clients, ca, "200"},
		{"elsewhere", clients, ca, "only to devices that match cam-*"},
		{"reader", clients, ca, "is a viewer; POST /api/v2/resource/:device/:resource needs the role"},
		{"expired", clients, ca, "has expired"},
		{"revoked", clients, ca, "the client certificate gives no access"},
		{"good", other, ca, "unknown ca"},
		{"good", clients, ledgetest.MustWriteFile(t, "other.pem", other.PEM), "certificate"},
	} {
		certificate, key := c.signer.Sign(t, c.name)
		shows(t, c.name, c.want, curl, "-sS", "-w", "%{http_code}", "--noproxy", "*", "--cacert", c.ca, "--cert", ledgetest.MustWriteFile(t, "cert.pem", certificate), "--key", ledgetest.MustWriteFile(t, "key.pem", key),
			"-H", "Content-Type: text/plain", "-d", "42", at127(s, t, s.DeviceREST)+"/api/v2/resource/sample-numeric/int")
	}
}

// TestCertificateExpiresOnItsConnection keeps one connection open until its client certificate has expired. Before, the connection went on.
func TestCertificateExpiresOnItsConnection(t *testing.T) {
	t.Parallel()
	clients := tlstest.NewAuthority(t, "clients")
	s := ledgetest.StartSecured(t, "--tls-client-ca", ledgetest.MustWriteFile(t, "clients.pem", clients.PEM))
	s.Ledge(t, "token", "create", "--certificate", "reader", "--role", "viewer")
	certificate, key := clients.SignUntil(t, "reader", time.Now().Add(5*time.Second))
	pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	transport := s.Client.Transport.(*http.Transport)
	transport.TLSClientConfig.Certificates = []tls.Certificate{pair}
	transport.MaxConnsPerHost = 1 // else it may dial while the connection of the request before is on its way back
	connections := 0
	trace := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		if !i.Reused {
			connections++
		}
	}})
	get := func() (status int, body string) {
		req, err := http.NewRequestWithContext(trace, http.MethodGet, s.Metadata+"/api/v2/device/all", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := s.Client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(text)
	}
	status, body := get()
	if status != http.StatusOK {
		t.Fatalf("with a valid certificate: %d %s", status, body)
	}
	ledgetest.Until(t, "the certificate to be refused", func() bool { status, body = get(); return status != http.StatusOK })
	if status != http.StatusUnauthorized || !strings.Contains(body, "the client certificate has expired") || connections != 1 {
		t.Errorf("after its time: %d %s, on %d connections", status, body, connections)
	}
}

// TestEdgeXClientsWithToken runs EdgeX's own Go clients of core-data with a token in an http.RoundTripper.
func TestEdgeXClientsWithToken(t *testing.T) {
	t.Parallel()
	path := ledgetest.BuildOnEdgeX(t, "../testdata/dataclient")
	s := ledgetest.StartSecured(t)
	for _, c := range trials(s, t, domain.Operator, domain.Viewer) {
		cmd := exec.CommandContext(t.Context(), path, at127(s, t, s.CoreData))
		cmd.Env = append(os.Environ(), "TEST_LEDGE_CA="+c.ca, "TEST_LEDGE_TOKEN="+c.token)
		out, err := cmd.CombinedOutput()
		if (err == nil) != (c.name == "good") || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v\n%s\nwant %s", c.name, err, out, c.want)
		}
	}
}

// TestNATSCommand subscribes with the nats command, as docs/reference/nats-clients.md says.
func TestNATSCommand(t *testing.T) {
	t.Parallel()
	command := ledgetest.FindNATS(t)
	s := ledgetest.StartSecured(t)
	_, text, _ := strings.Cut(ledgetest.MustReadDocs(t, "reference/nats-clients.md"), "```text\nnats ")
	text, _, _ = strings.Cut("nats "+text, "```")
	documented := ledgetest.Lines(text)
	if len(documented) != 2 {
		t.Fatalf("docs/reference/nats-clients.md has %d lines for nats, want 2", len(documented))
	}
	password := ledgetest.MustWriteFile(t, "password", "correct horse battery\n")
	s.Ledge(t, "user", "add", "anna", "--role", "viewer", "--password-file", password)
	d := ledgetest.NewDesk(t)
	run := func(line, token, ca string) *ledgetest.Output {
		t.Helper()
		cmd := d.Command("exec " + strings.NewReplacer("nats ", command+" ", "ledge.example:4222", "127.0.0.1:"+natsPort(s.NATS), "TOKEN", token, "ca.pem", ca, "…", "correct horse battery").Replace(line))
		cmd.Env = append(cmd.Env, "HOME="+d.Dir, "XDG_CONFIG_HOME="+d.Dir)
		out := &ledgetest.Output{More: make(chan struct{}, 1)}
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return out
	}
	const violation = "Authorization Violation"
	wants := map[string]string{
		"expired": violation, "revoked": violation, "wrong role": violation, "unknown CA": "certificate signed by unknown authority",
	}
	for _, c := range trials(s, t, domain.Viewer, domain.Poster) {
		switch want := wants[c.name]; {
		case c.name == "good":
			showsPosts(s, t, run(documented[0], "", c.ca))
			showsPosts(s, t, run(documented[1], c.token, c.ca))
		case want != "":
			out := run(documented[1], c.token, c.ca)
			for !strings.Contains(out.String(), want) {
				wait(out, t, c.name+", want "+want)
			}
		}
	}
}

// showsPosts posts values until a NATS client shows one.
func showsPosts(s *ledgetest.Secured, t *testing.T, out *ledgetest.Output) {
	t.Helper()
	for end := time.Now().Add(ledgetest.Timeout); !strings.Contains(out.String(), "ledge.reading.sample-numeric.sample-numeric.int"); {
		if a := s.Send(s.Tokens[domain.Operator], http.MethodPost, s.DeviceREST+"/api/v2/resource/sample-numeric/int", "text/plain", "42"); a.Status != http.StatusOK || time.Now().After(end) {
			t.Fatalf("post: %d %s; the client shows %s", a.Status, a.Body, out)
		}
	}
}

// wait returns when there is more.
func wait(b *ledgetest.Output, t *testing.T, what string) {
	t.Helper()
	select {
	case <-b.More:
	case <-time.After(ledgetest.Timeout):
		t.Fatalf("%s: got %s", what, b)
	}
}

func natsPort(url string) string { return url[strings.LastIndexByte(url, ':')+1:] }

// TestTLSMetrics holds that /metrics counts failed handshakes by their reason, and has the time until the certificate expires.
func TestTLSMetrics(t *testing.T) {
	t.Parallel()
	clients, other := tlstest.NewAuthority(t, "clients"), tlstest.NewAuthority(t, "other")
	s := ledgetest.StartSecured(t, "--tls-client-ca", ledgetest.MustWriteFile(t, "clients.pem", clients.PEM))
	url := at127(s, t, s.Metadata) + "/api/v2/ping"
	if _, err := ledgetest.OverTLS(t, other.PEM, ledgetest.Client13)(url); err == nil {
		t.Error("a client that trusts another CA is connected")
	}
	if _, err := ledgetest.OverTLS(t, ledgetest.CA(s.Node), ledgetest.Client11)(url); err == nil {
		t.Error("a client with TLS 1.1 is connected")
	}
	certificate, key := other.Sign(t, "x")
	pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	foreign := clientFrom(t, "127.0.0.1", ledgetest.CA(s.Node))
	foreign.Transport.(*http.Transport).TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	if _, err := foreign.Get(url); err == nil {
		t.Error("a client with a certificate of another CA is connected")
	}
	address := "127.0.0.1:" + strconv.Itoa(ledgetest.URLPort(t, s.Metadata))
	for _, sent := range []string{"\x16", "\x16\x03\x01\x00\x05hello"} {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_, err = c.Write([]byte(sent))
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = c.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, c) // until the server has ended the handshake
		c.Close()
	}
	for end := time.Now().Add(ledgetest.Timeout); ; {
		text := s.Send(s.Tokens[domain.Viewer], http.MethodGet, s.Metadata+"/metrics", "", "").Body
		missing := slices.DeleteFunc([]string{
			`{reason="client_alert"} 1`, `{reason="client_certificate"} 1`, `{reason="version"} 1`, `{reason="timeout"} 0`, `{reason="gone"} 1`, `{reason="other"} 1`,
		}, func(want string) bool { return strings.Contains(text, "ledge_tls_handshakes_failed_total"+want) })
		if len(missing) == 0 {
			left := regexp.MustCompile(`\nledge_tls_certificate_expires_seconds (\S+)\n`).FindStringSubmatch(text)
			if left == nil {
				t.Fatal("the time until the certificate expires is missing")
			}
			if n, err := strconv.ParseFloat(left[1], 64); err != nil || n < 80*86400 || n > 90*86400 {
				t.Errorf("the certificate expires in %s seconds: %v", left[1], err)
			}
			return
		}
		if time.Now().After(end) {
			t.Fatalf("missing %v in %s", missing, text)
		}
	}
}

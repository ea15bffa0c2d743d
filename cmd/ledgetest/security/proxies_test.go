package security

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ledge/bridge/porttest"
	"ledge/bridge/tlstest"
	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// clientFrom is a client with another loopback address, which trusts roots.
func clientFrom(t *testing.T, address, roots string) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(roots))
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: ledgetest.Client12}, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, _ := net.SplitHostPort(address)
		return d.DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: ledgetest.Timeout}
}

// tryPasswords sends wrong passwords for a name, one for each value of X-Forwarded-For, and returns the statuses.
func tryPasswords(t *testing.T, c *http.Client, url, host, name string, forwarded ...string) (statuses []int) {
	t.Helper()
	for _, from := range forwarded {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/v2/login", strings.NewReader(`{"username":"`+name+`","password":"wrong-password"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		req.Header.Set("Content-Type", "application/json")
		if from != "" {
			req.Header.Set("X-Forwarded-For", from)
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		statuses = append(statuses, resp.StatusCode)
	}
	return statuses
}

var slowedDown = []int{401, 401, 401, 429}

// TestForwardedLogins counts failed logins for the client that a trusted proxy names, and for nobody that others name.
func TestForwardedLogins(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir(), "--secure", "--trusted-proxies", "127.0.0.1,10.0.0.0/8")
	ca := ledgetest.CA(p)
	proxy, other := clientFrom(t, "127.0.0.1", ca), clientFrom(t, "127.0.0.9", ca)
	for _, c := range []struct {
		what      string
		client    *http.Client
		user      string
		forwarded []string
		want      []int
	}{
		{"one client, written in several ways", proxy, "u1", []string{"192.0.2.7", "192.0.2.7:1234, 10.1.1.1", "::ffff:192.0.2.7", "198.51.100.9, 192.0.2.7"}, slowedDown},
		{"another client", proxy, "u1", []string{"192.0.2.8"}, []int{401}},
		{"clients of their own", proxy, "u2", []string{"192.0.2.11", "192.0.2.12", "192.0.2.13", "192.0.2.14"}, []int{401, 401, 401, 401}},
		{"addresses that are forged elsewhere", other, "u3", []string{"192.0.2.21", "192.0.2.22", "192.0.2.23", "192.0.2.24"}, slowedDown},
		{"the name of somebody else, forged elsewhere", other, "u4", []string{"192.0.2.31", "192.0.2.31", "192.0.2.31"}, []int{401, 401, 401}},
		{"which costs the other nothing", proxy, "u4", []string{"192.0.2.31"}, []int{401}},
	} {
		if got := tryPasswords(t, c.client, p.Metadata, "", c.user, c.forwarded...); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.what, got, c.want)
		}
	}
	for _, address := range []string{"192.0.2.7:", "127.0.0.9:"} {
		p.WaitLog(`"remote":"` + address)
	}
	for _, address := range []string{"192.0.2.21:", "10.1.1.1:"} {
		if line, found := p.Log.Find(`"remote":"` + address); found {
			t.Errorf("the log names %s: %s", address, line)
		}
	}
}

// TestForwardedActor holds that an event's actor has the address that a trusted proxy names, and no address that others name.
func TestForwardedActor(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir(), "--trusted-proxies", "127.0.0.1")
	for from, client := range map[string]string{"127.0.0.1": "192.0.2.7", "127.0.0.9": "192.0.2.8"} {
		body := `[{"apiVersion":"v2","device":{"name":"sample-image","description":"` + from + `"}}]`
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, p.Metadata+"/api/v2/device", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Forwarded-For", client)
		resp, err := clientFrom(t, from, "").Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusMultiStatus {
			t.Fatalf("%s: %d", from, resp.StatusCode)
		}
	}
	log, _, _ := ledgetest.Run(t, "log", "--data-dir", p.Dir)
	for actor, want := range map[string]bool{"anonymous@192.0.2.7": true, "anonymous@127.0.0.9": true, "192.0.2.8": false} {
		if strings.Contains(log, actor) != want {
			t.Errorf("the log names %s: %t, want %t\n%s", actor, !want, want, log)
		}
	}
}

// documentedProxy returns the block of docs/reference/security.md that follows a proxy's name.
func documentedProxy(t *testing.T, name string) string {
	t.Helper()
	_, text, found := strings.Cut(ledgetest.MustReadDocs(t, "reference/security.md"), "\n"+name+":\n\n```\n")
	block, _, end := strings.Cut(text, "```")
	if !found || !end {
		t.Fatalf("docs/reference/security.md has no block for %s", name)
	}
	return block
}

// awaitPort returns when somebody listens at a port of this machine.
func awaitPort(t *testing.T, port int, exited <-chan struct{}, out *ledgetest.Output) {
	t.Helper()
	for {
		if c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			c.Close()
			return
		}
		select {
		case <-exited:
			t.Fatalf("the proxy has ended: %s", out)
		case <-t.Context().Done():
			t.Fatalf("the proxy does not listen: %s", out)
		default:
		}
	}
}

// runProxy runs a proxy until the test ends.
func runProxy(t *testing.T, port int, program string, args ...string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	out, exited := &ledgetest.Output{More: make(chan struct{}, 1)}, make(chan struct{})
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_DATA_HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = cmd.Wait(); close(exited) }()
	t.Cleanup(func() { _ = cmd.Process.Signal(os.Interrupt); <-exited })
	awaitPort(t, port, exited, out)
}

// TestNginx runs nginx with the block in docs/reference/security.md: it reaches Ledge by https, and each of its clients has an address of its own.
func TestNginx(t *testing.T) {
	t.Parallel()
	nginx, err := exec.LookPath("nginx")
	if err != nil {
		if nginx = "/usr/sbin/nginx"; !isFile(nginx) {
			t.Skip("nginx is not installed: Debian's package nginx-light")
		}
	}
	p := ledgetest.Start(t, t.TempDir(), "--secure", "--trusted-proxies", "127.0.0.1", "--allow-hosts", "edge.example.org")
	dir, port := t.TempDir(), porttest.Hold(t)
	authority := tlstest.NewAuthority(t, "public")
	certificate, key := authority.Sign(t, "edge.example.org")
	ledgetest.MustWrite(t, filepath.Join(dir, "edge.pem"), certificate)
	ledgetest.MustWrite(t, filepath.Join(dir, "edge-key.pem"), key)
	ledgetest.MustWrite(t, filepath.Join(dir, "ledge-ca.pem"), ledgetest.CA(p))
	block := strings.NewReplacer("listen 443", "listen 127.0.0.1:"+strconv.Itoa(port), "/etc/nginx", dir, ":59881", ":"+strconv.Itoa(ledgetest.URLPort(t, p.Metadata))).Replace(documentedProxy(t, "nginx"))
	config := "daemon off; master_process off; pid nginx.pid; error_log stderr; events {}\nhttp {\naccess_log off;\n"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		config += kind + "_temp_path " + kind + ";\n"
	}
	ledgetest.MustWrite(t, filepath.Join(dir, "nginx.conf"), config+block+"}\n")
	runProxy(t, port, nginx, "-p", dir, "-c", "nginx.conf", "-e", "stderr")
	behindProxy(t, p, port, authority.PEM)
}

// TestCaddy is TestNginx with Caddy.
func TestCaddy(t *testing.T) {
	t.Parallel()
	caddy, err := exec.LookPath("caddy")
	if err != nil {
		t.Skip("caddy is not installed: version 2.8 or later, from caddyserver.com/download")
	}
	p := ledgetest.Start(t, t.TempDir(), "--secure", "--trusted-proxies", "127.0.0.1", "--allow-hosts", "edge.example.org")
	dir, port := t.TempDir(), porttest.Hold(t)
	authority := tlstest.NewAuthority(t, "public")
	certificate, key := authority.Sign(t, "edge.example.org")
	ledgetest.MustWrite(t, filepath.Join(dir, "edge.pem"), certificate)
	ledgetest.MustWrite(t, filepath.Join(dir, "edge-key.pem"), key)
	ledgetest.MustWrite(t, filepath.Join(dir, "ledge-ca.pem"), ledgetest.CA(p))
	block := strings.NewReplacer("edge.example.org {", "https://edge.example.org:"+strconv.Itoa(port)+" {\n\tbind 127.0.0.1\n\ttls "+dir+"/edge.pem "+dir+"/edge-key.pem", "/etc/caddy", dir,
		":59881", ":"+strconv.Itoa(ledgetest.URLPort(t, p.Metadata))).Replace(documentedProxy(t, "Caddy"))
	ledgetest.MustWrite(t, filepath.Join(dir, "Caddyfile"), "{\n\tadmin off\n\tauto_https disable_redirects\n}\n"+block)
	runProxy(t, port, caddy, "run", "--config", filepath.Join(dir, "Caddyfile"))
	behindProxy(t, p, port, authority.PEM)
}

// behindProxy tries passwords through a proxy from two addresses, and changes a device.
func behindProxy(t *testing.T, p *ledgetest.Node, port int, roots string) {
	t.Helper()
	url := "https://127.0.0.1:" + strconv.Itoa(port)
	const host = "edge.example.org"
	anna, ben := clientFrom(t, "127.0.0.2", roots), clientFrom(t, "127.0.0.3", roots)
	for _, c := range []*http.Client{anna, ben} {
		c.Transport.(*http.Transport).TLSClientConfig.ServerName = host
	}
	if got := tryPasswords(t, anna, url, host, "admin", "", "192.0.2.1", "127.0.0.3", "192.0.2.2"); !slices.Equal(got, slowedDown) {
		t.Errorf("wrong passwords from 127.0.0.2, which forges addresses: %v, want %v", got, slowedDown)
	}
	if got := tryPasswords(t, ben, url, host, "admin", ""); got[0] != http.StatusUnauthorized {
		t.Errorf("a wrong password from 127.0.0.3: %v", got)
	}
	for _, address := range []string{"127.0.0.2:", "127.0.0.3:"} {
		p.WaitLog(`"remote":"` + address)
	}
	token, stderr, code := ledgetest.Run(t, "token", "create", "--data-dir", p.Dir, "t", "--role", "operator")
	if code != exit.OK {
		t.Fatal(stderr)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, url+"/api/v2/device", strings.NewReader(`[{"apiVersion":"v2","device":{"name":"sample-image","adminState":"LOCKED"}}]`))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(token))
	resp, err := ben.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusMultiStatus {
		t.Errorf("a change through the proxy: %d", resp.StatusCode)
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

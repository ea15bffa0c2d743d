package transport

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ledge/domain"
	"ledge/handlers/access"
)

// wrapped is a listener whose connections a port of Options takes. If they are set, remote and local are what the ends of the connections say.
type wrapped struct {
	net.Listener
	o             Options
	remote, local string
}

// moved is a connection whose ends are elsewhere.
type moved struct {
	net.Conn
	remote, local net.Addr
}

func (m moved) RemoteAddr() net.Addr { return m.remote }
func (m moved) LocalAddr() net.Addr  { return m.local }

func (w wrapped) Accept() (net.Conn, error) {
	c, err := w.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if w.remote != "" {
		c = moved{c, &net.TCPAddr{IP: net.ParseIP(w.remote), Port: 4711}, &net.TCPAddr{IP: net.ParseIP(w.local), Port: 59881}}
	}
	return w.o.Wrap(c), nil
}

// serve answers with whether a request came over TLS, its protocol and its actor. A client with its certificate is returned too.
func serve(t *testing.T, local *domain.Identity) (address string, client *http.Client) {
	t.Helper()
	return serveAt(t, local, "", "")
}

// serveAt is serve with other ends of the connections.
func serveAt(t *testing.T, local *domain.Identity, remote, here string) (address string, client *http.Client) {
	t.Helper()
	pair := httptest.NewTLSServer(nil) // for its certificate
	t.Cleanup(pair.Close)
	o := Options{TLS: &tls.Config{Certificates: pair.TLS.Certificates, MinVersion: tls.VersionTLS13}, Local: local, Logger: slog.New(slog.DiscardHandler)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{ReadHeaderTimeout: time.Minute, ConnContext: ConnContext, Handler: o.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i, _ := access.IdentityOf(r.Context())
		fmt.Fprintf(w, "%t %s %s", r.TLS != nil, i.Actor, i.Role)
	}))}
	served := make(chan error)
	go func() { served <- srv.Serve(wrapped{l, o, remote, here}) }()
	t.Cleanup(func() { srv.Close(); <-served })
	return l.Addr().String(), pair.Client()
}

func get(t *testing.T, c *http.Client, url string) (int, string) {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// TestOtherMachines holds that plain HTTP is for connections with both ends on a loopback address.
func TestOtherMachines(t *testing.T) {
	for _, ends := range []struct {
		remote, local string
		want          int
	}{
		{"127.0.0.1", "127.0.0.1", http.StatusOK}, {"::1", "::1", http.StatusOK}, {"127.0.0.9", "127.0.0.1", http.StatusOK}, {"::ffff:127.0.0.1", "::ffff:127.0.0.1", http.StatusOK},
		{"192.0.2.7", "192.0.2.1", http.StatusBadRequest}, {"192.0.2.1", "192.0.2.1", http.StatusBadRequest},
		{"127.0.0.1", "192.0.2.1", http.StatusBadRequest}, {"192.0.2.7", "127.0.0.1", http.StatusBadRequest}, {"fe80::1", "::1", http.StatusBadRequest},
	} {
		address, client := serveAt(t, &domain.Identity{Actor: "local", Role: domain.Operator}, ends.remote, ends.local)
		if status, body := get(t, client, "http://"+address); status != ends.want {
			t.Errorf("%+v: got %d %s", ends, status, body)
		}
	}
}

// On one port TLS has no identity yet, and plain HTTP of this machine has that of the program.
func TestOnePort(t *testing.T) {
	address, client := serve(t, &domain.Identity{Actor: "local", Role: domain.Viewer})
	for range 2 { // the second request has the same connection
		for scheme, want := range map[string]string{"https": "true  ", "http": "false local viewer"} {
			if status, got := get(t, client, scheme+"://"+address); status != http.StatusOK || got != want {
				t.Errorf("%s: got %d %q, want %q", scheme, status, got, want)
			}
		}
	}
}

// Without an identity for it, plain HTTP is told to use https, and the connection ends.
func TestPlainIsRefused(t *testing.T) {
	address, client := serve(t, nil)
	if status, got := get(t, client, "http://"+address); status != http.StatusBadRequest || !strings.Contains(got, "https://") {
		t.Errorf("got %d %q", status, got)
	}
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n")
	in := bufio.NewReader(c)
	if resp, err := http.ReadResponse(in, nil); err != nil || resp.StatusCode != http.StatusBadRequest || !resp.Close {
		t.Errorf("a body that is not sent: %v", err)
	}
}

// A connection can be closed while it waits for its client.
func TestCloseBeforeTheFirstByte(t *testing.T) {
	server, client := net.Pipe()
	defer client.Close()
	c := Options{TLS: &tls.Config{MinVersion: tls.VersionTLS13}, Logger: slog.New(slog.DiscardHandler)}.Wrap(server)
	if _, err := c.Write([]byte("x")); err == nil {
		t.Error("something was written before the client has begun")
	}
	read := make(chan error)
	go func() { _, err := c.Read(make([]byte, 1)); read <- err }()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-read; err == nil {
		t.Error("a read of a closed connection")
	}
}

package tap

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ledge/domain"
)

// mustSecureSession is a session at a proxy in secure mode, which was greeted already.
func mustSecureSession(t *testing.T, o Options) (d *proxy, v *session, client net.Conn) {
	t.Helper()
	client, outside := net.Pipe()
	ours, inside := net.Pipe()
	o.Logger, o.Connections = slog.New(slog.NewTextHandler(io.Discard, nil)), 4
	d = newProxy(o.withDefaults())
	v = newSession(d, outside, ours, "10.0.0.1")
	d.sessions[v] = struct{}{}
	d.count[arrived]++
	d.working.Add(2)
	go v.toClient()
	go v.fromClient()
	go func() { _, _ = io.Copy(io.Discard, inside) }()
	go func() { _, _ = inside.Write([]byte("INFO {\"client_id\":7}\r\n")) }()
	buffer := make([]byte, 1024)
	if _, err := client.Read(buffer); err != nil {
		t.Fatal(err)
	}
	return d, v, client
}

// TestTapLoginTimes holds how long a client may take for TLS, and how long its login may take to be checked.
func TestTapLoginTimes(t *testing.T) {
	silent := func(ctx context.Context, _, _, _, _ string) (domain.Identity, error) {
		<-ctx.Done()
		return domain.Identity{}, ctx.Err()
	}
	for name, c := range map[string]struct {
		options Options
		says    string
		want    time.Duration
		reads   string // its last line, if it can read one
	}{
		"TLS that is not begun":   {Options{TLS: &tls.Config{}}, "", loginWait, ""},
		"TLS that is not ended":   {Options{TLS: &tls.Config{}}, "\x16\x03\x01", loginWait, ""},
		"no login":                {Options{Login: silent}, "", loginWait, "-ERR 'Authentication Timeout'\r\n"},
		"a login that takes long": {Options{Login: silent}, "CONNECT {\"user\":\"a\",\"pass\":\"b\"}\r\n", checkWait, "-ERR 'Authentication Timeout'\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				d, v, client := mustSecureSession(t, c.options)
				var read bytes.Buffer
				all := make(chan struct{})
				go func() { defer close(all); _, _ = io.Copy(&read, client) }()
				go func() { _, _ = io.WriteString(client, c.says) }()
				<-v.gone
				d.working.Wait()
				if got := time.Since(began); got != c.want {
					t.Errorf("cut off after %s, want %s", got, c.want)
				}
				client.Close()
				if <-all; !strings.HasSuffix(read.String(), c.reads) {
					t.Errorf("the client reads %q, want %q at the end", &read, c.reads)
				}
			})
		})
	}
}

// TestTapExpiry holds that a connection ends soon after its token expires, also where only the check of the token can tell, and that a check that
// is put off ends nothing.
func TestTapExpiry(t *testing.T) {
	for name, c := range map[string]struct {
		code  domain.Code // of the check of the token after a minute
		still bool        // the name has its rights still
		ends  bool
	}{
		"by name": {domain.TooMany, false, true}, "by token": {domain.Unauthenticated, true, true}, "put off": {domain.TooMany, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				over := func() bool { return time.Since(began) >= time.Minute }
				d, v, client := mustSecureSession(t, Options{
					Login: func(_ context.Context, _, _, _, _ string) (domain.Identity, error) {
						if over() {
							return domain.Identity{}, domain.Errorf(c.code, "no")
						}
						return domain.Identity{Actor: "token:pos", Role: domain.Viewer}, nil
					},
					Still: func(domain.Identity) bool { return !over() || c.still },
				})
				ctx, stop := context.WithCancel(t.Context())
				go d.recheckAgain(ctx)
				go func() { _, _ = io.Copy(io.Discard, client) }()
				_, _ = io.WriteString(client, "CONNECT {\"auth_token\":\"x\"}\r\n")
				synctest.Wait()
				time.Sleep(time.Minute - time.Second)
				select {
				case <-v.gone:
					t.Error("ended before")
				default:
				}
				time.Sleep(time.Second + recheckEvery)
				synctest.Wait()
				select {
				case <-v.gone:
					if !c.ends {
						t.Error("ended")
					}
				default:
					if c.ends {
						t.Error("goes on")
					}
				}
				stop()
				v.close()
				d.working.Wait()
				client.Close()
			})
		})
	}
}

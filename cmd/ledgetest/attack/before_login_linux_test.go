package attack

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ledge/cmd/ledgetest"
)

// TestHeldLogins has one address hold as many connections as it can in the middle of a login. Another one gets its answers all the same.
// Before, 1,536 such connections refused every new client, because a client's share was that of the whole service; with 1,024 files 168 did.
func TestHeldLogins(t *testing.T) {
	for _, test := range []struct{ files, connections int }{{0, 1600}, {1024, 260}} {
		t.Run(fmt.Sprint(test.files), func(t *testing.T) {
			var p *ledgetest.Node
			if test.files == 0 {
				p = ledgetest.Start(t, t.TempDir())
			} else {
				p = ledgetest.StartWithFiles(t, t.TempDir(), test.files)
			}
			a := &attack{Node: p}
			address := strings.TrimPrefix(p.Metadata, "http://")
			const begun = "POST /api/v2/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
			var refused atomic.Int64
			var all sync.WaitGroup
			for range test.connections {
				c := a.connect(t, attackerAddress, address, begun)
				_ = c.SetReadDeadline(time.Now().Add(ledgetest.Timeout))
				all.Go(func() {
					_, err := bufio.NewReader(c).ReadString('\n')
					if err == nil || errors.Is(err, io.EOF) || !errors.Is(err, os.ErrDeadlineExceeded) {
						refused.Add(1)
					}
				})
			}
			for range 20 {
				client := clientAt(bystanderAddress)
				resp, err := client.Get(p.Metadata + "/api/v2/device/all")
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				client.CloseIdleConnections()
				if resp.StatusCode != http.StatusOK {
					t.Errorf("another client: %d", resp.StatusCode)
				}
			}
			all.Wait() // a login has 5 seconds
			if int(refused.Load()) != test.connections {
				t.Errorf("%d of %d logins were ended", refused.Load(), test.connections)
			}
			if a := p.PostImage("a value"); a.Status != http.StatusOK {
				t.Errorf("a value in open mode: %d %s", a.Status, a.Body)
			}
		})
	}
}

// TestManyHeaderLines holds that the lines of a header are limited. Before, 13,600 lines of 5 bytes cost 1 MB a connection.
func TestManyHeaderLines(t *testing.T) {
	for _, secure := range []string{"--secure=false", "--secure"} {
		p := ledgetest.Start(t, t.TempDir(), secure)
		for _, test := range []struct {
			lines string
			want  int
		}{
			{strings.Repeat("a: \r\n", 90), 200}, {strings.Repeat("a: \r\n", 13_600), 400}, {"a: " + strings.Repeat("b", 23<<10) + "\r\n", 200}, {"a: " + strings.Repeat("b", 40<<10) + "\r\n", 431},
		} {
			c := dialService(p, t, p.Metadata)
			for range 3 { // on one connection
				_, _ = io.WriteString(c, "GET /api/v2/ping HTTP/1.1\r\nHost: localhost\r\n"+test.lines+"\r\n")
				resp, err := http.ReadResponse(bufio.NewReader(c), nil)
				if test.want == 400 && err != nil {
					break // the rest of the header was on its way when the connection was closed
				}
				if err != nil || resp.StatusCode != test.want {
					t.Errorf("%s, %d bytes of header: %v %v, want %d", secure, len(test.lines), resp, err, test.want)
					break
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				if resp.Close {
					break
				}
			}
		}
		p.Stop()
	}
}

// dialService opens a connection to a service, with TLS where it has that.
func dialService(p *ledgetest.Node, t *testing.T, service string) net.Conn {
	t.Helper()
	scheme, address, _ := strings.Cut(service, "://")
	c, err := ledgetest.DialLocal(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if scheme == "https" {
		c = tls.Client(c, &tls.Config{InsecureSkipVerify: true, MinVersion: ledgetest.Client13})
	}
	_ = c.SetDeadline(time.Now().Add(ledgetest.Timeout))
	return c
}

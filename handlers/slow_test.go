package handlers_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ledge/handlers"
)

// piped is a listener on connections in memory, whose deadlines follow the clock of a synctest bubble.
type piped chan net.Conn

func (p piped) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p piped) Close() error   { close(p); return nil }
func (p piped) Addr() net.Addr { return &net.TCPAddr{} }

// TestPaceOfBodies has the clients send at their pace, in the time of a bubble: 1000 bytes a second, in each 30 s. What
// comes whole is answered 400, since it is no JSON.
func TestPaceOfBodies(t *testing.T) {
	for _, test := range []struct {
		name   string
		bytes  int // at a time
		every  time.Duration
		times  int
		status int
		took   time.Duration
	}{
		{"for ten minutes, fast enough", 30_000, 29 * time.Second, 20, 400, 20 * 29 * time.Second},
		{"in time, all at the end", 600_000, 29 * time.Second, 1, 400, 29 * time.Second},
		{"too few bytes", 29_999, 29 * time.Second, 20, 503, 30 * time.Second},
		{"one byte again and again", 1, time.Second, 1000, 503, 30 * time.Second},
		{"nothing", 1, time.Hour, 1, 503, 30 * time.Second},
		{"nothing after a good start", 30_000, 10 * time.Second, 2, 503, 50 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, log := mustService(t, func(o *handlers.Options) { o.BodyTimeout, o.BodyRate = 30*time.Second, 1000 })
				listener := make(piped)
				server := &http.Server{Handler: h}
				go func() { _ = server.Serve(listener) }()
				defer server.Close()
				client, conn := net.Pipe()
				listener <- conn
				defer client.Close()
				started := time.Now()
				var sender sync.WaitGroup
				sender.Go(func() {
					mustWrite(t, client, "POST /api/v2/service HTTP/1.1", "Host: h", "Content-Length: 600000", "", "")
					for range test.times {
						time.Sleep(test.every)
						_, _ = io.WriteString(client, strings.Repeat(" ", test.bytes)) // fails when the server has hung up
					}
				})
				r, err := http.ReadResponse(bufio.NewReader(client), nil)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(started); r.StatusCode != test.status || took != test.took {
					t.Errorf("got %d after %v, want %d after %v", r.StatusCode, took, test.status, test.took)
				}
				if log.Submits() != 0 {
					t.Error("something was submitted")
				}
				client.Close()
				sender.Wait()
				time.Sleep(time.Minute) // of the bubble: net/http keeps a connection for a while that it has closed
			})
		})
	}
}

package store

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// A server that a busy machine keeps from its look at the listener is not unwell; one that stays so, is.
func TestHealthOnABusyMachine(t *testing.T) {
	unready := server.HealthzError{Type: server.HealthzErrorConn, Error: "failed to be ready for connections after 1ms: "}
	stream := server.HealthzError{Type: server.HealthzErrorStream, Stream: "S", Error: "write failed"}
	for _, test := range []struct {
		name   string
		says   []server.HealthzError // in turn, then nothing
		always bool                  // the last again and again
		down   bool
		want   string
		asked  int // at least
	}{
		{name: "ready", asked: 1},
		{name: "ready later", says: []server.HealthzError{unready, unready}, asked: 3},
		{name: "never ready", says: []server.HealthzError{unready}, always: true, want: "after 1ms", asked: 2},
		{name: "stopped", says: []server.HealthzError{unready}, down: true, want: "after 1ms", asked: 1},
		{name: "a failed write", says: []server.HealthzError{stream}, want: "S: write failed", asked: 1},
		{name: "ready later with a failed write", says: []server.HealthzError{unready, stream}, want: "S: write failed", asked: 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			asked := 0
			err := healthy(func() *server.HealthStatus {
				asked++
				if n := len(test.says); asked <= n || test.always {
					return &server.HealthStatus{Status: "error", Errors: test.says[min(asked, n)-1 : min(asked, n)]}
				}
				return &server.HealthStatus{Status: "ok"}
			}, func(time.Duration) bool { return !test.down })
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if asked < test.asked || !test.always && asked > test.asked {
				t.Errorf("asked %d times, want %d", asked, test.asked)
			}
		})
	}
}

// TestConnectionOfEachLog holds that no two logs share a connection, which one of them may hold while it publishes megabytes, and that a
// restart of the server leaves none behind.
func TestConnectionOfEachLog(t *testing.T) {
	s, err := Open(t.Context(), Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, when := range []string{"at the start", "after a restart"} {
		conns := map[*nats.Conn]bool{}
		for _, l := range s.logs {
			conns[l.writer.conn] = l.writer.conn.IsConnected()
		}
		if got, want := s.node.server.NumClients(), len(s.logs)+1; len(conns) != len(s.logs) || conns[s.node.write] || got != want || len(s.node.conns) != want {
			t.Errorf("%s %d logs have %d connections; the server has %d, and the node %d, want %d", when, len(s.logs), len(conns), got, len(s.node.conns), want)
		}
		if _, err := s.restart(t.Context(), s.Events()); err != nil {
			t.Fatal(err)
		}
	}
}

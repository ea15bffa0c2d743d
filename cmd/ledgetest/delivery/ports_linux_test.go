package delivery

import (
	"net"
	"strconv"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// outgoing is a connection whose own end has a port on which nobody listens.
func outgoing(t *testing.T) (conn *net.TCPConn, port string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	conn = c.(*net.TCPConn)
	_ = conn.SetLinger(0) // so that the port is free at once when it is closed
	return conn, strconv.Itoa(conn.LocalAddr().(*net.TCPAddr).Port)
}

// TestPortOfOutgoingConnection holds that a start waits for a port that an outgoing connection has, of a service and of the bus,
// and says why, and that it ends with exit code 4 where the connection stays.
func TestPortOfOutgoingConnection(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"metadata-port", "nats-port"} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			var err error
			for range 5 { // the system may give the port to another connection, now or when this one has gone
				conn, port := outgoing(t)
				p := ledgetest.Launch(t, t.TempDir(), "--"+setting, port)
				said := "sysctl net.ipv4.ip_local_reserved_ports=" + port
				for told := false; !told; {
					select {
					case <-p.Log.More:
						_, told = p.Log.Find(said)
					case <-p.Exited:
						t.Fatalf("ended without %q: %v\n%s", said, p.Err, p.Log)
					}
				}
				conn.Close()
				if err = p.WaitReady(); err == nil {
					return
				}
			}
			t.Error(err)
		})
	}
	t.Run("stays", func(t *testing.T) {
		t.Parallel()
		_, port := outgoing(t)
		p := ledgetest.Launch(t, t.TempDir(), "--data-port", port)
		if code := p.Wait(); code != exit.Port {
			t.Errorf("exit code %d", code)
		}
		text := p.Log.String()
		for _, want := range []string{"settings host and data-port", "no program listens there", "ip_local_reserved_ports=" + port} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is missing in %s", want, text)
			}
		}
	})
}

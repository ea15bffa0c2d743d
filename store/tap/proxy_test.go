package tap_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"ledge/store"
	"ledge/store/storetest"

	"github.com/nats-io/nats.go"
)

// from connects from another address of this machine.
type from string

func (f from) Dial(network, address string) (net.Conn, error) {
	return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(string(f))}}).DialContext(context.Background(), network, address)
}

// memoryLeast is the least memory of a tap server, in bytes.
const memoryLeast = 34 << 20

func mustLimit(t *testing.T, taps int) *store.Store {
	t.Helper()
	o := options(t.TempDir())
	o.Tap.Connections = taps
	return mustOpen(t, o)
}

// TestTapConnections holds how many connections each class has, and that no class takes those of another.
func TestTapConnections(t *testing.T) {
	s := mustLimit(t, 4)
	host := strings.TrimPrefix(s.Tap().URL(), "nats://")
	for _, c := range []struct {
		address, login string
		most           int
	}{
		{"127.0.0.2", "", 2}, {"127.0.0.3", "tap:@", 2}, {"127.0.0.4", "", 0},
		{"127.0.0.2", "history:history@", 8}, {"127.0.0.3", "history:history@", 8}, {"127.0.0.4", "history:history@", 0},
	} {
		for n := range c.most + 1 {
			nc, err := nats.Connect("nats://"+c.login+host, nats.SetCustomDialer(from(c.address)), nats.NoReconnect())
			if (err == nil) != (n < c.most) {
				t.Fatalf("%s@%s: connection %d of %d: %v", c.login, c.address, n+1, c.most, err)
			}
			if err == nil {
				t.Cleanup(nc.Close)
			} else if !strings.Contains(err.Error(), "maximum connections exceeded") {
				t.Errorf("%s@%s: %v", c.login, c.address, err)
			}
		}
	}
}

// TestTapConnectionsComeBack holds that a connection that ends, or whose password is wrong, makes room.
func TestTapConnectionsComeBack(t *testing.T) {
	s := mustLimit(t, 2)
	for n := range 20 {
		nc, err := nats.Connect(s.Tap().URL(), nats.NoReconnect())
		if err != nil {
			t.Fatal(n, err)
		}
		nc.Close()
		eventually(t, "it has left", func() bool { return s.Tap().Clients() == 0 })
		if nc, err := nats.Connect(strings.Replace(s.Tap().URL(), "nats://", "nats://history:wrong@", 1)); err == nil {
			nc.Close()
			t.Fatal("logged in")
		}
		eventually(t, "it has left", func() bool { return s.Tap().Clients() == 0 })
	}
}

// TestTapLimits holds what a tap is told at each limit, in the protocol's own text.
func TestTapLimits(t *testing.T) {
	s := mustLimit(t, 8)
	for _, c := range []struct{ name, says, want string }{
		{"subscriptions", "CONNECT {}\r\n" + subscriptions(17) + "PING\r\n", "maximum subscriptions exceeded"},
		{"payload", "CONNECT {}\r\nPUB x 4097\r\n", "maximum payload violation: 4097 bytes"},
		{"payload with headers", "CONNECT {}\r\nPING\r\nhpub x y 12 33554432\r\n", "maximum payload violation"},
		{"payload after a payload", "CONNECT {}\r\nPUB x 3\r\nPUB\r\nPUB x 99999\r\n", "maximum payload violation: 99999"},
		{"login", "CONNECT {\"name\":\"" + strings.Repeat("x", 5000), "maximum control line exceeded"},
		{"line", "CONNECT {}\r\nSUB " + strings.Repeat("x", 5000), "maximum control line exceeded"},
		{"line in parts", "CONNECT {}\r\n" + strings.Repeat("PING\r\n", 600) + "SUB " + strings.Repeat("x", 4090) + " 1\r\n", "maximum control line exceeded"},
		{"no login at all", "PING\r\nPUB x 5000\r\n", "maximum payload violation"},
		{"silence", "", "EOF"},
		{"half a login", "CONNECT {", "EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.Tap().URL(), "nats://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(patience))
			_, _ = io.WriteString(conn, c.says)
			for in := bufio.NewReader(conn); ; {
				line, err := in.ReadString('\n')
				if err != nil {
					line = fmt.Sprint(err)
				}
				if strings.Contains(strings.ToLower(line), strings.ToLower(c.want)) {
					return
				}
				if err != nil {
					t.Fatalf("got %s, want %s", err, c.want)
				}
			}
		})
	}
}

func subscriptions(n int) (text string) {
	for sid := range n {
		text += fmt.Sprintf("SUB x.%d %d\r\n", sid, sid+10)
	}
	return text
}

// TestTapMemory has a tap read nothing: it is cut off before what waits for taps passes the memory, and a tap that reads has all or a gap.
func TestTapMemory(t *testing.T) {
	o := options(t.TempDir())
	o.Tap.Memory = memoryLeast
	s := mustOpen(t, o)
	silent, err := net.Dial("tcp", strings.TrimPrefix(s.Tap().URL(), "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	_, _ = io.WriteString(silent, "CONNECT {\"headers\":true}\r\n")
	for sid := range 8 {
		_, _ = fmt.Fprintf(silent, "SUB ledge.> %d\r\n", sid)
	}
	eventually(t, "it has subscribed", func() bool { return s.Tap().Copies("ledge.reading.a.b.c") == 8 })
	seen := mustSubscribe(t, mustConnect(t, s.Tap().URL()), "ledge.>")
	a := storetest.MustAppender(t, s.Readings(), storetest.NewProjection())
	for range 30 {
		if out, err := a.Submit(t.Context(), storetest.Post("cam-1", make([]byte, 1<<20))); err != nil || out[0].Err != nil {
			t.Fatal(err, out)
		}
		if n := s.Tap().Pending(); n > memoryLeast {
			t.Fatalf("%d bytes wait", n)
		}
	}
	cid, _ := mustConnect(t, s.Tap().URL()).GetClientID()
	eventually(t, "nothing waits for a tap that has not subscribed", func() bool { return s.Tap().PendingOf(cid) == 0 })
	eventually(t, "the silent one is cut off", func() bool { return s.Tap().Copies("ledge.reading.a.b.c") == 1 })
	storetest.MustAdd(t, storetest.MustAppender(t, s.Events(), storetest.NewProjection()), "a", 1)
	for mustNext(t, seen).Header.Get("Nats-Stream") != "LEDGE_EVENTS" {
	}
}

package attack

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ledge/cmd/ledgetest"
)

// dialIn connects from within the network namespace of a process.
func dialIn(p *ledgetest.Node, from netip.Addr, to string) (conn net.Conn, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread, which has the namespace now, ends with the goroutine
		var f *os.File
		if f, err = os.Open(fmt.Sprintf("/proc/%d/ns/net", p.Cmd.Process.Pid)); err != nil {
			return
		}
		defer f.Close()
		if err = unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
			return
		}
		d := net.Dialer{Timeout: ledgetest.Timeout, Control: func(_, _ string, c syscall.RawConn) (err error) {
			bad := c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_IPV6, unix.IPV6_FREEBIND, 1) })
			return errors.Join(bad, err)
		}}
		if from.IsValid() {
			d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))
		} else {
			d.Control = nil
		}
		conn, err = d.Dial("tcp", to)
	}()
	<-done
	if err == nil {
		p.TB.Cleanup(func() { conn.Close() })
	}
	return conn, err
}

func mustDialIn(p *ledgetest.Node, tb testing.TB, from, to string) net.Conn {
	tb.Helper()
	conn, err := dialIn(p, netip.MustParseAddr(from), to)
	if err != nil {
		tb.Fatal(err)
	}
	return conn
}

// TestOneNetworkIsOneClient opens connections from many addresses of one IPv6 network /64, and one from another network. NATS and ZeroMQ
// count the network as one client, so the other one keeps its connection. Before, each address was a client of its own: the bus closed the
// other connection, which was the oldest, and ZeroMQ had no limit before that of the whole socket.
func TestOneNetworkIsOneClient(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("unshare", "-n", "ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Skipf("the test needs a network namespace, so root and Debian's package iproute2: %v: %s", err, out)
	}
	inside := []string{"unshare", "-n", "sh", "-c", `ip link set lo up && ip -6 route add local fd00::/16 dev lo && exec "$@"`, "sh"}
	p := ledgetest.LaunchUnder(t, inside, t.TempDir(), "--nats-host", "::", "--allow-insecure")
	if err := p.WaitReady(); err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
		return dialIn(p, netip.Addr{}, address)
	}}}
	t.Cleanup(client.CloseIdleConnections)
	resp, err := client.Post(p.Notifications+"/api/v2/subscription", "application/json",
		strings.NewReader(ledgetest.SubscriptionJSON("s", "s", `{"type":"ZeroMQ","host":"*","port":5563,"topic":"s"}`)))
	if err != nil || resp.StatusCode != http.StatusMultiStatus {
		t.Fatal(resp, err)
	}
	resp.Body.Close()

	t.Run("nats", func(t *testing.T) {
		const login = 2 * time.Second
		nats := "[fd00:2::1]" + p.NATS[strings.LastIndex(p.NATS, ":"):]
		ledgetest.Until(t, "all connections to be open before a login takes too long", func() bool {
			began := time.Now()
			other := mustDialIn(p, t, "fd00:1::1", nats)
			answers := bufio.NewReader(other)
			if line, err := answers.ReadString('\n'); err != nil || !strings.HasPrefix(line, "INFO ") {
				t.Fatal(line, err)
			}
			for i := range 80 { // before a login 64 connections may be open
				mustDialIn(p, t, fmt.Sprintf("fd00::%x", i+1), nats)
			}
			conn := mustDialIn(p, t, "fd00:1::1", nats) // is accepted when all those before it are
			if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.HasPrefix(line, "INFO ") {
				t.Fatal(line, err)
			}
			_, _ = io.WriteString(other, "CONNECT {\"verbose\":false}\r\nPING\r\n")
			line, err := answers.ReadString('\n')
			if line == "PONG\r\n" {
				return true
			}
			if time.Since(began) < login { // later it is closed for that
				t.Fatalf("the connection of another network was closed: %q, %v", line, err)
			}
			return false
		})
	})
	t.Run("ZeroMQ", func(t *testing.T) {
		const zeroMQ, handshake = "[fd00:2::1]:5563", 5 * time.Second
		ledgetest.Until(t, "the connections of one network to be one client's before a handshake takes too long", func() bool {
			began := time.Now()
			other := bufio.NewReader(mustDialIn(p, t, "fd00:1::1", zeroMQ))
			for i := range 300 { // one client may have 256
				mustDialIn(p, t, fmt.Sprintf("fd00::%x", i+1), zeroMQ)
			}
			for !hasPeers(p, t, &client, 257) {
				if time.Since(began) > handshake {
					return false
				}
			}
			if _, err := other.ReadByte(); err != nil { // its greeting
				t.Fatalf("the connection of another network was closed: %v", err)
			}
			return true
		})
	})
}

// hasPeers reports whether the ZeroMQ sockets have n peers, by the metrics.
func hasPeers(p *ledgetest.Node, t *testing.T, client *http.Client, n int) bool {
	t.Helper()
	resp, err := client.Get(p.Notifications + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return err == nil && strings.Contains(string(text), fmt.Sprintf("\nledge_zeromq_peers %d\n", n))
}

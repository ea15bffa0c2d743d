package redis

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"ledge/bridge/edgex"
	"ledge/domain"
)

// mustServe serves clients in secure mode until the test ends, and returns the address.
func mustServe(t *testing.T, o Options) (*Server, string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.Logger, o.Connections = slog.New(slog.DiscardHandler), 4
	if o.Still == nil {
		o.Still = func(domain.Identity) bool { return true }
	}
	if o.Login != nil {
		s := New(o, l)
		t.Cleanup(s.Close)
		return s, l.Addr().String()
	}
	o.Login = func(context.Context, string, string, string, string) (domain.Identity, error) {
		return domain.Identity{Actor: "a", Role: domain.Service}, nil
	}
	s := New(o, l)
	t.Cleanup(s.Close)
	return s, l.Addr().String()
}

func mustDial(t *testing.T, address string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	return conn, bufio.NewReader(conn)
}

// wantReply sends a command and waits for the beginning of its reply.
func wantReply(t *testing.T, conn net.Conn, r *bufio.Reader, command, want string) {
	t.Helper()
	_, _ = io.WriteString(conn, command)
	if line, err := r.ReadString('\n'); !strings.HasPrefix(line, want) {
		t.Fatalf("%q is answered %q, %v, want %s", command, line, err, want)
	}
}

const auth, publish = "*2\r\n$4\r\nAUTH\r\n$1\r\nx\r\n", "*3\r\n$7\r\nPUBLISH\r\n$7\r\nedgex.a\r\n$2\r\n{}\r\n"

// TestArrivals opens more connections than may be without a login. The oldest is closed. Another one that sends nothing is closed later.
func TestArrivals(t *testing.T) {
	t.Parallel()
	_, address := mustServe(t, Options{Arrived: 2})
	ping := "*1\r\n$4\r\nPING\r\n"
	oldest, first := mustDial(t, address)
	wantReply(t, oldest, first, ping, "-NOAUTH")
	second, r := mustDial(t, address)
	wantReply(t, second, r, ping, "-NOAUTH")
	mustDial(t, address)
	if line, err := first.ReadString('\n'); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the oldest reads %q, %v", line, err)
	}
	if line, err := r.ReadString('\n'); !errors.Is(err, io.EOF) {
		t.Errorf("the silent one reads %q, %v", line, err)
	}
}

// TestRights ends the connection of an identity that has lost its rights, and refuses clients beyond the limit.
func TestRights(t *testing.T) {
	t.Parallel()
	var lost atomic.Bool
	s, address := mustServe(t, Options{
		Arrived: 8, Still: func(domain.Identity) bool { return !lost.Load() },
		Publish: func(context.Context, edgex.Message) error { return errors.New("maximum bytes\nexceeded") },
	})
	conn, r := mustDial(t, address)
	wantReply(t, conn, r, auth, "+OK")
	wantReply(t, conn, r, publish, "-ERR not published: maximum bytes exceeded\r\n")
	second, r2 := mustDial(t, address)
	wantReply(t, second, r2, auth, "+OK")
	third, r3 := mustDial(t, address)
	wantReply(t, third, r3, auth, "-WRONGPASS max number of clients")
	s.Recheck()
	wantReply(t, conn, r, publish, "-ERR not published")
	lost.Store(true)
	s.Recheck()
	if line, err := r.ReadString('\n'); !errors.Is(err, io.EOF) {
		t.Errorf("after the rights are lost it reads %q, %v", line, err)
	}
}

// TestRedisRate takes the bytes that are read from the share of the client.
func TestRedisRate(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	defer ours.Close()
	go func() { _, _ = theirs.Write(make([]byte, 100)); theirs.Close() }()
	shared := rate.NewLimiter(0, 50)
	l := limited{ours, shared, t.Context()}
	if n, err := l.Read(make([]byte, 40)); n != 40 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	if n, err := l.Read(make([]byte, 60)); err == nil {
		t.Errorf("beyond the share it reads %d bytes", n)
	}
}

// TestUnread cuts off a client that does not read its replies.
func TestUnread(t *testing.T) {
	t.Parallel()
	_, address := mustServe(t, Options{Arrived: 8})
	conn, r := mustDial(t, address)
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	wantReply(t, conn, r, auth, "+OK")
	ping := fmt.Sprintf("*2\r\n$4\r\nPING\r\n$%d\r\n%s\r\n", 700_000, strings.Repeat("a", 700_000))
	var err error
	for err == nil {
		_, err = io.WriteString(conn, ping)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("it is not cut off")
	}
}

// TestExpiredToken ends the connection of a client when its token is refused.
func TestExpiredToken(t *testing.T) {
	t.Parallel()
	var expired atomic.Bool
	_, address := mustServe(t, Options{
		Arrived: 8,
		Login: func(context.Context, string, string, string, string) (domain.Identity, error) {
			if expired.Load() {
				return domain.Identity{}, domain.Errorf(domain.Unauthenticated, "the token has expired")
			}
			return domain.Identity{Actor: "a", Role: domain.Service}, nil
		},
	})
	conn, r := mustDial(t, address)
	wantReply(t, conn, r, auth, "+OK")
	expired.Store(true)
	if line, err := r.ReadString('\n'); !errors.Is(err, io.EOF) {
		t.Errorf("after the end of the token it reads %q, %v", line, err)
	}
}

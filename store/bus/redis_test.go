package bus

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"

	"ledge/domain"
)

// mustServeRedis serves Redis clients beside NATS clients, and returns the address.
func (n *served) mustServeRedis(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ServeRedis(n.Bus, l, plainTexts)
	return l.Addr().String()
}

// plainTexts passes on texts as they are.
var plainTexts = Texts{
	Decode: func(subject string, text []byte) Message { return Message{Subject: subject, Data: text} },
	Encode: func(m Message) []byte { return m.Data },
}

// asService lets every client in as an EdgeX service, until lost is true.
func asService(lost *atomic.Bool) Options {
	return Options{
		Login: func(context.Context, string, string, string, string) (domain.Identity, error) {
			if lost.Load() {
				return domain.Identity{}, domain.Errorf(domain.Unauthenticated, "the token has expired")
			}
			return domain.Identity{Actor: "a", Role: domain.Service}, nil
		},
	}
}

func mustDialRedis(t *testing.T, address string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(deadline))
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

const (
	redisAuth    = "*2\r\n$4\r\nAUTH\r\n$1\r\nx\r\n"
	redisPing    = "*1\r\n$4\r\nPING\r\n"
	redisPublish = "*3\r\n$7\r\nPUBLISH\r\n$7\r\nedgex.a\r\n$2\r\n{}\r\n"
)

// TestRedisArrivals opens more connections than may be without a login. The oldest is closed. A silent one is closed later.
func TestRedisArrivals(t *testing.T) {
	t.Parallel()
	n := mustServe(t, asService(new(atomic.Bool)))
	n.gate.mu.Lock()
	n.gate.arrived = 2
	n.gate.mu.Unlock()
	address := n.mustServeRedis(t)
	oldest, first := mustDialRedis(t, address)
	wantReply(t, oldest, first, redisPing, "-NOAUTH")
	second, r := mustDialRedis(t, address)
	wantReply(t, second, r, redisPing, "-NOAUTH")
	mustDialRedis(t, address)
	if line, err := first.ReadString('\n'); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the oldest reads %q, %v", line, err)
	}
	if line, err := r.ReadString('\n'); !errors.Is(err, io.EOF) {
		t.Errorf("the silent one reads %q, %v", line, err)
	}
}

// TestRedisConnections counts Redis clients and NATS clients together. Their connections end with the rights of their identity.
func TestRedisConnections(t *testing.T) {
	t.Parallel()
	var lost atomic.Bool
	o := asService(&lost)
	o.Connections, o.Still = 4, func(domain.Identity) bool { return !lost.Load() }
	n := mustServe(t, o)
	address := n.mustServeRedis(t)
	n.mustConnect(t, nats.Token("x"))
	conn, r := mustDialRedis(t, address)
	wantReply(t, conn, r, redisAuth, "+OK")
	wantReply(t, conn, r, redisPublish, ":0")
	third, r3 := mustDialRedis(t, address)
	wantReply(t, third, r3, redisAuth, "-WRONGPASS maximum connections exceeded")
	n.Recheck()
	wantReply(t, conn, r, redisPublish, ":0")
	lost.Store(true)
	n.Recheck()
	if line, err := r.ReadString('\n'); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after the rights are lost it reads %q, %v", line, err)
	}
}

// TestRedisExpiredToken ends the connection of a client when its token is refused.
func TestRedisExpiredToken(t *testing.T) {
	t.Parallel()
	var lost atomic.Bool
	n := mustServe(t, asService(&lost))
	conn, r := mustDialRedis(t, n.mustServeRedis(t))
	wantReply(t, conn, r, redisAuth, "+OK")
	lost.Store(true)
	if line, err := r.ReadString('\n'); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after the end of the token it reads %q, %v", line, err)
	}
}

// TestRedisFullStream fills the stream while nothing is taken. The reply says that the message is not published.
func TestRedisFullStream(t *testing.T) {
	t.Parallel()
	n := mustServe(t, Options{MaxBytes: 1 << 20})
	conn, r := mustDialRedis(t, n.mustServeRedis(t))
	wantReply(t, conn, r, redisPublish, ":0")
	js := n.mustFill(t)
	var err error
	for data := make([]byte, 512<<10); err == nil; {
		_, err = js.Publish(t.Context(), "edgex.b", data)
	}
	long := fmt.Sprintf("*3\r\n$7\r\nPUBLISH\r\n$7\r\nedgex.a\r\n$%d\r\n%s\r\n", 600<<10, strings.Repeat("x", 600<<10))
	wantReply(t, conn, r, long, "-ERR not published: maximum bytes exceeded")
}

// TestRedisRate takes the bytes that are read from the share of the client.
func TestRedisRate(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	defer ours.Close()
	go func() { _, _ = theirs.Write(make([]byte, 100)); theirs.Close() }()
	r := &session{outside: ours, rate: rate.NewLimiter(0, 50), alive: t.Context()}
	if n, err := r.Read(make([]byte, 40)); n != 40 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	if n, err := r.Read(make([]byte, 60)); err == nil {
		t.Errorf("beyond the share it reads %d bytes", n)
	}
}

// TestRedisUnread cuts off a client that does not read its replies.
func TestRedisUnread(t *testing.T) {
	t.Parallel()
	n := mustServe(t, Options{})
	conn, r := mustDialRedis(t, n.mustServeRedis(t))
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	wantReply(t, conn, r, redisPing, "+PONG")
	ping := fmt.Sprintf("*2\r\n$4\r\nPING\r\n$%d\r\n%s\r\n", 700_000, strings.Repeat("a", 700_000))
	var err error
	for err == nil {
		_, err = io.WriteString(conn, ping)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("it is not cut off")
	}
}

// TestRedisSubscribe subscribes by patterns and by channels, as EdgeX's clients and others do.
func TestRedisSubscribe(t *testing.T) {
	t.Parallel()
	n := mustServe(t, Options{})
	address := n.mustServeRedis(t)
	conn, r := mustDialRedis(t, address)
	say := func(args ...any) { _, _ = io.WriteString(conn, respOf(args...)) }
	want := func(wants ...any) {
		t.Helper()
		text := respOf(wants...)
		got := make([]byte, len(text))
		if _, err := io.ReadFull(r, got); err != nil || string(got) != text {
			t.Fatalf("got %q, %v, want %q", got, err, text)
		}
	}
	say("PSUBSCRIBE", "edgex.a.*")
	want("psubscribe", "edgex.a.*", 1)
	say("SUBSCRIBE", "edgex.b", "edgex.c")
	want("subscribe", "edgex.b", 2)
	want("subscribe", "edgex.c", 3)
	say("PSUBSCRIBE", "edgex.a.*")
	want("psubscribe", "edgex.a.*", 3)
	say("PING")
	want("pong", "")
	nc := n.mustConnect(t)
	for _, subject := range []string{"edgex.a.b.c", "edgex.b", "edgex.d"} {
		if err := nc.PublishMsg(&nats.Msg{Subject: subject, Data: []byte(subject)}); err != nil {
			t.Fatal(err)
		}
	}
	want("pmessage", "edgex.a.*", "edgex.a.b.c", "edgex.a.b.c")
	want("message", "edgex.b", "edgex.b")
	say("PUNSUBSCRIBE")
	want("punsubscribe", "edgex.a.*", 2)
	say("UNSUBSCRIBE", "edgex.b")
	want("unsubscribe", "edgex.b", 1)
	if err := nc.Publish("edgex.b", nil); err != nil {
		t.Fatal(err)
	}
	say("PUNSUBSCRIBE", "edgex.x")
	want("punsubscribe", "edgex.x", 1)
	for _, pattern := range []string{"*", "ledge.*", "edgex.a*", "edgex.[ab]"} {
		say("PSUBSCRIBE", pattern)
		if line, err := r.ReadString('\n'); err != nil || !strings.HasPrefix(line, "-ERR psubscribe") {
			t.Errorf("%s is answered %q, %v", pattern, line, err)
		}
	}
	for i := range subscriptionsMost {
		say("SUBSCRIBE", "edgex.many."+strings.Repeat("x", i+1))
	}
	if text, err := io.ReadAll(r); err != nil || !strings.HasSuffix(string(text), "-ERR too many subscriptions: 16 of at most 15\r\n") {
		t.Errorf("too many subscriptions are answered %q, %v", text, err)
	}
}

// respOf returns strings and numbers as an array of RESP.
func respOf(args ...any) string {
	text := fmt.Sprintf("*%d\r\n", len(args))
	for _, a := range args {
		switch a := a.(type) {
		case string:
			text += bulkOf(a)
		case int:
			text += fmt.Sprintf(":%d\r\n", a)
		}
	}
	return text
}

package bus

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// redisClient is a connection of a Redis client.
type redisClient struct {
	net.Conn
	r *bufio.Reader
}

func dialRedis(t *testing.T, address string) *redisClient {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, ledgetest.Timeout)
	if err != nil {
		t.Fatal(err)
	}
	return newRedisClient(t, conn)
}

func newRedisClient(t *testing.T, conn net.Conn) *redisClient {
	t.Helper()
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(ledgetest.Timeout))
	return &redisClient{conn, bufio.NewReader(conn)}
}

// encodeCommand returns a command in RESP2.
func encodeCommand(args ...string) string {
	text := fmt.Sprintf("*%d\r\n", len(args))
	for _, a := range args {
		text += fmt.Sprintf("$%d\r\n%s\r\n", len(a), a)
	}
	return text
}

// reply sends a text and returns the first line of the answer, "" if the connection has ended.
func (c *redisClient) reply(text string) string {
	_, _ = io.WriteString(c, text)
	line, _ := c.r.ReadString('\n')
	return strings.TrimSpace(line)
}

// redisEvent is an event of a device in the envelope of EdgeX 2.3, as its clients publish it with Redis.
func redisEvent(id, device string, value int) string {
	return encodeCommand("PUBLISH", "edgex.events.device.climate."+device+".hum", fmt.Sprintf(`{"ApiVersion":"v2","ReceivedTopic":"",`+
		`"CorrelationID":"c-%s","RequestID":"","ErrorCode":0,"Payload":%q,"ContentType":"application/json","QueryParams":null}`,
		device, base64.StdEncoding.EncodeToString([]byte(edgexEvent(id, device, value)))))
}

// startRedis starts a node that listens for Redis clients.
func startRedis(t *testing.T) *ledgetest.Node {
	t.Helper()
	return ledgetest.Start(t, t.TempDir(), "--edgex-bus", "redis:0")
}

// TestRedis publishes an event as a client of EdgeX 2.3 does. A NATS client hears it in the format nats, and core-data has it.
func TestRedis(t *testing.T) {
	t.Parallel()
	p := startRedis(t)
	nc, _ := ledgetest.MustJetStream(t, p.NATS)
	heard, err := nc.SubscribeSync("edgex.events.device.>")
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	c := dialRedis(t, readyAt(p, "redis"))
	for _, s := range [][2]string{
		{encodeCommand("HELLO", "3"), "-ERR unknown command"},
		{encodeCommand("CLIENT", "SETINFO", "LIB-NAME", "x"), "+OK"}, {encodeCommand("SELECT", "0"), "+OK"},
		{encodeCommand("PING"), "+PONG"}, {encodeCommand("AUTH", "x"), "+OK"}, {encodeCommand("GET", "a"), "-ERR unknown command"},
		{encodeCommand("PUBLISH", "ledge.event.a", "{}"), "-ERR channel"}, {encodeCommand("PUBLISH", "edgex.a.*.b", "{}"), "-ERR channel"},
		{encodeCommand("PUBLISH", "edgex."+strings.Repeat("a", 2000), "{}"), "-ERR channel"},
		{encodeCommand("PUBLISH", "edgex.a b", "{}"), "-ERR channel"},
	} {
		if got := c.reply(s[0]); !strings.HasPrefix(got, s[1]) {
			t.Errorf("%q is answered %q, want %s", s[0], got, s[1])
		}
	}
	id := uuid.NewString()
	if got := c.reply(redisEvent(id, "core", 3)); got != ":0" {
		t.Fatalf("the event is answered %q", got)
	}
	m, err := heard.NextMsg(ledgetest.Timeout)
	if err != nil || m.Header.Get("ApiVersion") != "v2" ||
		m.Header["X-Correlation-ID"][0] != "c-core" || !strings.Contains(string(m.Data), id) {
		t.Fatalf("got %+v, %v", m, err)
	}
	ledgetest.Until(t, "the event", func() bool { return hasEvent(p, id) })
}

// TestRedisKilled kills Ledge after 1,000 events were acknowledged. Core-data has each once after the next start.
func TestRedisKilled(t *testing.T) {
	t.Parallel()
	p := startRedis(t)
	c, ids := dialRedis(t, readyAt(p, "redis")), make([]string, 1000)
	for i := range ids {
		ids[i] = uuid.NewString()
		if got := c.reply(redisEvent(ids[i], "core", i)); got != ":0" {
			t.Fatalf("event %d is answered %q", i, got)
		}
	}
	p.Kill()
	p = ledgetest.Start(t, p.Dir)
	for _, id := range ids {
		ledgetest.Until(t, "event "+id, func() bool { return hasEvent(p, id) })
	}
	if n := p.CountEvents("core"); n != len(ids) {
		t.Errorf("core-data has %d events", n)
	}
}

// TestRedisBounds sends commands beyond the limits. Each ends its connection with an error; a pipeline of 10,000 commands is answered.
func TestRedisBounds(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir(), "--edgex-bus", "redis:0")
	address := readyAt(p, "redis")
	for name, text := range map[string]string{
		"arguments": "*1000000000\r\n", "bulk length": "*2\r\n$1000000000\r\n",
		"line": "*" + strings.Repeat("1", 10000), "web page": "POST / HTTP/1.1\r\n\r\n",
		"all arguments": "*3\r\n$7\r\nPUBLISH\r\n$400000\r\n" + strings.Repeat("a", 400000) + "\r\n$500000\r\n",
		"negative":      "*1\r\n$-5\r\n",
	} {
		c := dialRedis(t, address)
		if got := c.reply(text); !strings.HasPrefix(got, "-ERR Protocol error") {
			t.Errorf("%s: got %q", name, got)
		}
		if got := c.reply(encodeCommand("PING")); got != "" {
			t.Errorf("%s: the connection stays open with %q", name, got)
		}
		c.Close()
	}
	c := dialRedis(t, address)
	go func() { _, _ = io.WriteString(c, strings.Repeat(encodeCommand("PING"), 10_000)) }()
	for i := range 10_000 {
		if line, err := c.r.ReadString('\n'); line != "+PONG\r\n" {
			t.Fatalf("reply %d is %q, %v", i, line, err)
		}
	}
	refused := ""
	for range 40 {
		if refused = dialRedis(t, address).reply(encodeCommand("PING")); refused != "+PONG" {
			break
		}
	}
	if !strings.HasPrefix(refused, "-ERR max number of clients") {
		t.Errorf("the last of 40 clients got %q", refused)
	}
}

// TestRedisSecure has clients log in over TLS. Only a token of the role service may publish, and the connection ends with the token.
func TestRedisSecure(t *testing.T) {
	t.Parallel()
	s := ledgetest.StartSecured(t, "--edgex-bus", "redis:0")
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(ledgetest.CA(s.Node)))
	address := readyAt(s.Node, "redis")
	port := portOf(address)
	dial := func() *redisClient {
		t.Helper()
		conn, err := tls.Dial("tcp", "127.0.0.1:"+port, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13})
		if err != nil {
			t.Fatal(err)
		}
		return newRedisClient(t, conn)
	}
	c := dial()
	if got := c.reply(encodeCommand("PUBLISH", "edgex.a", "{}")); !strings.HasPrefix(got, "-NOAUTH") {
		t.Errorf("without a login: %q", got)
	}
	if got := c.reply("*2\r\n$4\r\nAUTH\r\n$10000\r\n"); !strings.HasPrefix(got, "-ERR Protocol error") {
		t.Errorf("a long command before the login: %q", got)
	}
	for _, password := range []string{"wrong", s.Tokens[domain.Poster], s.Tokens[domain.Admin]} {
		if got := dial().reply(encodeCommand("AUTH", password)); !strings.HasPrefix(got, "-WRONGPASS") {
			t.Errorf("%s: got %q", password, got)
		}
	}
	c = dial()
	if got := c.reply(encodeCommand("AUTH", "any", s.Tokens[domain.Service])); got != "+OK" {
		t.Fatalf("the token is answered %q", got)
	}
	if got := c.reply(encodeCommand("PUBLISH", "edgex.a", "{}")); got != ":0" {
		t.Errorf("with the token: %q", got)
	}
	if _, stderr, code := ledgetest.Run(t, "token", "revoke", "--data-dir", s.Dir, "a-service"); code != 0 {
		t.Fatal(stderr)
	}
	if line, err := c.r.ReadString('\n'); err == nil {
		t.Errorf("the connection of a revoked token stays open with %q", line)
	}
}

package attack

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// natsClient speaks NATS without a library, as an attacker does.
type natsClient struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

// natsFrom connects from an address of this machine and reads nothing yet.
func (a *attack) natsFrom(t *testing.T, address string) *natsClient {
	t.Helper()
	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}).Dial("tcp", strings.TrimPrefix(a.NATS, "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &natsClient{t, conn, bufio.NewReader(conn)}
}

// subscribe logs in and subscribes n times to all that is published. Some of it is lost where the server has cut the client off.
func (c *natsClient) subscribe(n int) {
	text := "CONNECT {\"verbose\":false,\"headers\":true}\r\n"
	for sid := range n {
		text += fmt.Sprintf("SUB ledge.> %d\r\n", sid)
	}
	_, _ = io.WriteString(c, text)
}

// connected reports whether the server takes the client.
func (c *natsClient) connected() bool {
	_ = c.SetDeadline(time.Now().Add(ledgetest.Timeout))
	if _, err := io.WriteString(c, "CONNECT {\"verbose\":false,\"headers\":true}\r\nPING\r\n"); err != nil {
		return false
	}
	for {
		line, err := c.in.ReadString('\n')
		if err != nil || strings.HasPrefix(line, "-ERR") {
			return false
		}
		if strings.HasPrefix(line, "PONG") {
			return true
		}
	}
}

// pictures posts n values of a size that stands in the log's messages.
func (a *attack) pictures(n int) {
	body := strings.Repeat("p", 200<<10)
	for range n {
		a.Call(http.MethodPost, a.DeviceREST+"/api/v2/resource/bystander/jpeg", "image/jpeg", body)
	}
}

// TestAttackSilentNATSClients has 30 clients subscribe 64 times each and read nothing, while pictures are posted.
// A client that reads goes on.
func TestAttackSilentNATSClients(t *testing.T) {
	a := startAttack(t)
	for range 30 {
		a.natsFrom(t, "127.0.0.2").subscribe(64)
	}
	reader, err := nats.Connect(a.NATS)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	seen, err := reader.SubscribeSync("ledge.event.device.seen.added")
	if err != nil || reader.Flush() != nil {
		t.Fatal(err)
	}
	a.pictures(100)
	a.AddDevice("seen")
	if _, err := seen.NextMsg(ledgetest.Timeout); err != nil {
		t.Error("the client that reads:", err)
	}
	a.held(t)
}

// TestAttackForbiddenPublishes has 24 clients publish 32 MiB each, which is forbidden.
func TestAttackForbiddenPublishes(t *testing.T) {
	a := startAttack(t)
	var all sync.WaitGroup
	payload := bytes.Repeat([]byte("p"), 1<<20)
	for range 24 {
		c := a.natsFrom(t, "127.0.0.2")
		all.Go(func() {
			c.subscribe(0)
			_, err := io.WriteString(c, "PUB ledge.event.device.x.added 33554432\r\n")
			for range 32 {
				if err != nil {
					return // cut off
				}
				_, err = c.Write(payload)
			}
		})
	}
	all.Wait()
	a.held(t)
}

// TestAttackSubscriptions has 16 clients subscribe 1,000 times each and read all.
func TestAttackSubscriptions(t *testing.T) {
	a := startAttack(t)
	for range 16 {
		c := a.natsFrom(t, "127.0.0.2")
		go func() { _, _ = io.Copy(io.Discard, c) }()
		c.subscribe(1000)
	}
	for served := a.served(); a.served() < served+60; {
		time.Sleep(time.Millisecond)
	}
	a.held(t)
}

// TestAttackAnswersUnread has clients ask again and again for answers of the server itself, and read none.
func TestAttackAnswersUnread(t *testing.T) {
	a := startAttack(t)
	for _, request := range []string{"PING\r\n", "PUB " + strings.Repeat("x", 2000) + " 0\r\n\r\n", "SUB $JS.x." + strings.Repeat("x", 2000) + " 1\r\n"} {
		text := []byte(strings.Repeat(request, (64<<10)/len(request)))
		for range 8 {
			c := a.natsFrom(t, "127.0.0.2")
			c.subscribe(0)
			go func() {
				for {
					if _, err := c.Write(text); err != nil {
						return
					}
				}
			}()
		}
	}
	for served := a.served(); a.served() < served+60; {
		time.Sleep(time.Millisecond)
	}
	a.held(t)
}

// TestAttackNATSConnections takes all connections of NATS clients, and more: from one address, which leaves some for others, and from
// several. Local commands do not depend on it.
func TestAttackNATSConnections(t *testing.T) {
	a := startAttack(t)
	a.fillNATS(t, "127.0.0.2")
	if !a.natsFrom(t, "127.0.0.3").connected() {
		t.Error("one address takes the connections of others")
	}
	for _, address := range []string{"127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.1"} {
		a.fillNATS(t, address)
	}
	a.logged(t)
	a.held(t)
}

// logged holds that local commands can ask the server.
func (a *attack) logged(t *testing.T) {
	t.Helper()
	if out, errs, code := ledgetest.Run(t, "log", "--data-dir", a.Dir); code != exit.OK || !strings.Contains(out, "bystander") {
		t.Errorf("ledge log: exit code %d, %s%s", code, out, errs)
	}
}

// fillNATS connects 100 clients from one address.
func (a *attack) fillNATS(t *testing.T, address string) {
	taken := 0
	for range 100 {
		if a.natsFrom(t, address).connected() {
			taken++
		}
	}
	t.Logf("%s: %d of 100 taken", address, taken)
}

// TestAttackHalfOpenNATSClients has clients that never log in: they say nothing, or begin a line and do not end it.
func TestAttackHalfOpenNATSClients(t *testing.T) {
	a := startAttack(t)
	for range 400 {
		a.natsFrom(t, "127.0.0.2")
	}
	for range 50 {
		_, _ = io.WriteString(a.natsFrom(t, "127.0.0.2"), "CONNECT {\"name\":\""+strings.Repeat("x", 1<<20))
	}
	if !a.natsFrom(t, "127.0.0.3").connected() {
		t.Error("a client does not get in")
	}
	a.logged(t)
	a.held(t)
}

// TestAttackLogLines has NATS clients break the protocol, and others publish without the right, to fill the log of the program.
func TestAttackLogLines(t *testing.T) {
	a := startAttack(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 300 {
				c := a.natsFrom(t, "127.0.0.2")
				_, _ = io.WriteString(c, "CONNECT {\"user\":\""+strings.Repeat("x", 1000)+"\",\"pass\":\"x\"}\r\nNONSENSE\r\n")
				_, _ = io.Copy(io.Discard, c)
				c.Close()
			}
		})
		all.Go(func() {
			c := a.natsFrom(t, "127.0.0.2")
			go func() { _, _ = io.Copy(io.Discard, c) }()
			c.subscribe(0)
			forbidden := "PUB " + strings.Repeat("x", 1000) + " 0\r\n\r\n"
			_ = c.SetWriteDeadline(time.Now().Add(time.Second)) // Ledge may not listen to all of it
			_, _ = io.WriteString(c, strings.Repeat(forbidden, 10_000))
		})
	}
	all.Wait()
	a.held(t)
	if n := len(a.Log.String()); n > 256<<10 {
		t.Errorf("%d bytes of log, want %d at most", n, 256<<10)
	}
}

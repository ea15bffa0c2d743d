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

	"github.com/google/uuid"
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

// publish sends messages until the server cuts the client off.
func (c *natsClient) publish(count int, message func(i int) (subject, data string)) {
	for i := range count {
		subject, data := message(i)
		if _, err := fmt.Fprintf(c, "PUB %s %d\r\n%s\r\n", subject, len(data), data); err != nil {
			return
		}
	}
}

// edgexEvent is the envelope of an event in the format json.
func edgexEvent(id, device string) string {
	return fmt.Sprintf(`{"apiVersion":"v3","errorCode":0,"contentType":"application/json","payload":{"apiVersion":"v3",`+
		`"event":{"apiVersion":"v3","id":%q,"deviceName":%q,"profileName":"p","sourceName":"s","origin":1,`+
		`"readings":[{"origin":1,"deviceName":%q,"profileName":"p","resourceName":"s","valueType":"Int8","value":1}]}}}`, id, device, device)
}

// wantTaken publishes an event from another address, and waits until core-data has it.
func (a *attack) wantTaken(t *testing.T) {
	t.Helper()
	nc, err := nats.Connect(a.NATS, nats.SetCustomDialer(dialerAt(bystanderAddress)))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	id := uuid.NewString()
	ledgetest.Until(t, "an acknowledgement", func() bool {
		m, err := nc.Request("edgex.events.device.p.good.s", []byte(edgexEvent(id, "good")), ledgetest.Timeout)
		if err != nil {
			t.Fatal(err)
		}
		return !strings.Contains(string(m.Data), `"error"`)
	})
	ledgetest.Until(t, "the event", func() bool {
		return a.Call(http.MethodGet, a.CoreData+"/api/v2/event/id/"+id, "", "").Status == http.StatusOK
	})
}

// TestAttackEdgeXPublishers has a client publish large messages, garbage, events of unknown devices, and messages on 1,000 subjects.
func TestAttackEdgeXPublishers(t *testing.T) {
	a := startAttack(t)
	large := strings.Repeat("x", 700<<10)
	const begin = `{"apiVersion":"v3","contentType":"application/json","payload":{"event":{"readings":[`
	garbage := begin + strings.Repeat("{},", 100_000) + `{}]}}}`
	var all sync.WaitGroup
	for _, message := range []func(i int) (string, string){
		func(int) (string, string) { return "edgex.events.device.p.d.s", large },
		func(i int) (string, string) { return fmt.Sprint("edgex.events.device.p.d", i%50, ".s"), garbage },
		func(i int) (string, string) {
			return fmt.Sprint("edgex.events.device.p.u", i, ".s"), edgexEvent(uuid.NewString(), fmt.Sprint("u", i))
		},
		func(i int) (string, string) { return fmt.Sprint("edgex.a", i%1000, ".b.c"), "" },
	} {
		c := a.natsFrom(t, attackerAddress)
		c.subscribe(0)
		go func() { _, _ = io.Copy(io.Discard, c) }()
		all.Go(func() { c.publish(20, message) })
	}
	all.Wait()
	a.wantTaken(t)
	a.held(t)
}

// TestAttackEdgeXSubscribers has 30 clients subscribe 16 times each to EdgeX's message bus and read nothing, while another client publishes
// large messages.
func TestAttackEdgeXSubscribers(t *testing.T) {
	a := startAttack(t)
	for range 30 {
		text := "CONNECT {\"verbose\":false,\"headers\":true}\r\n"
		for sid := range 16 {
			text += fmt.Sprintf("SUB edgex.> %d\r\n", sid)
		}
		_, _ = io.WriteString(a.natsFrom(t, attackerAddress), text)
	}
	c := a.natsFrom(t, attackerAddress)
	if !c.connected() {
		t.Fatal("the publisher is not let in")
	}
	go func() { _, _ = io.Copy(io.Discard, c) }()
	large := strings.Repeat("x", 700<<10)
	c.publish(8, func(int) (string, string) { return "edgex.a", large })
	a.wantTaken(t)
	a.held(t)
}

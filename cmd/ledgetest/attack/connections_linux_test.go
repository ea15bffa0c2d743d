package attack

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"ledge/cmd/ledgetest"
)

// stalled is longer than a node under attack lets a client wait, and short enough for a test that fails.
const stalled = 20 * time.Second

// services are the addresses of all HTTP services, host:port.
func services(p *ledgetest.Node) []string {
	var all []string
	for _, url := range []string{p.Metadata, p.CoreData, p.DeviceREST, p.Notifications} {
		all = append(all, strings.TrimPrefix(url, "http://"))
	}
	return all
}

// connect opens a connection from an address and sends text. The connection is closed at the end of the test.
func (a *attack) connect(t *testing.T, from, to, text string) net.Conn {
	t.Helper()
	c, err := dialerAt(from).DialContext(t.Context(), "tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.(*net.TCPConn).SetLinger(0) // leaves no port behind that is busy for a minute
	t.Cleanup(func() { c.Close() })
	_, _ = io.WriteString(c, text) // fails where the connection is refused
	return c
}

// TestAttackConnections opens 20,000 connections, from four addresses, of which 1,600 are open at a time.
func TestAttackConnections(t *testing.T) {
	a := startAttack(t)
	var all sync.WaitGroup
	for i, service := range services(a.Node) {
		all.Go(func() {
			dialer := dialerAt(fmt.Sprint("127.0.0.", 10+i))
			open := make([]net.Conn, 400)
			for n := range 5000 {
				c, err := dialer.DialContext(t.Context(), "tcp", service)
				if err != nil {
					t.Error(err)
					return
				}
				_ = c.(*net.TCPConn).SetLinger(0)
				if n%2 == 0 { // half of them were used once
					_, _ = io.WriteString(c, "GET /api/v2/ping HTTP/1.1\r\nHost: localhost\r\n\r\n")
				}
				if old := open[n%len(open)]; old != nil {
					old.Close()
				}
				open[n%len(open)] = c
			}
			for _, c := range open {
				defer c.Close()
			}
		})
	}
	all.Wait()
	if n := a.descriptors(); n > attackDescriptors/2+128 {
		t.Errorf("%d descriptors were open, want at most those of HTTP and of the store", n)
	}
	if text := a.Call(http.MethodGet, a.Metadata+"/metrics", "", "").Body; strings.Contains(text, "ledge_http_connections_closed_total 0\n") || !strings.Contains(text, "ledge_http_connections_closed_total") {
		t.Error("/metrics counts no connections that were closed")
	}
	a.WaitLog("the limit of connections is reached")
	a.held(t)
}

// TestAttackIdlePosts begins bodies that were let in, and sends some ten bytes of each. They take no memory that others need.
func TestAttackIdlePosts(t *testing.T) {
	a := startAttack(t)
	const chunked = "Transfer-Encoding: chunked\r\n\r\n5\r\n[{\"ap"
	begin := func(from, length string) {
		for service, path := range map[string]string{a.Metadata: "/api/v2/device", a.Notifications: "/api/v2/subscription", a.DeviceREST: "/api/v2/resource/bystander/jpeg"} {
			a.connect(t, from, strings.TrimPrefix(service, "http://"), "POST "+path+" HTTP/1.1\r\nHost: localhost\r\n"+length)
		}
	}
	for range 8 {
		begin(attackerAddress, chunked)
	}
	for range 4 {
		begin(bystanderAddress, chunked)
	}
	for announced := 16_000_000; announced > 50; announced /= 2 { // what is free is less each time
		for range 2 {
			begin(attackerAddress, fmt.Sprintf("Content-Length: %d\r\n\r\n[{\"apiVers", announced))
		}
	}
	for i, from := range []string{attackerAddress, bystanderAddress} {
		client := clientAt(from)
		defer client.CloseIdleConnections()
		for n := range 50 {
			name := fmt.Sprintf("beside-%d-%d", i, n)
			status, body, err := send(t.Context(), client, http.MethodPost, a.Metadata+"/api/v2/device", "application/json", "["+ledgetest.DeviceJSON(name)+"]")
			if err != nil || status != http.StatusMultiStatus || !strings.Contains(body, `"statusCode":201`) {
				t.Errorf("from %s beside idle bodies: %d %s %v", from, status, body, err)
				break
			}
		}
	}
	a.held(t)
}

// TestAttackIdempotencyTable has one client fill its share of the answers that are remembered.
func TestAttackIdempotencyTable(t *testing.T) {
	a := startAttack(t)
	attacker, good := clientAt(attackerAddress), clientAt(bystanderAddress)
	defer attacker.CloseIdleConnections()
	defer good.CloseIdleConnections()
	post := func(client *http.Client, key, body string) (text string, replayed bool) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.Metadata+"/api/v2/device", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Idempotency-Key", key)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusMultiStatus {
			t.Fatalf("%d %.300s %v", resp.StatusCode, b, err)
		}
		return string(b), resp.Header.Get("Idempotent-Replayed") == "true"
	}
	const elements = 10_000                                                                                                  // which one request may have
	all := "[" + strings.Repeat(ledgetest.DeviceJSON("bystander")+",", elements-1) + ledgetest.DeviceJSON("bystander") + "]" // refused for good, each with 409
	refused := 0
	for i := range 20 {
		text, _ := post(attacker, fmt.Sprint("fill-", i), all)
		refused += strings.Count(text, `"statusCode":503`)
	}
	if want := 20*elements - 200_000*3/4; refused != want {
		t.Errorf("%d elements of the attacker were refused with 503, want %d", refused, want)
	}
	if _, replayed := post(attacker, "fill-0", all); !replayed {
		t.Error("the first request of the attacker is not remembered")
	}
	first, replayed := post(good, "good", "["+ledgetest.DeviceJSON("good")+"]")
	if replayed || !strings.Contains(first, `"statusCode":201`) {
		t.Errorf("another client's request with a key: %s", first)
	}
	if again, replayed := post(good, "good", "["+ledgetest.DeviceJSON("good")+"]"); !replayed || again != first {
		t.Errorf("the same again: %s, replayed %t, want %s", again, replayed, first)
	}
	a.held(t)
}

// TestAttackSlowReaders has 120 clients ask for 20 MB of values each and read nothing. Others, also at the same address, read
// all of it meanwhile: a slow reader may be slow for longer than this test runs.
func TestAttackSlowReaders(t *testing.T) {
	const events, values = 8, 16
	a := startAttack(t)
	value := strings.Repeat("AAAA", 30_000)
	for event := range events {
		var readings []string
		for range values {
			readings = append(readings, fmt.Sprintf(`{"origin":1,"deviceName":"slow","profileName":"p","resourceName":"r","valueType":"Binary","mediaType":"a/b","binaryValue":%q}`, value))
		}
		body := fmt.Sprintf(`{"apiVersion":"v2","event":{"apiVersion":"v2","id":"00000000-0000-4000-8000-%012d","deviceName":"slow","profileName":"p","sourceName":"r","origin":1,"readings":[%s]}}`,
			event, strings.Join(readings, ","))
		if r := a.Call(http.MethodPost, a.CoreData+"/api/v2/event/p/slow/r", "application/json", body); r.Status != http.StatusCreated {
			t.Fatal(r.Status, r.Body)
		}
	}
	const path = "/api/v2/event/device/name/slow"
	for range 120 {
		c := a.connect(t, attackerAddress, strings.TrimPrefix(a.CoreData, "http://"), "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
		_ = c.SetDeadline(time.Now().Add(stalled))
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Fatal("a slow reader:", err)
		}
	}
	for _, address := range []string{bystanderAddress, attackerAddress} {
		ctx, cancel := context.WithTimeout(t.Context(), stalled)
		defer cancel()
		client := clientAt(address)
		defer client.CloseIdleConnections()
		status, body, err := send(ctx, client, http.MethodGet, a.CoreData+path, "", "")
		if err != nil || status != http.StatusOK || strings.Count(body, value) != events*values {
			t.Errorf("from %s beside slow readers: %d, %d bytes, %v", address, status, len(body), err)
		}
	}
	a.held(t)
}

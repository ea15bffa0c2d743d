package attack

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ledge/cmd/ledgetest"
)

// mostEntry is a text that makes an element of a request nearly as long as it may be, in bytes.
const mostEntry = 3_900_000

// unread asks for a URL and reads no more than the beginning of the answer's status line. The connection stays open for as long as the test.
func unread(t *testing.T, url string) {
	t.Helper()
	host, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	_ = conn.SetDeadline(time.Now().Add(ledgetest.Timeout))
	if _, err := fmt.Fprintf(conn, "GET /%s HTTP/1.1\r\nHost: %s\r\n\r\n", path, host); err != nil {
		t.Fatal(err)
	}
	var status [12]byte
	if _, err := io.ReadFull(conn, status[:]); err != nil || string(status[:]) != "HTTP/1.1 200" {
		t.Errorf("GET %s: got %q, %v", url, status, err)
	}
}

// goOn waits until the bystander was served so many times more.
func (a *attack) goOn(t *testing.T, times int) {
	t.Helper()
	for served := a.served(); a.served() < served+times; {
		select {
		case <-a.Exited:
			t.Fatalf("ledge ended: %v\n%s", a.Err, a.Log)
		case <-time.After(time.Millisecond):
		}
	}
}

// listed reads a list and returns how many elements it has under key.
func (a *attack) listed(t *testing.T, url, key string) (n int) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	d := json.NewDecoder(bufio.NewReader(resp.Body))
	for {
		token, err := d.Token()
		if err != nil {
			t.Fatalf("GET %s: %v", url, err)
		}
		if token != key {
			continue
		}
		if _, err := d.Token(); err != nil { // [
			t.Fatal(err)
		}
		for d.More() {
			var one json.RawMessage
			if err := d.Decode(&one); err != nil {
				t.Fatalf("GET %s: %v", url, err)
			}
			n++
		}
		_, err = io.Copy(io.Discard, resp.Body)
		if err != nil {
			t.Fatalf("GET %s: %v", url, err)
		}
		return n
	}
}

// forgetPeak begins the peak of the memory anew: what came before is not of the attack.
func (a *attack) forgetPeak() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.memory = 0
}

// listLength is how many entities there are in a list: as in the attack that was found where its row of the table is wanted, else enough to take many
// times the memory.
func listLength(found, enough int) int {
	if os.Getenv("TEST_LEDGE_ATTACKS_TABLE") != "" {
		return found
	}
	return enough
}

func TestAttackUnreadDevices(t *testing.T) {
	a := startAttack(t)
	text := strings.Repeat("x", mostEntry)
	for i := range listLength(60, 12) {
		device := strings.Replace(ledgetest.DeviceJSON(fmt.Sprintf("large-%d", i)), `"device":{`, `"device":{"description":"`+text+`",`, 1)
		a.PostJSON(http.MethodPost, a.Metadata+"/api/v2/device", "["+device+"]", http.StatusCreated)
	}
	a.forgetPeak()
	for range 6 { // which together have most of the memory for large entities, but not all
		unread(t, a.Metadata+"/api/v2/device/all?limit=1024")
		unread(t, a.Metadata+"/api/v2/device/name/large-1")
	}
	a.goOn(t, 30)
	if n := a.listed(t, a.Metadata+"/api/v2/device/all?limit=6", "devices"); n != 6 {
		t.Errorf("got %d devices", n)
	}
	a.held(t)
}

func TestAttackUnreadNotifications(t *testing.T) {
	a := startAttack(t)
	text := strings.Repeat("x", 1<<20)
	one := fmt.Sprintf(`{"apiVersion":"v2","notification":{"category":"c","content":"%s","sender":"me","severity":"NORMAL"}}`, text)
	for range listLength(280, 32) / 4 {
		a.PostJSON(http.MethodPost, a.Notifications+"/api/v2/notification", "["+one+strings.Repeat(","+one, 3)+"]", 201, 201, 201, 201)
	}
	a.forgetPeak()
	for range 24 {
		unread(t, a.Notifications+"/api/v2/notification/category/c?limit=1024")
	}
	a.goOn(t, 30)
	if n := a.listed(t, a.Notifications+"/api/v2/notification/category/c?limit=24", "notifications"); n != 24 {
		t.Errorf("got %d notifications", n)
	}
	a.held(t)
}

// TestAttackTiles asks over 100 connections for tiles and checkpoints of a log with large events, again and again: for each tile the node
// reads 40 events of nearly 4 MB. The bystander is served meanwhile, and another auditor gets a tile.
func TestAttackTiles(t *testing.T) {
	a := startAttack(t)
	for i := range 40 {
		body := `[` + ledgetest.LargeDeviceJSON(fmt.Sprint("large-", i), mostEntry) + `]`
		status, text, err := send(t.Context(), clientAt(attackerAddress), "POST", a.Metadata+"/api/v2/device", "application/json", body)
		if err != nil || status != 207 {
			t.Fatalf("%d %.300s %v", status, text, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	defer clients.Wait()
	defer cancel()
	var made atomic.Int64
	for i := range 100 {
		path := []string{"tile/0/000.p/48", "tile/entries/000.p/48", "checkpoint", "tile/0/000.p/1"}[i%4]
		clients.Go(func() {
			client := clientAt(attackerAddress)
			defer client.CloseIdleConnections()
			for ctx.Err() == nil {
				status, text, err := send(ctx, client, "GET", a.Metadata+"/api/v2/ledger/"+path, "", "")
				if ctx.Err() == nil && (err != nil || status != 200 && status != 503) {
					t.Errorf("%s: %d %.300s %v", path, status, text, err)
				}
				made.Add(1)
			}
		})
	}
	auditor := clientAt("127.0.0.4")
	for round := range int64(5) {
		for made.Load() < 20*round && t.Context().Err() == nil {
			a.goOn(t, 1)
		}
		a.goOn(t, 10)
		status, text, err := send(t.Context(), auditor, "GET", a.Metadata+"/api/v2/ledger/tile/0/000.p/48", "", "")
		if err != nil || status != 200 {
			t.Errorf("the other auditor: %d %.300s %v", status, text, err)
		}
	}
	cancel()
	clients.Wait()
	a.held(t)
}

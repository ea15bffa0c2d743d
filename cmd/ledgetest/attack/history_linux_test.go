package attack

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// rawTap is a connection to the tap listener that speaks NATS' protocol by hand, as no client library would.
func rawTap(p *ledgetest.Node, t *testing.T, login string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(p.Tap, "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := bufio.NewReader(c).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "CONNECT {\"verbose\":false,\"headers\":true%s}\r\n", login)
	return c
}

const asHistory = `,"user":"history","pass":"history"`

// postMany posts values until the log has a few MiB of them.
func postMany(p *ledgetest.Node, t *testing.T, n, size int) {
	t.Helper()
	body := strings.Repeat("x", size)
	for range n {
		if a := p.Call("POST", p.DeviceREST+"/api/v2/resource/bystander/jpeg", "image/jpeg", body); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
}

// TestAttackHistoryBatches asks for all of a stream some 3,600 times with 292 KB of requests over 20 connections, none of which reads an
// answer. Another client's answers come meanwhile.
func TestAttackHistoryBatches(t *testing.T) {
	a := startAttack(t)
	postMany(a.Node, t, 100, 200<<10)
	request := `{"seq":1,"batch":1000000}`
	one := fmt.Sprintf("PUB $JS.API.DIRECT.GET.LEDGE_READINGS _INBOX.x %d\r\n%s\r\n", len(request), request)
	many := []byte("SUB _INBOX.x 1\r\n" + strings.Repeat(one, 292_000/20/len(one)))
	for range 20 {
		c := rawTap(a.Node, t, asHistory)
		_ = c.SetWriteDeadline(time.Now().Add(ledgetest.Timeout))
		_, _ = c.Write(many)
	}
	reader := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}, Timeout: ledgetest.Timeout}
	nc, err := nats.Connect(a.Tap, nats.UserInfo("history", "history"), nats.SetCustomDialer(&reader))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for from := a.served(); a.served() < from+600; {
		select {
		case <-a.Exited:
			t.Fatalf("ledge ended: %v\n%s", a.Err, a.Log)
		default:
		}
		if m, err := nc.Request("$JS.API.DIRECT.GET.LEDGE_READINGS", []byte(`{"seq":2}`), ledgetest.Timeout); err != nil || m.Header.Get("Nats-Sequence") != "2" {
			t.Fatalf("another's answer: %v, %v", m, err)
		}
	}
	a.held(t)
}

// TestAttackHistoryReaders has five readers that behave well read a stream again and again, in batches.
func TestAttackHistoryReaders(t *testing.T) {
	a := startAttack(t)
	postMany(a.Node, t, 200, 20<<10)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 5 {
		nc := ledgetest.HistoryConn(a.Node, t)
		readers.Go(func() { readAgain(t, nc, done) })
	}
	for from := a.served(); a.served() < from+1500; {
		time.Sleep(time.Millisecond)
	}
	close(done)
	readers.Wait()
	a.held(t)
}

// readAgain reads the readings from the first to the last in batches, again and again.
func readAgain(t *testing.T, nc *nats.Conn, done <-chan struct{}) {
	inbox := nats.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		t.Error(err)
		return
	}
	for {
		var info map[string]struct{ Last uint64 }
		m, err := nc.Request("ledge.info", nil, ledgetest.Timeout)
		if err != nil || json.Unmarshal(m.Data, &info) != nil {
			t.Error(err)
			return
		}
		for next := uint64(1); next <= info["LEDGE_READINGS"].Last; {
			if err := nc.PublishRequest("$JS.API.DIRECT.GET.LEDGE_READINGS", inbox, fmt.Appendf(nil, `{"seq":%d,"batch":1000,"max_bytes":4000000}`, next)); err != nil {
				t.Error(err)
				return
			}
			for {
				select {
				case <-done:
					return
				default:
				}
				m, err := sub.NextMsg(ledgetest.Timeout)
				if err != nil {
					t.Error(err)
					return
				}
				if status := m.Header.Get("Status"); status == "204" {
					break
				} else if status != "" {
					t.Error(status, m.Header.Get("Description"))
					return
				}
				var got uint64
				if _, err := fmt.Sscan(m.Header.Get("Nats-Sequence"), &got); err != nil || got != next {
					t.Errorf("got %d for %d, %v", got, next, err)
					return
				}
				next++
			}
		}
	}
}

// TestAttackForgedAnswers has a tap listen to everybody's answers and ask for others, to be sent where those go, while Ledge's own
// commands read the log.
func TestAttackForgedAnswers(t *testing.T) {
	a := startAttack(t)
	for part := range 3 { // several pages for those who read
		var devices []string
		for n := range 1000 {
			devices = append(devices, ledgetest.DeviceJSON(fmt.Sprintf("forged-%d-%d", part, n)))
		}
		if got := a.Call("POST", a.Metadata+"/api/v2/device", "application/json", "["+strings.Join(devices, ",")+"]"); got.Status != 207 {
			t.Fatalf("%d %.300s", got.Status, got.Body)
		}
	}
	for _, command := range []string{"verify", "log"} {
		forge(a.Node, t)
		if out, errs, code := ledgetest.Run(t, command, "--data-dir", a.Dir); code != exit.OK {
			t.Errorf("ledge %s: %d, %.300s %s", command, code, out, errs)
		}
	}
	a.held(t)
}

// forge listens to all inboxes, and has answers to other questions sent to each.
func forge(p *ledgetest.Node, t *testing.T) {
	nc, seen := ledgetest.HistoryConn(p, t), map[string]int{}
	_, err := nc.Subscribe("_INBOX.>", func(m *nats.Msg) {
		if seen[m.Subject]++; seen[m.Subject]%100 != 1 { // or what it forges would drown what it listens for
			return
		}
		for _, request := range []string{`{"seq":1}`, `{"seq":5}`} {
			for _, stream := range []string{"LEDGE_EVENTS", "LEDGE_READINGS"} {
				_ = nc.PublishRequest("$JS.API.DIRECT.GET."+stream, m.Subject, []byte(request))
			}
		}
		_ = nc.Flush()
	})
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
}

package attack

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// rawNATS is a connection to the NATS port that speaks NATS' protocol by hand, as no client library would.
func rawNATS(p *ledgetest.Node, t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(p.NATS, "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := bufio.NewReader(c).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(c, "CONNECT {\"verbose\":false,\"headers\":true}\r\n")
	return c
}

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

// TestAttackConsumersUnread makes as many consumers as a stream may have over 20 connections, asks each for all of it again and again, and
// reads no answer. Another client's consumer goes on meanwhile, and no more consumers are made.
func TestAttackConsumersUnread(t *testing.T) {
	a := startAttack(t)
	postMany(a.Node, t, 100, 200<<10)
	reader := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}, Timeout: ledgetest.Timeout}
	_, js := ledgetest.MustJetStream(t, a.NATS, nats.SetCustomDialer(&reader))
	// An ordered consumer would be made anew for each fetch, and wait for a place among the 100.
	c, err := js.CreateConsumer(t.Context(), "LEDGE_READINGS", jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		c := rawNATS(a.Node, t)
		_ = c.SetWriteDeadline(time.Now().Add(ledgetest.Timeout))
		text := "SUB _INBOX.x 1\r\n"
		for n := range 50 {
			name := fmt.Sprintf("c-%d-%d", i, n)
			create := fmt.Sprintf(`{"stream_name":"LEDGE_READINGS","config":{"name":%q,"durable_name":%q,"ack_policy":"none"}}`, name, name)
			text += fmt.Sprintf("PUB $JS.API.CONSUMER.CREATE.LEDGE_READINGS.%s _INBOX.y %d\r\n%s\r\n", name, len(create), create)
		}
		for n := range 50 * 20 {
			next := `{"batch":1000000}`
			text += fmt.Sprintf("PUB $JS.API.CONSUMER.MSG.NEXT.LEDGE_READINGS.c-%d-%d _INBOX.x %d\r\n%s\r\n", i, n%50, len(next), next)
		}
		_, _ = io.WriteString(c, text)
	}
	for from := a.served(); a.served() < from+600; {
		select {
		case <-a.Exited:
			t.Fatalf("ledge ended: %v\n%s", a.Err, a.Log)
		default:
		}
		if _, err := c.Next(jetstream.FetchMaxWait(time.Second)); err != nil && !errors.Is(err, nats.ErrTimeout) {
			t.Fatalf("another's consumer: %v", err)
		}
	}
	s, err := js.Stream(t.Context(), "LEDGE_READINGS")
	if err != nil || s.CachedInfo().State.Consumers > 100 {
		t.Errorf("%d consumers, %v", s.CachedInfo().State.Consumers, err)
	}
	a.held(t)
}

// TestAttackHistoryReaders has five readers that behave well read a stream again and again.
func TestAttackHistoryReaders(t *testing.T) {
	a := startAttack(t)
	postMany(a.Node, t, 200, 20<<10)
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 5 {
		_, js := ledgetest.MustJetStream(t, a.NATS)
		readers.Go(func() { readAgain(ctx, t, js) })
	}
	for from := a.served(); a.served() < from+1500; {
		time.Sleep(time.Millisecond)
	}
	stop()
	readers.Wait()
	a.held(t)
}

// readAgain reads the readings from the first to the last, again and again.
func readAgain(ctx context.Context, t *testing.T, js jetstream.JetStream) {
	for ctx.Err() == nil {
		s, err := js.Stream(ctx, "LEDGE_READINGS")
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			t.Error(err)
			return
		}
		c, err := s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			t.Error(err)
			return
		}
		for next := uint64(1); next <= s.CachedInfo().State.LastSeq && ctx.Err() == nil; next++ {
			m, err := c.Next(jetstream.FetchMaxWait(time.Second))
			if err != nil {
				t.Error(err)
				return
			}
			if meta, err := m.Metadata(); err != nil || meta.Sequence.Stream != next {
				t.Errorf("got %+v for %d, %v", meta, next, err)
				return
			}
		}
	}
}

// auditQuestions are the questions of an auditor, with %d for an event. The device "hot" was changed often, and "large" has a large text.
var auditQuestions = []string{
	"/device/all?limit=1024&asOf=%d", "/device/all?limit=1024&labels=changed&asOf=%d", "/device/name/large?asOf=%d",
	"/deviceprofile/all?asOf=%d", "/ledger/history/device/hot?limit=1000&before=%d", "/ledger/history/device/large?before=%d",
	"/ledger/event?limit=1000&from=%d", "/ledger/event?limit=1000&entity=device&name=hot&from=%d", "/ledger/event/%d",
	"/ledger/event?limit=1000&data=*large*&from=%d",
}

// TestAuditorsTogether has 20 auditors ask at once, each from its address, for the past of a thousand devices: lists, histories, and pages
// of the log. Each is answered, or is told to come again. Two lists of the past at a time have 32 MiB each. The node takes 163 MiB.
func TestAuditorsTogether(t *testing.T) {
	a := startAttack(t)
	added := func(names int, name string, more string) {
		var devices []string
		for n := range names {
			devices = append(devices, strings.Replace(ledgetest.DeviceJSON(fmt.Sprintf(name, n)), `"device":{`, `"device":{`+more, 1))
		}
		a.mustSend(t, "POST", devices)
	}
	patched := func(times int, device func(n int) string) {
		var patches []string
		for n := range times {
			patches = append(patches, `{"apiVersion":"v2","device":{`+device(n)+`}}`)
		}
		a.mustSend(t, "PATCH", patches)
	}
	added(1000, "d-%d", "")
	added(1, "hot%.0d", "")
	added(1, "large%.0d", `"description":"`+strings.Repeat("x", 2<<20)+`",`)
	for round := range 4 {
		patched(500, func(n int) string { return fmt.Sprintf(`"name":"d-%d","labels":["changed","%d"]`, n*2, round) })
		patched(1000, func(n int) string { return fmt.Sprintf(`"name":"hot","description":"%d-%d"`, round, n) })
		patched(1, func(int) string {
			return fmt.Sprintf(`"name":"large","description":"%s"`, strings.Repeat(fmt.Sprint(round), 2<<20))
		})
	}
	first := 1000
	answers := make([]map[int]int, 20)
	var auditors sync.WaitGroup
	for i := range answers {
		answers[i] = map[int]int{}
		client := clientAt(fmt.Sprint("127.0.2.", 10+i))
		auditors.Go(func() {
			defer client.CloseIdleConnections()
			for n := range auditQuestions {
				at := first + (n*len(answers)+i)*7919%6000
				question := fmt.Sprintf(auditQuestions[(n+i)%len(auditQuestions)], at)
				status, body, err := send(t.Context(), client, "GET", a.Metadata+"/api/v2"+question, "", "")
				if err != nil || status != 200 && status != 503 {
					t.Errorf("%s: %d %.300s %v", question, status, body, err)
				}
				answers[i][status]++
			}
		})
	}
	auditors.Wait()
	for i, of := range answers {
		if of[200] == 0 {
			t.Errorf("auditor %d has no answer", i)
		}
	}
	a.held(t)
}

// mustSend sends devices or patches in one request.
func (a *attack) mustSend(t *testing.T, method string, all []string) {
	t.Helper()
	got := a.Call(method, a.Metadata+"/api/v2/device", "application/json", "["+strings.Join(all, ",")+"]")
	if got.Status != 207 || strings.Contains(got.Body, `"message"`) {
		t.Fatalf("%d %.300s", got.Status, got.Body)
	}
}

// TestAttackForgedAnswers has a client listen to everybody's answers and ask for others, to be sent where those go, while Ledge's own
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
	nc, _ := ledgetest.MustJetStream(t, p.NATS)
	seen := map[string]int{}
	_, err := nc.Subscribe("_INBOX.>", func(m *nats.Msg) {
		if seen[m.Subject]++; seen[m.Subject]%100 != 1 { // or what it forges would drown what it listens for
			return
		}
		for _, request := range []string{`{"seq":1}`, `{"seq":5}`} {
			for _, stream := range []string{"LEDGE_EVENTS", "LEDGE_READINGS"} {
				_ = nc.PublishRequest("$JS.API.STREAM.MSG.GET."+stream, m.Subject, []byte(request))
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

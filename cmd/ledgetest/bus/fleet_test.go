package bus

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ledge/bridge/porttest"
	"ledge/cmd/ledgetest"
)

// hub is a NATS cluster of three servers in this process, as deploy/fleet has it.
type hub struct {
	t       *testing.T
	dir     string
	clients [3]int // ports
	leafs   [3]int
	routes  [3]int
	servers [3]*server.Server
}

func startHub(t *testing.T) *hub {
	t.Helper()
	h := &hub{t: t, dir: t.TempDir()}
	for i := range h.servers {
		h.clients[i], h.leafs[i], h.routes[i] = porttest.Hold(t), porttest.Hold(t), porttest.Hold(t)
	}
	for i := range h.servers {
		h.start(i)
	}
	t.Cleanup(func() {
		for _, s := range h.servers {
			s.Shutdown()
			s.WaitForShutdown()
		}
	})
	return h
}

// start starts one server.
func (h *hub) start(i int) {
	h.t.Helper()
	text := ledgetest.MustRead(h.t, "../../../deploy/fleet/hub.conf")
	replace := []string{
		"$SERVER", fmt.Sprint("hub-", i), "$DATA", strconv.Quote(filepath.Join(h.dir, strconv.Itoa(i))),
		"$FLEET_PASSWORD", "f", "$EDGE_PASSWORD", "p", "0.0.0.0:4222", fmt.Sprint("127.0.0.1:", h.clients[i]),
		"0.0.0.0:6222", fmt.Sprint("127.0.0.1:", h.routes[i]), "0.0.0.0:7422", fmt.Sprint("127.0.0.1:", h.leafs[i]),
	}
	for n, port := range h.routes {
		replace = append(replace, fmt.Sprintf("hub-%d:6222", n+1), fmt.Sprint("127.0.0.1:", port))
	}
	o := &server.Options{}
	if err := o.ProcessConfigString(strings.NewReplacer(replace...).Replace(text)); err != nil {
		h.t.Fatal(err)
	}
	var err error
	o.NoLog, o.NoSigs = true, true
	if h.servers[i], err = server.NewServer(o); err != nil {
		h.t.Fatal(err)
	}
	h.servers[i].Start()
}

// connect returns a client of the hub that finds another server if one ends.
func (h *hub) connect() (*nats.Conn, jetstream.JetStream) {
	h.t.Helper()
	var urls string
	for _, port := range h.clients {
		urls += fmt.Sprintf("nats://fleet:f@127.0.0.1:%d,", port)
	}
	return ledgetest.MustJetStream(h.t, urls[:len(urls)-1],
		nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.RetryOnFailedConnect(true))
}

// hubURL is the setting of an edge.
func (h *hub) hubURL(node string) (text string) {
	for _, port := range h.leafs {
		at := url.URL{Scheme: "nats", User: url.User(node), Host: fmt.Sprintf("127.0.0.1:%d", port)}
		text += at.String() + ","
	}
	return text[:len(text)-1]
}

// edge is a node of Ledge in the fleet.
type edge struct {
	*ledgetest.Node
	name, dir string
	flags     []string
}

// source makes the stream at the hub that sources the events of an edge. text is that of edge-1.
func source(ctx context.Context, js jetstream.JetStream, text, node string) error {
	var c jetstream.StreamConfig
	if err := json.Unmarshal([]byte(strings.ReplaceAll(text, "edge-1", node)), &c); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second) // without a leader, the cluster does not answer
	defer cancel()
	_, err := js.CreateOrUpdateStream(ctx, c)
	return err
}

// TestFleet has three edges whose events a cluster of three sources. A server of the cluster is killed, an edge is killed and another is
// away meanwhile: the cluster has each event, in order. It can neither delete nor change anything at an edge.
func TestFleet(t *testing.T) {
	t.Parallel()
	secrets := t.TempDir()
	if err := os.WriteFile(filepath.Join(secrets, "ledge-hub-password"), []byte("p\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := startHub(t)
	nc, js := h.connect()
	ctx := t.Context()
	var edges []*edge
	stream := ledgetest.MustRead(t, "../../../deploy/fleet/edge-1.json")
	for i := range 3 {
		e := &edge{name: fmt.Sprintf("edge-%d", i+1), dir: t.TempDir()}
		e.flags = []string{"--hub-url", h.hubURL(e.name)}
		e.start(t, secrets)
		edges = append(edges, e)
		ledgetest.Until(t, "a leader of the cluster", func() bool { return source(ctx, js, stream, e.name) == nil })
	}
	const rounds, each = 10, 1000
	for round := range rounds {
		for _, e := range edges {
			if e.Node != nil {
				mustAdd(t, e.Node, fmt.Sprint("cam-", round), each)
			}
		}
		switch round {
		case 2:
			h.servers[0].Shutdown()
			h.servers[0].WaitForShutdown()
		case 4:
			edges[1].Kill()
			edges[1].start(t, secrets)
		case 5:
			edges[2].Stop()
			edges[2].Node = nil
		case 7:
			edges[2].start(t, secrets)
			h.start(0)
		}
	}
	for _, e := range edges {
		want := uint64(0)
		for _, f := range ledgetest.Facts(t, e.dir) {
			if f.Subject[:len("ledge.event")] == "ledge.event" {
				want = f.Seq
			}
		}
		e.sourced(ctx, t, js, want)
		if err := ledgetest.CompareBus(e.Node); err != nil {
			t.Errorf("%s: %v", e.name, err)
		}
		for _, call := range []string{"STREAM.DELETE.LEDGE_EVENTS", "STREAM.PURGE.LEDGE_EVENTS", "STREAM.MSG.DELETE.LEDGE_EVENTS", "STREAM.UPDATE.LEDGE_EVENTS"} {
			short, cancel := context.WithTimeout(ctx, time.Second)
			m, err := nc.RequestWithContext(short, "$JS."+e.name+".API."+call, []byte(`{"name":"LEDGE_EVENTS","seq":1}`))
			cancel()
			if err == nil {
				t.Errorf("%s: %s of the hub is answered: %s", e.name, call, m.Data)
			}
		}
		if err := nc.Publish("ledge.event.device.evil.added", []byte("{}")); err != nil {
			t.Error(err)
		}
		if m, err := nc.Request("edgex.evil", []byte("{}"), time.Second); err == nil {
			t.Errorf("%s: a message of the hub is in the stream of EdgeX's message bus: %s", e.name, m.Data)
		}
	}
}

func (e *edge) start(t *testing.T, secrets string) {
	t.Helper()
	e.Node = ledgetest.LaunchUnder(t, []string{"env", "CREDENTIALS_DIRECTORY=" + secrets}, e.dir, e.flags...)
	if err := e.WaitReady(); err != nil {
		t.Fatalf("%v\n%s", err, e.Log)
	}
}

// sourced holds that the stream at the hub has each event of the edge, in order. A new leader of the stream may source the last events
// again, if the entries of its predecessor are not committed yet (a race of nats-server 2.15).
func (e *edge) sourced(ctx context.Context, t *testing.T, js jetstream.JetStream, want uint64) {
	t.Helper()
	has := func() (s jetstream.Stream, msgs uint64) {
		short, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		s, err := js.Stream(short, "FLEET_"+e.name)
		if err != nil {
			return nil, 0
		}
		return s, s.CachedInfo().State.Msgs
	}
	s, msgs := has()
	for last, moved := msgs, time.Now(); msgs < want; s, msgs = has() {
		if msgs > last {
			last, moved = msgs, time.Now()
		}
		if time.Since(moved) > 4*ledgetest.Timeout { // after some failures, a server waits up to two minutes before it tries a source again
			t.Fatalf("%s: the hub has %d events, and the edge %d", e.name, last, want)
		}
		time.Sleep(100 * time.Millisecond)
	}
	c, err := s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{HeadersOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	messages, err := c.Messages()
	if err != nil {
		t.Fatal(err)
	}
	defer messages.Stop()
	again := 0
	for next := uint64(1); next <= want; {
		m, err := messages.Next(jetstream.NextMaxWait(ledgetest.Timeout))
		if err != nil {
			t.Fatalf("%s: event %d of %d, after %d that came again: %v", e.name, next, want, again, err)
		}
		from := strings.Fields(m.Headers().Get("Nats-Stream-Source")) // stream, sequence, filter, destination, subject
		if len(from) < 2 || !strings.HasPrefix(m.Subject(), "fleet."+e.name+".event.") {
			t.Fatalf("%s: the message on %s is from %v", e.name, m.Subject(), from)
		}
		switch seq, err := strconv.ParseUint(from[1], 10, 64); {
		case err != nil || seq > next:
			t.Fatalf("%s: event %s comes in the place of %d", e.name, from[1], next)
		case seq < next:
			again++
		default:
			next++
		}
	}
	if again > 0 {
		t.Logf("%s: %d events came again", e.name, again)
	}
}

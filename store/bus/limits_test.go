package bus

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ledge/domain"
	"ledge/store"
	"ledge/store/storetest"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// TestConnections holds how many clients may be logged in, and from one address, and that a client that leaves makes room.
func TestConnections(t *testing.T) {
	t.Parallel()
	n := mustServe(t, Options{Connections: 4})
	var first *nats.Conn
	for _, c := range []struct {
		address string
		most    int
	}{{"127.0.0.2", 2}, {"127.0.0.3", 2}, {"127.0.0.4", 0}} {
		for i := range c.most + 1 {
			nc, err := n.connect(nats.SetCustomDialer(from(c.address)))
			if (err == nil) != (i < c.most) {
				t.Fatalf("%s: connection %d of %d: %v", c.address, i+1, c.most, err)
			}
			if err != nil {
				continue
			}
			t.Cleanup(nc.Close)
			if first == nil {
				first = nc
			}
		}
	}
	if got := n.Refusals()[byConnections]; got != 3 || n.log.count("maximum connections exceeded") != 3 {
		t.Errorf("%d refusals are counted, want 3", got)
	}
	first.Close()
	eventually(t, "it has left", func() bool { return n.Clients() == 3 })
	n.mustConnect(t, nats.SetCustomDialer(from("127.0.0.4")))
}

// TestHalfOpenLogins holds that too many connections that do not log in cost the address with most of them its oldest, and that each ends
// after a while.
func TestHalfOpenLogins(t *testing.T) {
	t.Parallel()
	n := mustServe(t, Options{Descriptors: 16})
	if n.gate.arrived != 4 || n.gate.most != 12 {
		t.Fatalf("of 16 descriptors %d are for logins and %d for clients", n.gate.arrived, n.gate.most)
	}
	var silent []net.Conn
	for i := range 4 {
		address := "127.0.0.2"
		if i == 0 {
			address = "127.0.0.3" // the oldest of all stays
		}
		silent = append(silent, n.mustDial(t, address))
		readGreeting(t, silent[i])
	}
	last := n.mustDial(t, "127.0.0.4")
	readGreeting(t, last)
	readToEnd(t, silent[1])
	n.gate.mu.Lock()
	left := n.gate.arriving()
	n.gate.mu.Unlock()
	if left != 4 {
		t.Errorf("%d connections have not logged in, want 4", left)
	}
	if nc := n.mustConnect(t); nc.Flush() != nil {
		t.Error("a client does not get in")
	}
	for _, conn := range []net.Conn{silent[0], last} {
		readToEnd(t, conn)
	}
}

// readGreeting reads the first line of the server.
func readGreeting(t *testing.T, conn net.Conn) {
	t.Helper()
	for b := make([]byte, 1); b[0] != '\n'; {
		if _, err := conn.Read(b); err != nil {
			t.Fatal(err)
		}
	}
}

// TestClientLimits holds the words of the server at each limit of a client's protocol.
func TestClientLimits(t *testing.T) {
	t.Parallel()
	n := mustServe(t, Options{MaxBytes: 1 << 20})
	subscriptions := ""
	for sid := range subscriptionsMost + 1 {
		subscriptions += fmt.Sprintf("SUB ledge.x.%d %d\r\n", sid, sid+10)
	}
	for _, c := range []struct{ name, says, want string }{
		{"subscriptions", "CONNECT {}\r\n" + subscriptions + "PING\r\n", "maximum subscriptions exceeded"},
		{"payload", fmt.Sprintf("CONNECT {}\r\nPUB x %d\r\n", payloadMost+1), "Maximum Payload Violation"},
		{"line", "CONNECT {}\r\nSUB " + strings.Repeat("x", controlLine+1000), "maximum control line exceeded"},
		{"login", "CONNECT {\"name\":\"" + strings.Repeat("x", 2*controlLine), "maximum control line exceeded"},
		{"publish", "CONNECT {}\r\nPUB ledge.event.x 2\r\nhi\r\nPING\r\n", "Permissions Violation for Publish to \"ledge.event.x\""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conn := n.mustDial(t, "127.0.0.1")
			go func() { _, _ = io.WriteString(conn, c.says) }()
			var got []byte
			for buffer := make([]byte, 4<<10); !bytes.Contains(bytes.ToLower(got), []byte(strings.ToLower(c.want))); {
				read, err := conn.Read(buffer)
				if got = append(got, buffer[:read]...); err != nil {
					t.Fatalf("got %s and %v, want %s", got, err, c.want)
				}
			}
		})
	}
}

// TestConsumersAreBounded holds that a stream has so many consumers and refuses the next.
func TestConsumersAreBounded(t *testing.T) {
	t.Parallel()
	n := mustServe(t, Options{MaxBytes: 1 << 20})
	s := mustStream(t, n.mustConnect(t), "LEDGE_EVENTS")
	for i := range consumersMost {
		if _, err := s.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: fmt.Sprint("c", i)}); err != nil {
			t.Fatal(i, err)
		}
	}
	_, err := s.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "more"})
	if err == nil || !strings.Contains(err.Error(), "maximum consumers limit reached") {
		t.Errorf("one more: %v", err)
	}
}

// TestMemoryOfOne holds that a client is cut off if too much waits for it.
func TestMemoryOfOne(t *testing.T) {
	t.Parallel()
	n := mustServe(t, Options{Memory: 1 << 40})
	n.mustStall(t, "127.0.0.1", 8)
	n.post(t, 5, valueMost) // 20 MiB for its subscriptions
	server, _ := n.now()
	eventually(t, "it is cut off", func() bool {
		for _, c := range connections(server) {
			if c.Pending > pendingMost {
				t.Fatalf("%d bytes wait for a client", c.Pending)
			}
		}
		return n.Clients() == 0
	})
	if n.log.count("Slow Consumer")+n.log.count("it reads nothing") == 0 {
		t.Error("the log does not say that it was cut off")
	}
}

// TestMemoryOfAll has a client read nothing of many subscriptions: it is cut off before all clients together exceed the memory, and a client
// that reads stays.
func TestMemoryOfAll(t *testing.T) {
	t.Parallel()
	const most = 6 << 20
	n := mustServe(t, Options{Memory: most})
	n.mustStall(t, "127.0.0.2", 4)
	seen := mustSubscribe(t, n.mustConnect(t), "ledge.>")
	for range 40 {
		n.post(t, 1, 256<<10)
		mustNext(t, seen)
		n.memory.mu.Lock()
		queued := n.memory.queued
		n.memory.mu.Unlock()
		if queued > most {
			t.Fatalf("%d bytes wait", queued)
		}
	}
	eventually(t, "the silent one is cut off", func() bool { return n.Clients() == 1 })
	if n.Refusals()[byMemory] != 1 || n.log.count("too much waits for it") != 1 {
		t.Errorf("%d are counted, want 1", n.Refusals()[byMemory])
	}
	storetest.MustAdd(t, n.events, "a", 1)
	if m := mustNext(t, seen); m.Header.Get("Nats-Stream") != "LEDGE_EVENTS" {
		t.Errorf("the client that reads got %s", m.Subject)
	}
}

// TestClientThatReadsNothing holds that a client is cut off in time if it reads nothing of what waits, also if that is little.
func TestClientThatReadsNothing(t *testing.T) {
	t.Parallel()
	n := mustServe(t, Options{})
	n.mustStall(t, "127.0.0.1", 1)
	const count = 14 // more than the buffers of the connection, and less than may wait
	if n.post(t, count, valueMost); count*payloadMost > pendingMost*3/2 {
		t.Fatal("too much for this test")
	}
	eventually(t, "it is cut off", func() bool { return n.Clients() == 0 })
	if n.Refusals()[byMemory] != 0 {
		t.Error("it was cut off for its memory")
	}
	if n.log.count("it reads nothing")+n.log.count("Slow Consumer") == 0 {
		t.Error("the log does not say that it was cut off")
	}
}

// TestRate holds that all connections of an address share how much they may send.
func TestRate(t *testing.T) {
	t.Parallel()
	n := mustServe(t, Options{})
	var conns []net.Conn
	for range 2 {
		conn := n.mustDial(t, "127.0.0.2")
		readGreeting(t, conn)
		conns = append(conns, conn)
	}
	n.gate.mu.Lock()
	limit := n.gate.rateOf("127.0.0.2")
	n.gate.mu.Unlock()
	if limit.Limit() != sayRate || limit.Burst() != sayBurst {
		t.Errorf("%v bytes a second, %d at once", limit.Limit(), limit.Burst())
	}
	for _, conn := range conns {
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		go func() {
			_, _ = io.WriteString(conn, "CONNECT {}\r\n")
			for range 2 * sayBurst / (64 << 10) { // in vain, and read all the same
				_, _ = io.WriteString(conn, fmt.Sprintf("PUB x %d\r\n%s\r\n", 64<<10, strings.Repeat("x", 64<<10)))
			}
		}()
	}
	eventually(t, "they have sent as much as they may", func() bool { return limit.Tokens() < 64<<10 })
	if nc := n.mustConnect(t); nc.Flush() != nil {
		t.Error("a client of another address does not get in")
	}
}

// TestLargeValues holds that a payload is left out if it is too large, in live messages and in the copy.
func TestLargeValues(t *testing.T) {
	t.Parallel()
	n := mustServe(t, Options{MaxBytes: 8 << 20})
	nc := n.mustConnect(t)
	seen := mustSubscribe(t, nc, "ledge.reading.>")
	for seq, size := range []int{valueMost, valueMost + 1} {
		n.post(t, 1, size)
		sum, want, digest := sha256.Sum256(make([]byte, size)), size, ""
		if size > valueMost {
			want, digest = 0, hex.EncodeToString(sum[:])
		}
		live := mustNext(t, seen)
		kept, err := mustStream(t, nc, "LEDGE_READINGS").GetMsg(t.Context(), uint64(seq)+1)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []*nats.Msg{live, {Header: kept.Header, Data: kept.Data}} {
			if len(m.Data) != want || m.Header.Get(headerSize) != strconv.Itoa(size) || m.Header.Get(headerDigest) != digest {
				t.Errorf("a value of %d bytes comes with %d and %v", size, len(m.Data), m.Header)
			}
		}
	}
}

// TestLargeEvent holds that the message of a large event of core-data has the path of the event, if it is stored. The copy of an earlier
// version, without the path, is not made anew.
func TestLargeEvent(t *testing.T) {
	t.Parallel()
	n := mustServe(t, Options{MaxBytes: 8 << 20})
	seen := mustSubscribe(t, n.mustConnect(t), "ledge.reading.>")
	const id = "6877ff35-5566-5d14-a992-000000000001"
	for _, c := range []struct {
		size int
		want string
	}{{valueMost / 2, ""}, {valueMost, "/api/v2/event/id/" + id}} {
		e := domain.DataEventAdded{Event: domain.DataEvent{ID: id, Profile: "camera", Device: "cam-1", Source: "all", Origin: 1}}
		e.Readings = []domain.ReadingValue{{Data: make([]byte, c.size), Reading: domain.Reading{
			ID: id, Profile: "camera", Device: "cam-1", Resource: "jpeg", ValueType: domain.Binary, MediaType: "image/jpeg", Origin: 1,
		}}}
		request := storetest.Request(domain.AddDataEvent{Added: e})
		request.Bytes = c.size
		storetest.MustSubmit(t, n.readings, request)
		if m := mustNext(t, seen); m.Header.Get(headerRef) != c.want || (len(m.Data) == 0) != (c.want != "") {
			t.Errorf("an event of %d bytes comes with %d and %v", c.size, len(m.Data), m.Header)
		}
		storetest.MustSubmit(t, n.readings, storetest.Request(domain.RemoveDataEvent{ID: id}))
		mustNext(t, seen)
	}
	for messages, err := range n.readings.Log().Messages(t.Context(), 3, 3) {
		if err != nil {
			t.Fatal(err)
		}
		m := messages[0]
		header, _ := onBus(m)
		var text []string
		for _, f := range header {
			text = append(text, f.Name+": "+f.Value)
		}
		for left, want := range []bool{true, true, false} {
			if got := isCopied(m, header, strings.Join(text[:len(text)-left], "\r\n")); got != want {
				t.Errorf("without the last %d headers: got %v, want %v", left, got, want)
			}
		}
		m.Header = slices.DeleteFunc(m.Header, func(f store.Field) bool { return f.Name == "Ledge-Chain" })
		if header, _ := onBus(m); header.Get(headerRef) != "" {
			t.Errorf("an event that is not stored has %v", header)
		}
	}
}

// TestDescriptors holds how many connections fit into the file descriptors of clients.
func TestDescriptors(t *testing.T) {
	for descriptors, want := range map[int][2]int{0: {64, 64}, 2484: {64, 64}, 112: {64, 48}, 40: {30, 10}, 4: {3, 1}} {
		g := newGate(Options{Descriptors: descriptors}.withDefaults(), nil)
		if got := [2]int{g.most, g.arrived}; got != want {
			t.Errorf("%d descriptors: got %v, want %v", descriptors, got, want)
		}
	}
}

// TestRefusalsLogged holds that the log names each address once a minute, and only so many addresses.
func TestRefusalsLogged(t *testing.T) {
	r, now, logged := newRefusals(), time.Unix(1e9, 0), 0
	for range 20 {
		for _, client := range []string{"10.0.0.1", "10.0.0.2"} {
			if r.add(byRole, client, now) {
				logged++
			}
		}
	}
	if logged != 2 || r.counts[byRole] != 40 {
		t.Errorf("%d of %d refusals of two clients are logged in a minute, want 2 of 40", logged, r.counts[byRole])
	}
	for i := range 2 * refusalsLogged {
		if r.add(byRole, strings.Repeat("x", i), now) {
			logged++
		}
	}
	if logged != refusalsLogged {
		t.Errorf("%d clients are logged in a minute, want %d", logged, refusalsLogged)
	}
	if !r.add(byRole, "10.0.0.1", now.Add(refusalLogged)) || len(r.logged) != 1 {
		t.Errorf("after a minute %d clients are remembered, want 1 that is logged", len(r.logged))
	}
}

package bus

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ledge/domain"
	"ledge/domain/moment"
	"ledge/store/storetest"

	"github.com/nats-io/nats.go"
)

// mustReplay starts a replay.
func (n *served) mustReplay(t *testing.T, o domain.BusReplayOrder) domain.BusReplay {
	t.Helper()
	r, err := n.Replays().Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// stateOf returns how far a replay is.
func (n *served) stateOf(id string) domain.BusReplay {
	for _, r := range n.Replays().List() {
		if r.ID == id {
			return r
		}
	}
	return domain.BusReplay{}
}

// mustReadReplay reads the messages of a replay up to its end.
func mustReadReplay(t *testing.T, sub *nats.Subscription) (messages []*nats.Msg, end domain.BusReplay) {
	t.Helper()
	for {
		m := mustNext(t, sub)
		if strings.HasSuffix(m.Subject, ".end") {
			if err := json.Unmarshal(m.Data, &end); err != nil {
				t.Fatalf("%s: %v", m.Data, err)
			}
			return messages, end
		}
		messages = append(messages, m)
	}
}

// TestReplay replays a span, all of two logs, and the messages of a pattern, with the bytes of the log. Subscribers of the logs get nothing
// of it.
func TestReplay(t *testing.T) {
	n := mustServe(t, Options{MaxBytes: 1 << 20})
	nc := n.mustConnect(t)
	live := mustSubscribe(t, nc, "ledge.>")
	for i := range 5 {
		storetest.MustSubmit(t, n.events, storetest.Post(fmt.Sprint("cam-", i), []byte("e")))
		storetest.MustSubmit(t, n.readings, storetest.Post(fmt.Sprint("cam-", i), []byte("r")))
	}
	var recorded []*nats.Msg
	for range 10 {
		recorded = append(recorded, mustNext(t, live))
	}
	sub := mustSubscribe(t, nc, "replay.>")
	tomorrow := time.Now().Add(24 * time.Hour)
	for name, tt := range map[string]struct {
		order domain.BusReplayOrder
		want  int
	}{
		"all":     {domain.BusReplayOrder{}, 10},
		"span":    {domain.BusReplayOrder{From: moment.Moment{Sequence: 2}, To: moment.Moment{Sequence: 4}}, 3},
		"pattern": {domain.BusReplayOrder{Subject: "ledge.reading.*.cam-3.>"}, 1},
		"time":    {domain.BusReplayOrder{From: moment.Moment{Time: tomorrow}, To: moment.Moment{Time: tomorrow}}, 0},
	} {
		tt.order.ID, tt.order.Actor = name, "user:anna"
		r := n.mustReplay(t, tt.order)
		if r.Subject != "replay."+name+".>" {
			t.Errorf("got %+v", r)
		}
		messages, end := mustReadReplay(t, sub)
		end.Subject, end.Started, end.Ended, end.Last = "", 0, 0, 0
		want := domain.BusReplay{ID: name, State: domain.ReplayDone, Actor: "user:anna", Sent: uint64(tt.want)}
		if len(messages) != tt.want || end != want {
			t.Errorf("%s: got %d messages, %+v", name, len(messages), end)
		}
		for _, m := range messages {
			i := slices.IndexFunc(recorded, func(r *nats.Msg) bool { return "replay."+name+"."+r.Subject == m.Subject })
			if i < 0 {
				t.Fatalf("%s: %s was never recorded", name, m.Subject)
			}
			of := recorded[i]
			if string(m.Data) != string(of.Data) || m.Header.Get("Nats-Sequence") != of.Header.Get("Nats-Sequence") ||
				m.Header.Get("Nats-Stream") != of.Header.Get("Nats-Stream") || m.Header.Get("ce-id") != of.Header.Get("ce-id") {
				t.Errorf("%s: got %v %s, want %v %s", name, m.Header, m.Data, of.Header, of.Data)
			}
		}
	}
	if m, err := live.NextMsg(time.Millisecond); err == nil {
		t.Errorf("a subscriber of the logs got %s", m.Subject)
	}
}

// TestReplayStops stops a replay that waits for its pace, refuses a second one meanwhile, and ends one with the bus.
func TestReplayStops(t *testing.T) {
	n := mustServe(t, Options{})
	n.post(t, 1, 10)
	first, _ := n.readings.Log().Last()
	eventually(t, "a moment has passed", func() bool { n.post(t, 1, 10); return true })
	n.mustReplay(t, domain.BusReplayOrder{ID: "slow", Speed: 1e-9})
	eventually(t, "the first message was sent", func() bool { return n.stateOf("slow").Sent == 1 })
	conflicts := func(r *Replays, says string) {
		t.Helper()
		if _, err := r.Start(t.Context(), domain.BusReplayOrder{ID: "other"}); domain.CodeOf(err) != domain.Conflict || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %s", err, says)
		}
	}
	conflicts(n.Replays(), `"slow" runs`)
	if n.Replays().Stop("other") || !n.Replays().Stop("slow") {
		t.Error("the wrong replay was stopped")
	}
	eventually(t, "it has stopped", func() bool { return n.stateOf("slow").State == domain.ReplayStopped })
	for i := range 2 * replaysKept {
		id := fmt.Sprint("r-", i)
		n.mustReplay(t, domain.BusReplayOrder{ID: id})
		eventually(t, "it is done", func() bool { return n.stateOf(id).State == domain.ReplayDone })
	}
	if list := n.Replays().List(); len(list) != replaysKept || list[0].ID != fmt.Sprint("r-", 2*replaysKept-1) {
		t.Errorf("%d are listed, the first is %+v", len(list), list[0])
	}
	for says, o := range map[string]domain.BusReplayOrder{
		"id: ":             {ID: "a.b"},
		"speed: ":          {Speed: -1},
		"subject: ":        {Subject: "a..b"},
		"is beyond the":    {From: moment.Moment{Sequence: first + 100}},
		"is before from":   {From: moment.Moment{Sequence: 2}, To: moment.Moment{Sequence: 1}},
		"give two of one ": {From: moment.Moment{Sequence: 2}, To: moment.Moment{Time: time.Now()}},
	} {
		if _, err := n.Replays().Start(t.Context(), o); domain.CodeOf(err) != domain.Invalid || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v", says, err)
		}
	}
	n.mustReplay(t, domain.BusReplayOrder{ID: "last", Speed: 1e-9})
	n.Close()
	if s := n.stateOf("last"); s.State != domain.ReplayFailed {
		t.Errorf("after the stop of the bus: %+v", s)
	}
	conflicts((*Bus)(nil).Replays(), "nats-port")
}

// TestReplayWaitsForSubscribers replays 40 MiB as fast as possible to a client that does not read at first. It is not cut off, and misses
// nothing.
func TestReplayWaitsForSubscribers(t *testing.T) {
	n := mustServe(t, Options{})
	const count, size = 100, 400 << 10
	n.post(t, count, size)
	conn := n.mustDial(t, "127.0.0.1")
	if _, err := io.WriteString(conn, "CONNECT {\"headers\":true,\"verbose\":false}\r\nSUB replay.> 1\r\n"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it has subscribed", func() bool {
		server, _ := n.now()
		account, err := server.LookupAccount(feedAccount)
		return err == nil && account.Interest("replay.fast.end") == 1
	})
	n.mustReplay(t, domain.BusReplayOrder{ID: "fast"})
	eventually(t, "it waits for the client", func() bool {
		n.memory.mu.Lock()
		defer n.memory.mu.Unlock()
		return n.memory.queued > replayPending
	})
	if s := n.stateOf("fast"); s.State != domain.ReplayRuns || s.Sent*size > pendingMost {
		t.Errorf("got %+v", s)
	}
	got := 0
	for in := bufio.NewReader(conn); ; got++ {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatalf("after %d messages: %v", got, err)
		}
		fields := strings.Fields(line)
		if fields[0] == "PING" {
			_, _ = io.WriteString(conn, "PONG\r\n") // a failure is seen by the next read
		}
		if fields[0] == "MSG" && strings.HasSuffix(fields[1], ".end") {
			break
		}
		if fields[0] != "HMSG" {
			got--
			continue
		}
		bytes, err := strconv.Atoi(fields[len(fields)-1])
		if err == nil {
			_, err = in.Discard(bytes + len("\r\n"))
		}
		if err != nil {
			t.Fatalf("after %d messages: %v", got, err)
		}
	}
	if s := n.stateOf("fast"); got != count || s.Sent != count || s.State != domain.ReplayDone {
		t.Errorf("got %d messages, %+v", got, s)
	}
}

package tap_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"ledge/store"
	"ledge/store/storetest"
	"ledge/store/tap"

	"github.com/nats-io/nats.go"
)

func mustAsk(t *testing.T, nc *nats.Conn, subject, body string) []*nats.Msg {
	t.Helper()
	all, err := storetest.AskAll(nc, "$JS.API.DIRECT.GET.LEDGE_EVENTS"+subject, body)
	if err != nil {
		t.Fatalf("%s %s: %v", subject, body, err)
	}
	return all
}

// TestHistoryByFilter reads every subject's messages in batches by a filter, from logs of several blocks.
func TestHistoryByFilter(t *testing.T) {
	t.Parallel()
	s, a, _ := mustTap(t)
	var last uint64
	for range 2 { // 20 MB: three blocks
		for _, name := range []string{"a", "b"} {
			for n := range 5 {
				last = storetest.MustSubmit(t, a, storetest.AddLarge(fmt.Sprintf("%s%d-%d", name, n, last), 1<<20))[0].Seq
			}
		}
	}
	storetest.MustAdd(t, a, "small", 3)
	nc := mustConnect(t, s.Tap().HistoryURL())
	for filter, want := range map[string][]uint64{
		"ledge.event.service.a0-0.added": {1}, "ledge.event.service.small-1.added": {22}, "ledge.event.service.*.added": nil,
	} {
		var got []uint64
		for from := uint64(1); ; {
			all := mustAsk(t, nc, "", fmt.Sprintf(`{"seq":%d,"next_by_subj":%q,"batch":4}`, from, filter))
			end := all[len(all)-1]
			for _, m := range all[:len(all)-1] {
				from = sequenceOf(m) + 1
				got = append(got, from-1)
			}
			if end.Header.Get("Status") == "404" || end.Header.Get("Nats-Num-Pending") == "0" {
				break
			}
		}
		if want == nil {
			for n := range uint64(23) {
				want = append(want, n+1)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", filter, got, want)
		}
		one := mustAsk(t, nc, "."+strings.Replace(filter, "*", "a0-0", 1), "")
		if sequenceOf(one[0]) == 0 {
			t.Errorf("last of %s: %v", filter, one[0].Header)
		}
	}
}

func sequenceOf(m *nats.Msg) (n uint64) {
	_, _ = fmt.Sscan(m.Header.Get("Nats-Sequence"), &n)
	return n
}

// TestHistoryBatchIsBounded holds that a batch ends at its bound, and says that there is more.
func TestHistoryBatchIsBounded(t *testing.T) {
	t.Parallel()
	s, a, _ := mustTap(t)
	for n := range 12 {
		storetest.MustSubmit(t, a, storetest.AddLarge(fmt.Sprint("e", n), 1<<20))
	}
	all := mustAsk(t, mustConnect(t, s.Tap().HistoryURL()), "", `{"seq":1,"batch":1000,"max_bytes":1000000000}`)
	end := all[len(all)-1]
	if len(all)-1 != tap.BatchBytes>>20 || end.Header.Get("Status") != "204" || end.Header.Get("Nats-Num-Pending") != "4" {
		t.Errorf("%d messages, then %v", len(all)-1, end.Header)
	}
}

// rawTap speaks NATS' protocol by hand.
func rawTap(t *testing.T, s *store.Store, from string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(s.Tap().URL(), "nats://"))
	if err != nil {
		t.Skip("the test needs a second loopback address, 127.0.0.2, as Linux has; on macOS run `sudo ifconfig lo0 alias 127.0.0.2`:", err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := bufio.NewReader(c).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "CONNECT {\"verbose\":false,\"headers\":true,\"user\":\"history\",\"pass\":\"history\"}\r\nSUB _INBOX.raw%d 1\r\n", c.LocalAddr().(*net.TCPAddr).Port)
	return c
}

// asks asks for the same n times, and reads no answer.
func asks(c net.Conn, n int, body string) {
	one := fmt.Sprintf("PUB $JS.API.DIRECT.GET.LEDGE_EVENTS _INBOX.raw%d %d\r\n%s\r\n", c.LocalAddr().(*net.TCPAddr).Port, len(body), body)
	_, _ = io.WriteString(c, strings.Repeat(one, n))
}

// mustBeCut reads until the server closes the connection.
func mustBeCut(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(patience))
	_, err := io.Copy(io.Discard, c)
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		t.Error("it is not cut off")
	}
}

// TestHistoryQueueIsBounded has one client ask for more than may wait: it is cut off, and others are answered meanwhile.
func TestHistoryQueueIsBounded(t *testing.T) {
	t.Parallel()
	s, a, _ := mustTap(t)
	for n := range 100 {
		storetest.MustSubmit(t, a, storetest.AddLarge(fmt.Sprint("e", n), 100<<10))
	}
	greedy := rawTap(t, s, "127.0.0.2")
	asks(greedy, tap.AsksOfClient+10, `{"seq":1,"batch":1000}`)
	if m := mustAsk(t, mustConnect(t, s.Tap().HistoryURL()), "", `{"seq":100}`); sequenceOf(m[0]) != 100 {
		t.Errorf("another is answered %v", m[0].Header)
	}
	mustBeCut(t, greedy)
}

// TestHistoryTakesFairly holds who goes where too many requests wait: the connection that has most, of the client that asks or, where it
// is too many of all together, of all.
func TestHistoryTakesFairly(t *testing.T) {
	t.Parallel()
	many := map[string][]int{"modest": {1}}
	for n := range 8 {
		many[fmt.Sprint("c", n)] = []int{490 + n, 3}
	}
	many["c9"] = []int{60}
	for _, c := range []struct {
		name, client, want string
		asks               map[string][]int
	}{
		{"as many as may", "a", "", map[string][]int{"a": {400, 100}, "b": {500}}},
		{"one more", "a", "a/0", map[string][]int{"a": {400, 101}, "b": {499}}},
		{"one more, by the small one", "a", "a/1", map[string][]int{"a": {1, 500}, "b": {500}}},
		{"of all", "modest", "c7/0", many},
	} {
		if got := tap.Greedy(c.asks, c.client); got != c.want {
			t.Errorf("%s: %q goes, want %q", c.name, got, c.want)
		}
	}
}

// TestHistoryWaitsForReaders has one connection read nothing: it gets no more than its window, others go on, and it is cut off.
func TestHistoryWaitsForReaders(t *testing.T) {
	t.Parallel()
	s, a, _ := mustTap(t)
	s.Tap().HistoryStalls(500 * time.Millisecond)
	for n := range 100 {
		storetest.MustSubmit(t, a, storetest.AddLarge(fmt.Sprint("e", n), 100<<10))
	}
	silent := rawTap(t, s, "127.0.0.1")
	asks(silent, 100, `{"seq":1,"batch":1000}`)
	nc := mustConnect(t, s.Tap().HistoryURL())
	for range 5 {
		if all := mustAsk(t, nc, "", `{"seq":1,"batch":50}`); len(all) != 51 {
			t.Errorf("another gets %d messages", len(all))
		}
	}
	time.Sleep(700 * time.Millisecond)
	mustBeCut(t, silent)
}

// TestHistoryMemoryIsBounded has connections leave unread, of large messages, what may wait for all together. They are
// cut off, and another is served all along. It asks for a small message: on a busy machine, a reader of large ones may be too slow itself.
func TestHistoryMemoryIsBounded(t *testing.T) {
	t.Parallel()
	o := options(t.TempDir())
	logged := &lines{}
	o.Logger = newLogger(logged)
	s := mustOpen(t, o)
	a := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
	storetest.MustSubmit(t, a, storetest.AddLarge("large", tap.ReadersWindow*3/4))
	storetest.MustAdd(t, a, "small", 1)
	for range 3 {
		asks(rawTap(t, s, "127.0.0.2"), 4, `{"seq":1}`)
	}
	nc := mustConnect(t, s.Tap().HistoryURL())
	for deadline := time.Now().Add(time.Minute); logged.count("it does not read what it has asked for") == 0; {
		if m := mustAsk(t, nc, "", `{"seq":2}`); sequenceOf(m[0]) != 2 {
			t.Fatalf("another is answered %v", m[0].Header)
		}
		if time.Now().After(deadline) {
			t.Fatal("none is cut off")
		}
	}
	_ = mustAsk(t, nc, "", `{"seq":2}`)
}

// TestHistoryInboxes holds that a tap that listens to everybody's answers is cut off, and that an answer goes to no subject but an
// inbox to which one connection listens.
func TestHistoryInboxes(t *testing.T) {
	t.Parallel()
	s, a, _ := mustTap(t)
	storetest.MustAdd(t, a, "a", 3)
	for _, all := range []string{"_INBOX.>", "_INBOX.*", "_INBOX.*.>"} {
		spy, err := nats.Connect(s.Tap().HistoryURL(), nats.NoReconnect())
		if err != nil {
			t.Fatal(err)
		}
		defer spy.Close()
		heard := make(chan *nats.Msg, 10)
		if _, err := spy.ChanSubscribe(all, heard); err != nil {
			t.Fatal(err)
		}
		if err := spy.Flush(); err != nil {
			t.Fatal(err)
		}
		inbox := "_INBOX.a"
		if all == "_INBOX.*.>" {
			inbox = "_INBOX.a.b"
		}
		nc := mustConnect(t, s.Tap().HistoryURL())
		sub := mustSubscribe(t, nc, inbox)
		if err := nc.PublishRequest("$JS.API.DIRECT.GET.LEDGE_EVENTS", inbox, []byte(`{"seq":2}`)); err != nil {
			t.Fatal(err)
		}
		if m := mustNext(t, sub); sequenceOf(m) != 2 || !spy.IsClosed() && spy.Flush() == nil || len(heard) > 0 {
			t.Errorf("%s: the spy is there and has heard %d; the answer is %v", all, len(heard), m.Header)
		}
		_ = sub.Unsubscribe()
	}
	one, two := mustConnect(t, s.Tap().HistoryURL()), mustConnect(t, s.Tap().HistoryURL())
	first, _ := mustSubscribe(t, one, "_INBOX.shared"), mustSubscribe(t, two, "_INBOX.shared")
	_ = one.PublishRequest("$JS.API.DIRECT.GET.LEDGE_EVENTS", "_INBOX.shared", []byte(`{"seq":2}`))
	_ = mustAsk(t, one, "", `{"seq":1}`)
	if n, _, _ := first.Pending(); n > 0 {
		t.Error("an inbox of two is answered")
	}
}

package attack

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"ledge/bridge/porttest"
	"ledge/cmd/ledgetest"
)

// zmtpHello is all that a SUB socket says before its subscriptions: a greeting of 64 bytes and READY.
var zmtpHello = "\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x03\x00NULL" + strings.Repeat("\x00", 48) + "\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03SUB"

// zmtpTopic subscribes to a topic of at most 254 bytes.
func zmtpTopic(topic string) string { return string([]byte{0, byte(1 + len(topic)), 1}) + topic }

// hostilePeer connects to a ZeroMQ socket from 127.0.0.client and sends something. That its connection is closed is not an error.
func hostilePeer(t *testing.T, client byte, port int, text string) net.Conn {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, client)}, Timeout: ledgetest.Timeout}
	conn, err := dialer.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Error("connect:", err)
		return nil
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(ledgetest.Timeout))
	_, _ = io.WriteString(conn, text)
	return conn
}

// goodSubscriber is a libzmq subscriber that joins now, whatever goes on, and gets its messages.
func (a *attack) goodSubscriber(t *testing.T, name string, port int) *ledgetest.Subscriber {
	t.Helper()
	ledgetest.NeedLibzmq(t)
	s := &ledgetest.Subscriber{TB: t, Frames: make(chan []string, 4096)}
	s.RunLibzmq(fmt.Sprintf("tcp://127.0.0.1:%d", port), name)
	for tries := 0; ; tries++ {
		a.Notify(name, "probe")
		select {
		case <-s.Frames:
			for range tries { // the last probe is taken; those before came before it or never
				select {
				case <-s.Frames:
				default:
				}
			}
			return s
		case <-time.After(50 * time.Millisecond):
		}
		if tries > 400 {
			t.Fatalf("a good subscriber gets nothing\n%.3000s", a.Log)
		}
	}
}

// getsAll holds that a subscriber gets all of what is sent to it now.
func (a *attack) getsAll(t *testing.T, s *ledgetest.Subscriber, name string) {
	t.Helper()
	for n := range 10 {
		want := fmt.Sprintf("message %d", n)
		a.Notify(name, want)
		for _, body := s.Next(); body != want; _, body = s.Next() {
			if body != "probe" {
				t.Fatalf("got %.100q, want %q", body, want)
			}
		}
	}
}

// subscribeAt posts a subscription with a channel for each of the ports, and returns the answer to it.
func (a *attack) subscribeAt(name, host string, ports []int, topic func(int) string) ledgetest.Answer {
	var channels []string
	for i, port := range ports {
		channels = append(channels, fmt.Sprintf(`{"type":"ZeroMQ","host":%q,"port":%d,"topic":%q}`, host, port, topic(i)))
	}
	return a.Call(http.MethodPost, a.Notifications+"/api/v2/subscription", "application/json", fmt.Sprintf(
		`[{"apiVersion":"v2","subscription":{"name":%q,"receiver":"r","adminState":"UNLOCKED","categories":[%q],"channels":[%s]}}]`, name, name, strings.Join(channels, ",")))
}

// TestAttackZeroMQSockets posts subscriptions that have 960 ports together. The first ones are bound; what is above the limit is
// refused, and says why; a subscription from before goes on, and those above the limit can be had once there is room.
func TestAttackZeroMQSockets(t *testing.T) {
	a := startAttack(t)
	port := porttest.Hold(t)
	ledgetest.AddNamed(a.Node, "good", "good", port)
	s := a.goodSubscriber(t, "good", port)
	refused, last := 0, ""
	for n := range 60 {
		var ports []int
		for i := range 16 {
			ports = append(ports, 20000+16*n+i)
		}
		if got := a.subscribeAt(fmt.Sprint("greedy", n), "127.0.77.1", ports, func(int) string { return "t" }); !strings.Contains(got.Body, `"statusCode":201`) {
			refused++
			last = got.Body
		}
	}
	if refused < 56 || !strings.Contains(last, `"statusCode":503`) || !strings.Contains(last, "ZeroMQ sockets are bound, which is the limit") {
		t.Errorf("%d of 60 were refused, the last with %s", refused, last)
	}
	a.getsAll(t, s, "good")
	if got := a.subscribeAt("shares", "127.0.0.1", []int{port}, func(int) string { return "t" }); !strings.Contains(got.Body, `"statusCode":201`) {
		t.Errorf("a port that is bound already: %s", got.Body)
	}
	a.held(t)
}

// TestAttackZeroMQSilentPeers connects 1,600 peers of four clients that never subscribe, a quarter of them without a handshake. A good subscriber
// joins all the same, and one that was there before loses nothing.
func TestAttackZeroMQSilentPeers(t *testing.T) {
	goodSubscribersDuring(t, 1, func(client byte, port int) {
		for n := range 400 {
			hostilePeer(t, client, port, []string{"", zmtpHello, zmtpHello, zmtpHello}[n%4])
		}
	})
}

// goodSubscribersDuring runs an attack from four clients on a ZeroMQ port. A good subscriber that was there before loses nothing, and
// another one joins and gets its messages.
func goodSubscribersDuring(t *testing.T, first byte, attack func(client byte, port int)) {
	t.Helper()
	a := startAttack(t)
	port := porttest.Hold(t)
	ledgetest.AddNamed(a.Node, "good", "good", port)
	before := a.goodSubscriber(t, "good", port)
	var attackers sync.WaitGroup
	for client := first; client < first+4; client++ {
		attackers.Go(func() { attack(client, port) })
	}
	attackers.Wait()
	later := a.goodSubscriber(t, "good", port)
	a.getsAll(t, before, "good")
	for _, body := later.Next(); body != "message 9"; _, body = later.Next() {
	}
	a.held(t)
}

// TestAttackZeroMQTopics has peers of four clients subscribe to millions of topics. Those beyond the bounds lose their connections; a good
// subscriber joins and gets its messages.
func TestAttackZeroMQTopics(t *testing.T) {
	var topics strings.Builder
	for n := range 14_500 {
		topics.WriteString(zmtpTopic(fmt.Sprint(n)))
	}
	text := zmtpHello + topics.String()
	goodSubscribersDuring(t, 2, func(client byte, port int) {
		for range 130 {
			hostilePeer(t, client, port, text)
		}
	})
}

// TestAttackZeroMQQueues has 64 peers that read nothing, each with a topic of its own, so that no message waits for two of them. What waits
// for all of them together is bounded; a good subscriber gets each message.
func TestAttackZeroMQQueues(t *testing.T) {
	a := startAttack(t)
	port := porttest.Hold(t)
	ledgetest.AddNamed(a.Node, "good", "good", port)
	s := a.goodSubscriber(t, "good", port)
	ports := make([]int, 64)
	for i := range ports {
		ports[i] = port
		conn := hostilePeer(t, byte(2+i%2), port, zmtpHello+zmtpTopic(fmt.Sprintf("hoard-%d-", i)))
		_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	}
	if got := a.subscribeAt("hoard", "127.0.0.1", ports, func(i int) string { return fmt.Sprintf("hoard-%d-", i) }); !strings.Contains(got.Body, `"statusCode":201`) {
		t.Fatal(got.Body)
	}
	for range 12 {
		a.Notify("hoard", strings.Repeat("x", 1<<20))
		a.getsAll(t, s, "good")
	}
	a.held(t)
}

// TestAttackZeroMQFlood has 80 peers of two clients send PINGs, subscribe and cancel as fast as they can, and others connect and leave. A good
// subscriber joins meanwhile and gets its messages.
func TestAttackZeroMQFlood(t *testing.T) {
	ledgetest.NeedLibzmq(t)
	a := startAttack(t)
	port := porttest.Hold(t)
	ledgetest.AddNamed(a.Node, "good", "good", port)
	text := strings.Repeat("\x04\x07\x04PING\x00\x00"+zmtpTopic("a")+"\x00\x02\x00a"+zmtpTopic("b")+zmtpTopic("b"), 2000)
	var floods []net.Conn
	var attackers sync.WaitGroup
	for n := range 80 {
		conn := hostilePeer(t, byte(2+n%2), port, zmtpHello)
		floods = append(floods, conn)
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		attackers.Go(func() {
			for err := error(nil); err == nil; {
				_, err = io.WriteString(conn, text)
			}
		})
	}
	for client := byte(4); client < 6; client++ {
		attackers.Go(func() {
			for range 1000 {
				hostilePeer(t, client, port, zmtpHello+zmtpTopic("c")).Close()
			}
		})
	}
	s := a.goodSubscriber(t, "good", port)
	for range 10 {
		a.getsAll(t, s, "good")
	}
	for _, conn := range floods {
		conn.Close()
	}
	attackers.Wait()
	a.held(t)
}

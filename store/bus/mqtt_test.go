package bus

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
	"github.com/eclipse/paho.mqtt.golang/packets"

	"ledge/domain"
)

// mustServeMQTT serves MQTT clients beside NATS clients, and returns the address.
func (n *served) mustServeMQTT(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ServeMQTT(n.Bus, l, plainTexts)
	return l.Addr().String()
}

// mustConnectMQTT connects a client with a name.
func mustConnectMQTT(t *testing.T, address, name string, more func(*paho.ClientOptions)) paho.Client {
	t.Helper()
	o := paho.NewClientOptions().AddBroker("tcp://" + address).SetClientID(name).SetAutoReconnect(false).SetUsername("a").SetPassword("x")
	if more != nil {
		more(o)
	}
	c := paho.NewClient(o)
	mustDo(t, c.Connect())
	t.Cleanup(func() { c.Disconnect(0) })
	return c
}

func mustDo(t *testing.T, done paho.Token) {
	t.Helper()
	if !done.WaitTimeout(deadline) || done.Error() != nil {
		t.Fatal(done.Error())
	}
}

// TestMQTTWill publishes the will of a client whose connection breaks, and not of one that disconnects.
func TestMQTTWill(t *testing.T) {
	t.Parallel()
	n := mustServe(t, Options{})
	address := n.mustServeMQTT(t)
	heard := mustSubscribe(t, n.mustConnect(t), "edgex.will.*")
	for _, name := range []string{"left", "broken"} {
		var raw net.Conn
		c := mustConnectMQTT(t, address, name, func(o *paho.ClientOptions) {
			o.SetWill("edgex/will/"+name, "gone", 1, false)
			o.SetCustomOpenConnectionFn(func(_ *url.URL, _ paho.ClientOptions) (net.Conn, error) {
				var err error
				raw, err = net.Dial("tcp", address)
				return raw, err
			})
		})
		if name == "left" {
			c.Disconnect(100)
			eventually(t, "it has left", func() bool { return n.Clients() == 1 })
			continue
		}
		raw.Close()
	}
	if m := mustNext(t, heard); m.Subject != "edgex.will.broken" || string(m.Data) != "gone" {
		t.Errorf("heard %q on %s", m.Data, m.Subject)
	}
}

// TestMQTTTakeOver ends the connection of a client when another connects with its name.
func TestMQTTTakeOver(t *testing.T) {
	t.Parallel()
	n := mustServe(t, asService(new(atomic.Bool)))
	address, lost := n.mustServeMQTT(t), make(chan struct{})
	mustConnectMQTT(t, address, "same", func(o *paho.ClientOptions) {
		o.SetConnectionLostHandler(func(paho.Client, error) { close(lost) })
	})
	other := mustConnectMQTT(t, address, "other", nil)
	mustConnectMQTT(t, address, "same", nil)
	select {
	case <-lost:
	case <-time.After(deadline):
		t.Fatal("the first connection stays")
	}
	mustDo(t, other.Publish("edgex/a", 1, false, "x"))
}

// TestMQTTFullStream has a client wait while the stream is full. A message that is acknowledged is in the stream.
func TestMQTTFullStream(t *testing.T) {
	t.Parallel()
	n := mustServe(t, Options{MaxBytes: 1 << 20})
	js := n.mustFill(t)
	var err error
	for data := make([]byte, 512<<10); err == nil; {
		_, err = js.Publish(t.Context(), "edgex.b", data)
	}
	c := mustConnectMQTT(t, n.mustServeMQTT(t), "a", nil)
	done := c.Publish("edgex/a", 1, false, strings.Repeat("x", 600<<10))
	if done.WaitTimeout(2 * fullPause) {
		t.Fatalf("it is answered, %v", done.Error())
	}
	go func() { _ = n.EdgeX().Take(t.Context(), func(context.Context, []Message) error { return nil }) }()
	mustDo(t, done)
}

// TestMQTTRights has a client publish and subscribe. Its connection ends with its rights, and then it is not let in.
func TestMQTTRights(t *testing.T) {
	t.Parallel()
	var lost atomic.Bool
	o := asService(&lost)
	o.Still = func(domain.Identity) bool { return !lost.Load() }
	n := mustServe(t, o)
	ended := make(chan struct{})
	c := mustConnectMQTT(t, n.mustServeMQTT(t), "a", func(o *paho.ClientOptions) {
		o.SetConnectionLostHandler(func(paho.Client, error) { close(ended) })
	})
	heard := make(chan string, 1)
	mustDo(t, c.Subscribe("edgex/b/#", 1, func(_ paho.Client, m paho.Message) { heard <- m.Topic() }))
	mustDo(t, c.Publish("edgex/b/c.d", 0, false, "x"))
	select {
	case topic := <-heard:
		if topic != "edgex/b/c.d" {
			t.Errorf("heard %s", topic)
		}
	case <-time.After(deadline):
		t.Fatal("it hears nothing")
	}
	lost.Store(true)
	n.Recheck()
	select {
	case <-ended:
	case <-time.After(deadline):
		t.Fatal("the connection stays")
	}
	refused := paho.NewClientOptions().AddBroker("tcp://" + n.mustServeMQTT(t)).SetClientID("b").SetUsername("a").SetPassword("x")
	again := paho.NewClient(refused)
	if done := again.Connect(); !done.WaitTimeout(deadline) || !errors.Is(done.Error(), packets.ErrorRefusedBadUsernameOrPassword) {
		t.Errorf("without rights: %v", done.Error())
	}
}

// TestMQTTBounds ends connections that send too much or something else.
func TestMQTTBounds(t *testing.T) {
	t.Parallel()
	n := mustServe(t, Options{})
	address := n.mustServeMQTT(t)
	connect := "\x10\x10\x00\x04MQTT\x04\x02\x00\x00\x00\x04name"
	for name, text := range map[string]string{
		"long CONNECT":   "\x10\x80\x80\x04",
		"no CONNECT":     "\xc0\x00",
		"a web page":     "GET / HTTP/1.1\r\n\r\n",
		"long PUBLISH":   connect + "\x30\xff\xff\xff\x7f",
		"long length":    connect + "\x30\xff\xff\xff\xff\x7f",
		"long SUBSCRIBE": connect + "\x82\x80\x80\x04",
		"bad QoS":        connect + "\x36\x0b\x00\x07edgex/a\x00\x01",
		"other topic":    connect + "\x32\x0b\x00\x07ledge/a\x00\x01",
		"server's":       connect + "\x20\x02\x00\x00",
	} {
		conn, r := mustDialRedis(t, address)
		_, _ = io.WriteString(conn, text)
		if _, err := io.Copy(io.Discard, r); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the connection stays", name)
		}
	}
}

// TestMQTTUnread cuts off a subscriber that reads nothing; another one hears all.
func TestMQTTUnread(t *testing.T) {
	t.Parallel()
	n := mustServe(t, Options{})
	address := n.mustServeMQTT(t)
	conn, r := mustDialRedis(t, address)
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	_, _ = io.WriteString(conn, "\x10\x10\x00\x04MQTT\x04\x02\x00\x00\x00\x04name"+"\x82\x0c\x00\x01\x00\x07edgex/#\x00")
	if _, err := io.ReadFull(r, make([]byte, 4+5)); err != nil { // CONNACK and SUBACK
		t.Fatal(err)
	}
	nc := n.mustConnect(t)
	heard := mustSubscribe(t, nc, "edgex.>")
	const each = 256 << 10
	for i := range 2 * pendingMost / each {
		if err := nc.Publish("edgex.a", make([]byte, each)); err != nil {
			t.Fatal(i, err)
		}
		mustNext(t, heard)
	}
	eventually(t, "it is cut off", func() bool { return n.Clients() == 1 })
}

// TestTopics returns topics as subjects, and back.
func TestTopics(t *testing.T) {
	for topic, subject := range map[string]string{
		"edgex/a/b": "edgex.a.b", "edgex/a.b/c": "edgex.a//b.c", "edgex/.a": "edgex.//a",
	} {
		if got := topicSubject(topic); got != subject || subjectTopic(got) != topic {
			t.Errorf("%s: got %s, and back %s", topic, got, subjectTopic(got))
		}
	}
	for filter, want := range map[string][]string{
		"edgex/a": {"edgex.a"}, "edgex/+/b": {"edgex.*.b"}, "edgex/a/#": {"edgex.a.>", "edgex.a"}, "edgex/#": {"edgex.>"},
		"#": nil, "+/a": nil, "edgex/a#": nil, "edgex/#/a": nil, "edgex/*/a": nil, "edgex/>": nil, "edgex//a": nil, "edgex/a b": nil,
		"ledge/a": nil,
		"edgex/" + strings.Repeat("a", subjectMost): nil,
	} {
		if got, err := filterSubjects(filter); !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%.40s: got %q, %v, want %q", filter, got, err, want)
		}
	}
}

// FuzzReadPacket reads any bytes without a panic, and no more than the limit.
func FuzzReadPacket(f *testing.F) {
	f.Add([]byte("\x10\x10\x00\x04MQTT\x04\x02\x00\x00\x00\x04name"))
	f.Add([]byte("\x82\x0c\x00\x01\x00\x07edgex/#\x00"))
	f.Add([]byte("\x32\x0b\x00\x07edgex/a\x00\x01"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		for r := bufio.NewReaderSize(bytes.NewReader(text), lineMost); ; {
			if p, err := readPacket(r, commandMost); err != nil || p == nil {
				return
			}
		}
	})
}

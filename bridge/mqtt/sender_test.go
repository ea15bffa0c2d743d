package mqtt

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"

	"ledge/bridge/guard"
	"ledge/bridge/mqtttest"
	"ledge/bridge/outward"
)

// hangs is how long a test waits for what must happen before it gives up.
const hangs = time.Minute

// broker is a running Mosquitto.
type broker struct{ *mqtttest.Broker }

func mustBroker(t *testing.T, config string, files map[string]string) *broker {
	t.Helper()
	return &broker{mqtttest.Start(t, config, files)}
}

const anonymous = "listener PORT 127.0.0.1\nallow_anonymous true\n"

// secrets are Secrets in memory, for any use.
type secrets map[string]map[string]string

func (s secrets) Use(path string, _ outward.Use) (map[string]string, error) {
	if secret, ok := s[path]; ok {
		return secret, nil
	}
	return nil, fmt.Errorf("%w %q", outward.ErrNoSecret, path)
}

func mustSender(t *testing.T, change func(*Options)) *Sender {
	t.Helper()
	o := Options{Dial: guard.New(guard.Options{}).DialContext, Secrets: secrets{}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	if change != nil {
		change(&o)
	}
	s := New(o)
	t.Cleanup(s.Close)
	return s
}

func (b *broker) target(qos byte) Target {
	return Target{Host: "127.0.0.1", Port: b.Port, Publisher: "ledge-1", Topic: "cam/1", QoS: qos}
}

func send(s *Sender, t Target, body string) (string, error) {
	return s.Send(context.Background(), t, outward.Message{Body: []byte(body)})
}

func mustSend(t *testing.T, s *Sender, target Target, body string) {
	t.Helper()
	if _, err := send(s, target, body); err != nil {
		t.Fatalf("%+v: %v", target, err)
	}
}

func next(t *testing.T, got <-chan paho.Message) paho.Message {
	t.Helper()
	select {
	case m := <-got:
		return m
	case <-time.After(hangs):
		t.Fatal("no message arrives")
		return nil
	}
}

func TestPublish(t *testing.T) {
	b := mustBroker(t, anonymous, nil)
	s, got := mustSender(t, nil), b.Subscribe()
	for qos := range byte(3) {
		target := b.target(qos)
		target.Retained = qos == 1
		body := fmt.Sprintf("\x00\xff %d", qos)
		response, err := send(s, target, body)
		want := map[byte]string{0: "published with QoS 0", 1: "published with QoS 1, acknowledged", 2: "published with QoS 2, acknowledged"}[qos]
		if err != nil || response != want {
			t.Errorf("QoS %d: got %q, %v", qos, response, err)
		}
		if m := next(t, got); m.Topic() != "cam/1" || string(m.Payload()) != body || m.Qos() != qos {
			t.Errorf("QoS %d: got %s %q with QoS %d", qos, m.Topic(), m.Payload(), m.Qos())
		}
	}
	if m := next(t, b.Subscribe()); !m.Retained() || string(m.Payload()) != "\x00\xff 1" {
		t.Errorf("retained: got %q", m.Payload())
	}
}

// All who name the same broker and client share a connection, which is closed when nobody has used it for a while.
func TestConnectionIsSharedThenClosed(t *testing.T) {
	b := mustBroker(t, anonymous, nil)
	s := mustSender(t, func(o *Options) { o.IdleTime = 10 * time.Millisecond })
	var all sync.WaitGroup
	c, err := s.acquire(mustKey(t, b.target(1))) // is in use meanwhile
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		all.Go(func() {
			if _, err := send(s, b.target(1), fmt.Sprint(i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := b.Count("as ledge-1 ("); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
	s.release(c)
	b.Await("Client ledge-1 disconnected.", 1)
	mustSend(t, s, b.target(1), "again")
	if n := b.Count("as ledge-1 ("); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
}

func mustKey(t *testing.T, target Target) (key, account) {
	t.Helper()
	k, a, err := resolve(target, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return k, a
}

func TestConnectionsAreBounded(t *testing.T) {
	b := mustBroker(t, anonymous, nil)
	s := mustSender(t, func(o *Options) { o.Connections = 2 })
	for _, publisher := range []string{"a", "b", "c"} {
		target := b.target(1)
		target.Publisher = publisher
		mustSend(t, s, target, publisher)
	}
	b.Await(" disconnected.", 1) // a or b gave way
	for _, publisher := range []string{"d", "e"} {
		target := b.target(1)
		target.Publisher = publisher
		c, err := s.acquire(mustKey(t, target))
		if err != nil {
			t.Fatal(err)
		}
		defer s.release(c)
	}
	if _, err := send(s, b.target(1), "one too many"); err == nil || outward.Permanent(err) || !strings.Contains(err.Error(), "2 connections to brokers are in use") {
		t.Errorf("got %v", err)
	}
}

func TestBrokerDeathAndReturn(t *testing.T) {
	b := mustBroker(t, anonymous, nil)
	s := mustSender(t, nil)
	mustSend(t, s, b.target(1), "before")
	b.Kill()
	for range 2 {
		if _, err := send(s, b.target(1), "dead"); err == nil || outward.Permanent(err) {
			t.Errorf("dead: got %v", err)
		}
	}
	b.Run()
	got := b.Subscribe()
	mustSend(t, s, b.target(1), "after")
	if m := next(t, got); string(m.Payload()) != "after" {
		t.Errorf("got %q", m.Payload())
	}
}

// What a broker does not acknowledge is not delivered, in time, and does not hold up what comes after it.
func TestEndedAndClosed(t *testing.T) {
	b := mustBroker(t, anonymous, nil)
	s := mustSender(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Send(ctx, b.target(1), outward.Message{}); err == nil || outward.Permanent(err) {
		t.Errorf("ended: got %v", err)
	}
	mustSend(t, s, b.target(1), "x")
	s.Close()
	b.Await("Client ledge-1 disconnected.", 1)
	if _, err := send(s, b.target(1), "y"); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("closed: got %v", err)
	}
}

func TestBadTargets(t *testing.T) {
	s := mustSender(t, func(o *Options) { o.Dial = guard.New(guard.Options{Deny: guard.MustRules("127.0.0.0/8")}).DialContext })
	fine := Target{Host: "127.0.0.1", Port: 1883, Topic: "a"}
	for want, change := range map[string]func(*Target){
		"deny-destinations":       func(*Target) {},
		`there is no secret "mq"`: func(t *Target) { t.AuthMode, t.SecretPath = AuthUsernamePassword, "mq" },
	} {
		target := fine
		change(&target)
		if _, err := send(s, target, ""); !outward.Permanent(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

package zeromq

import (
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ledge/bridge/porttest"
	"ledge/bridge/zeromqtest"
	"ledge/domain/z85"
)

// keysOf are the arguments of a subscriber of libzmq or JeroMQ.
func keysOf(server, client zeromqtest.Keys) []string {
	return []string{server.Text(), client.Text(), z85.Encode(client.Private[:])}
}

// sent publishes what real subscribers of "cam" get, some of it large, and returns it as they write it.
func sendAll(t *testing.T, s *Sockets, at Channel) (want []string) {
	t.Helper()
	for _, m := range slices.Concat([][2]string{{"cam/1MB", strings.Repeat("m", 1<<20)}, {"cam/8KB", strings.Repeat("k", 8<<10)}}, toCam) {
		subscribers := 0
		if strings.HasPrefix(m[0], "cam") {
			want = append(want, fmt.Sprintf("%x %x", m[0], m[1]))
			subscribers = 1
		}
		mustReach(t, s, at, m[0], m[1], subscribers)
	}
	return want
}

func wantLines(t *testing.T, lines <-chan string, want []string) {
	t.Helper()
	within(t, "the subscriber", func() {
		for _, w := range want {
			if got := <-lines; got != w {
				t.Errorf("got %.60s of %d, want %.60s of %d", got, len(got), w, len(w))
			}
		}
	})
}

// libzmq with the right keys gets all messages, and its heartbeats are answered.
func TestCurveLibzmq(t *testing.T) {
	for _, heartbeat := range []int{0, 20} {
		var log logBuffer
		client := zeromqtest.NewKeys()
		s, server := mustServer(t, Options{Logger: log.logger()})
		at := keyed(porttest.Hold(t), client)
		p := mustHold(t, s, at)
		lines := MustLibzmq(t, p, "cam", heartbeat, keysOf(server, client)...)
		if heartbeat > 0 {
			c := p.connected()[0]
			eventually(t, "a hundred PINGs", func() bool { return c.pings.Load() >= 100 })
		}
		wantLines(t, lines, sendAll(t, s, at))
		if n := strings.Count(log.String(), "subscriber joined"); n != 1 {
			t.Errorf("heartbeat %d: %d joins, want 1", heartbeat, n)
		}
	}
}

// libzmq connects again when it was disconnected.
func TestCurveLibzmqReconnects(t *testing.T) {
	client := zeromqtest.NewKeys()
	s, server := mustServer(t, Options{})
	at := keyed(porttest.Hold(t), client)
	p := mustHold(t, s, at)
	lines := MustLibzmq(t, p, "cam", 0, keysOf(server, client)...)
	first := p.connected()[0]
	first.end(errGreedy)
	eventually(t, "it is back", func() bool {
		list := p.connected()
		return len(list) == 1 && list[0] != first && slices.Contains(p.Topics(), "cam")
	})
	mustReach(t, s, at, "cam", "end", 1)
	wantLines(t, lines, []string{"disconnected", hex.EncodeToString([]byte("cam")) + " " + hex.EncodeToString([]byte("end"))})
}

// libzmq with a wrong key, an unknown one or none gets nothing, again and again, and is counted by reason.
func TestCurveLibzmqRefused(t *testing.T) {
	client, stranger := zeromqtest.NewKeys(), zeromqtest.NewKeys()
	for reason, keys := range map[Reason]func(server zeromqtest.Keys) []string{
		ReasonServerKey: func(zeromqtest.Keys) []string { return keysOf(stranger, client) },
		ReasonClientKey: func(server zeromqtest.Keys) []string { return keysOf(server, stranger) },
		ReasonMechanism: func(zeromqtest.Keys) []string { return nil },
	} {
		t.Run(string(reason), func(t *testing.T) { mustRefuse(t, reason, client, keys, startLibzmq) })
	}
	t.Run("CURVE at a socket without", func(t *testing.T) {
		s, server := mustServer(t, Options{})
		at := at("127.0.0.1", porttest.Hold(t))
		p := mustHold(t, s, at)
		startLibzmq(t, p, "cam", 0, keysOf(server, client)...)
		eventually(t, "refused", func() bool { return s.Refusals()["mechanism"] >= 1 })
		mustReach(t, s, at, "cam", "secret", 0)
	})
}

type starter func(t *testing.T, p *Publisher, topic string, heartbeat int, keys ...string) <-chan string

func mustRefuse(t *testing.T, reason Reason, client zeromqtest.Keys, keys func(server zeromqtest.Keys) []string, start starter) {
	s, server := mustServer(t, Options{HandshakeTimeout: hang}) // a slow peer is not refused for being slow
	at := keyed(porttest.Hold(t), client)
	p := mustHold(t, s, at)
	lines := start(t, p, "cam", 0, keys(server)...)
	eventually(t, "refused", func() bool { return s.Refusals()[string(reason)] >= 1 })
	mustReach(t, s, at, "cam", "secret", 0)
	for other, n := range s.Refusals() {
		if other != string(reason) && n > 0 {
			t.Errorf("%d refused as %s", n, other)
		}
	}
	select {
	case line := <-lines:
		if line != "disconnected" {
			t.Errorf("it got %.100s", line)
		}
	default:
	}
}

// jeromq is a SUB socket of JeroMQ that writes what that of libzmq does.
const jeromq = `
import org.zeromq.*;
public class Sub {
	static String hex(byte[] b) { StringBuilder s = new StringBuilder(); for (byte x : b) s.append(String.format("%02x", x)); return s.toString(); }
	public static void main(String[] a) {
		try (ZContext c = new ZContext()) {
			ZMQ.Socket sub = c.createSocket(SocketType.SUB);
			if (a.length > 3) {
				sub.setCurveServerKey(zmq.util.Z85.decode(a[3]));
				sub.setCurvePublicKey(zmq.util.Z85.decode(a[4]));
				sub.setCurveSecretKey(zmq.util.Z85.decode(a[5]));
			}
			if (!a[2].equals("0")) { sub.setHeartbeatIvl(Integer.parseInt(a[2])); sub.setHeartbeatTimeout(75 * Integer.parseInt(a[2])); }
			sub.subscribe(a[1].getBytes());
			sub.connect("tcp://127.0.0.1:" + a[0]);
			for (String body = ""; !body.equals("656e64");) {
				String topic = hex(sub.recv());
				body = hex(sub.recv());
				System.out.println(topic + " " + body);
			}
		}
	}
}
`

// startJeroMQ starts a subscriber of JeroMQ.
func startJeroMQ(t *testing.T, p *Publisher, topic string, heartbeat int, keys ...string) <-chan string {
	t.Helper()
	home, _ := os.UserHomeDir()
	jars := []string{"org/zeromq/jeromq/0.6.0/jeromq-0.6.0.jar", "eu/neilalexander/jnacl/1.0.0/jnacl-1.0.0.jar"}
	for i, jar := range jars {
		jars[i] = filepath.Join(home, ".m2", "repository", filepath.FromSlash(jar))
		if _, err := os.Stat(jars[i]); err != nil {
			t.Skip("the subscriber needs JeroMQ: make testtools gets it with Maven")
		}
	}
	if _, err := exec.LookPath("javac"); err != nil {
		t.Skip("the subscriber needs a JDK")
	}
	source := filepath.Join(t.TempDir(), "Sub.java")
	if err := os.WriteFile(source, []byte(jeromq), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-cp", strings.Join(jars, string(os.PathListSeparator)), source, fmt.Sprint(p.Port()), topic, fmt.Sprint(heartbeat)}, keys...)
	return runSubscriber(t, exec.Command("java", args...))
}

// JeroMQ gets what libzmq gets, and is refused as it is.
func TestCurveJeroMQ(t *testing.T) {
	client, stranger := zeromqtest.NewKeys(), zeromqtest.NewKeys()
	for _, heartbeat := range []int{0, 20} {
		t.Run(fmt.Sprint("heartbeat ", heartbeat), func(t *testing.T) {
			s, server := mustServer(t, Options{})
			at := keyed(porttest.Hold(t), client)
			p := mustHold(t, s, at)
			lines := startJeroMQ(t, p, "cam", heartbeat, keysOf(server, client)...)
			eventually(t, "JeroMQ joins", func() bool { return slices.Contains(p.Topics(), "cam") })
			if heartbeat > 0 {
				c := p.connected()[0]
				eventually(t, "PINGs", func() bool { return c.pings.Load() >= 20 })
			}
			wantLines(t, lines, sendAll(t, s, at))
		})
	}
	for reason, keys := range map[Reason]func(server zeromqtest.Keys) []string{
		ReasonServerKey: func(zeromqtest.Keys) []string { return keysOf(stranger, client) },
		ReasonClientKey: func(server zeromqtest.Keys) []string { return keysOf(server, stranger) },
		ReasonMechanism: func(zeromqtest.Keys) []string { return nil },
	} {
		t.Run(string(reason), func(t *testing.T) { mustRefuse(t, reason, client, keys, startJeroMQ) })
	}
}

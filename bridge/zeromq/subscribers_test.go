package zeromq

import (
	"bufio"
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/go-zeromq/zmq4"
)

// What is sent to real subscribers of "cam": topics that match and some that do not, then the
// end.
var toCam = [][2]string{
	{"camera", "prefix"}, {"dev", "other"}, {"cam", "exact"}, {"ca", "too short"}, {"Camera", "case"},
	{"camera/\x00\xff", "\x00\x01\xfe\xff\r\n"}, {"cam/empty", ""}, {"cam/large", strings.Repeat("\x00large", 50_000)},
	{"cam/end", "end"},
}

func publishToCam(t *testing.T, p *Publisher) (want []string) {
	t.Helper()
	for _, m := range toCam {
		MustPublish(t, p, m[0], m[1])
		if strings.HasPrefix(m[0], "cam") {
			want = append(want, fmt.Sprintf("%x %x", m[0], m[1]))
		}
	}
	return want
}

// A SUB socket of zmq4 gets topic and body byte by byte, by prefix of the topic.
func TestZMQ4Subscriber(t *testing.T) {
	p := MustListen(t, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	sub := zmq4.NewSub(ctx)
	defer sub.Close()
	if err := sub.Dial(fmt.Sprintf("tcp://127.0.0.1:%d", p.Port())); err != nil {
		t.Fatal(err)
	}
	if err := sub.SetOption(zmq4.OptionSubscribe, "cam"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "subscription", func() bool { return slices.Contains(p.Topics(), "cam") })
	want := publishToCam(t, p)
	within(t, "Recv", func() {
		for _, w := range want {
			m, err := sub.Recv()
			if err != nil || len(m.Frames) != 2 {
				t.Errorf("got %d frames, %v", len(m.Frames), err)
				return
			}
			if got := fmt.Sprintf("%x %x", m.Frames[0], m.Frames[1]); got != w {
				t.Errorf("got %.60s, want %.60s", got, w)
			}
		}
	})
}

// libzmq runs a SUB socket of libzmq that writes each message in hexadecimal on a line, then
// "disconnected" whenever its monitor says so, until a body "end". With three keys, of the server and two of its own, it uses CURVE.
const libzmq = `
import sys, zmq
from zmq.utils.monitor import recv_monitor_message
port, topic, heartbeat, lines = sys.argv[1], sys.argv[2].encode(), int(sys.argv[3]), sys.stdout
sub = zmq.Context().socket(zmq.SUB)
if len(sys.argv) > 4:
    sub.curve_serverkey, sub.curve_publickey, sub.curve_secretkey = [k.encode() for k in sys.argv[4:7]]
sub.setsockopt(zmq.RCVHWM, 0)
if heartbeat:
    sub.setsockopt(zmq.HEARTBEAT_IVL, heartbeat)
    sub.setsockopt(zmq.HEARTBEAT_TIMEOUT, 75 * heartbeat)
events = sub.get_monitor_socket(zmq.EVENT_DISCONNECTED)
sub.setsockopt(zmq.SUBSCRIBE, topic)
sub.connect("tcp://127.0.0.1:" + port)
poller = zmq.Poller()
poller.register(sub, zmq.POLLIN)
poller.register(events, zmq.POLLIN)
body = b""
while body != b"end":
    ready = dict(poller.poll())
    if events in ready:
        recv_monitor_message(events)
        lines.write("disconnected\n")
        lines.flush()
    if sub in ready:
        topic, body = sub.recv_multipart()
        lines.write(topic.hex() + " " + body.hex() + "\n")
        lines.flush()
`

// MustLibzmq starts a subscriber and waits until it has joined. The lines it writes come
// through the channel, which is closed after the last.
func MustLibzmq(t *testing.T, p *Publisher, topic string, heartbeat int, keys ...string) <-chan string {
	t.Helper()
	lines := startLibzmq(t, p, topic, heartbeat, keys...)
	eventually(t, "libzmq joins", func() bool { return slices.Contains(p.Topics(), topic) })
	return lines
}

// startLibzmq is MustLibzmq for a subscriber that may not join.
func startLibzmq(t *testing.T, p *Publisher, topic string, heartbeat int, keys ...string) <-chan string {
	t.Helper()
	python, err := exec.LookPath("/usr/bin/python3")
	if err != nil || exec.Command(python, "-c", "import zmq").Run() != nil {
		t.Skip("the subscriber needs libzmq: Debian's package python3-zmq is not installed")
	}
	return runSubscriber(t, exec.Command(python, append([]string{"-c", libzmq, fmt.Sprint(p.Port()), topic, fmt.Sprint(heartbeat)}, keys...)...))
}

// runSubscriber starts a process and returns the lines that it writes.
func runSubscriber(t *testing.T, cmd *exec.Cmd) <-chan string {
	t.Helper()
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	lines := make(chan string, 100_000)
	go func() {
		defer close(lines)
		scan := bufio.NewScanner(out)
		scan.Buffer(nil, 8<<20)
		for scan.Scan() {
			lines <- scan.Text()
		}
	}()
	return lines
}

// A SUB socket of libzmq gets topic and body byte by byte, by prefix of the topic.
func TestLibzmq(t *testing.T) {
	p := MustListen(t, Options{})
	lines := MustLibzmq(t, p, "cam", 0)
	want := publishToCam(t, p)
	within(t, "libzmq", func() {
		for _, w := range want {
			if got := <-lines; got != w {
				t.Errorf("got %.60s, want %.60s", got, w)
			}
		}
	})
}

// 5: libzmq with heartbeats stays connected: the log shows one join and no leave.
func TestLibzmqHeartbeat(t *testing.T) {
	var log logBuffer
	p := MustListen(t, Options{Logger: log.logger()})
	lines := MustLibzmq(t, p, "", 20)
	s := p.connected()[0]
	eventually(t, "a hundred PINGs", func() bool { return s.pings.Load() >= 100 })
	MustPublish(t, p, "topic", "end")
	want := hex.EncodeToString([]byte("topic")) + " " + hex.EncodeToString([]byte("end"))
	within(t, "libzmq", func() {
		if got := <-lines; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	if n := strings.Count(log.String(), "subscriber joined"); n != 1 {
		t.Errorf("%d joins, want 1", n)
	}
}

// 7: libzmq gets 20,000 of 20,000 messages across Close.
func TestLibzmqLinger(t *testing.T) {
	p := MustListen(t, Options{})
	lines := MustLibzmq(t, p, "", 0)
	const n = 20_000
	for i := range n - 1 {
		MustPublish(t, p, "topic", fmt.Sprint(i))
	}
	MustPublish(t, p, "topic", "end")
	if err := p.Close(hang); err != nil {
		t.Error(err)
	}
	got := 0
	within(t, "libzmq", func() {
		for line := range lines {
			if line != "disconnected" {
				got++
			}
		}
	})
	if got != n || p.Drops() != 0 {
		t.Errorf("got %d of %d messages; %d drops", got, n, p.Drops())
	}
}

package ledgetest

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"
)

// Subscriber is a SUB socket outside the process under test.
type Subscriber struct {
	TB     testing.TB
	Frames chan []string
}

// Python is Debian's Python, which has the libraries of Debian's packages.
const Python = "/usr/bin/python3"

// haveLibzmq reports whether a libzmq subscriber can run here.
func haveLibzmq() bool { return exec.Command(Python, "-c", "import zmq").Run() == nil }

// NeedLibzmq skips the test if libzmq is not installed. A test calls it before it starts anything.
func NeedLibzmq(t *testing.T) {
	t.Helper()
	if !haveLibzmq() {
		t.Skip("the subscriber needs libzmq: Debian's package python3-zmq is not installed")
	}
}

// Subscribe connects a SUB socket to a port of p and returns when p has its subscription. It is libzmq's where that is
// installed, else zmq4's.
func (p *Node) Subscribe(port int, topic string) *Subscriber {
	p.TB.Helper()
	return SubscribeWith(p, port, topic)
}

// SubscribeWith is subscribe. With keys, that of the server and two of its own, the socket is libzmq's and uses CURVE.
func SubscribeWith(p *Node, port int, topic string, keys ...string) *Subscriber {
	p.TB.Helper()
	s := &Subscriber{TB: p.TB, Frames: make(chan []string, 4096)}
	joined := p.Log.Count(`"topic subscribed"`)
	address := fmt.Sprintf("tcp://127.0.0.1:%d", port)
	if len(keys) > 0 || haveLibzmq() {
		s.RunLibzmq(address, topic, keys...)
	} else {
		p.TB.Log("libzmq subscriber replaced by zmq4's: Debian's package python3-zmq is not installed")
		s.runGo(address, topic)
	}
	Await(p, "a subscriber", func() bool { return p.Log.Count(`"topic subscribed"`) > joined })
	return s
}

const receive = `
import sys, zmq
s = zmq.Context.instance().socket(zmq.SUB)
if len(sys.argv) > 3:
    s.curve_serverkey, s.curve_publickey, s.curve_secretkey = [k.encode() for k in sys.argv[3:6]]
s.setsockopt(zmq.SUBSCRIBE, sys.argv[2].encode())
s.connect(sys.argv[1])
while True:
    print(*[f.hex() or "-" for f in s.recv_multipart()], flush=True)
`

// RunLibzmq starts a subscriber in a program of its own, with libzmq.
func (s *Subscriber) RunLibzmq(address, topic string, keys ...string) {
	s.TB.Helper()
	cmd := exec.Command(Python, append([]string{"-c", receive, address, topic}, keys...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.TB.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.TB.Fatal(err)
	}
	s.TB.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var frames []string
			for _, hex := range strings.Fields(lines.Text()) {
				var frame []byte
				if hex != "-" {
					_, _ = fmt.Sscanf(hex, "%x", &frame)
				}
				frames = append(frames, string(frame))
			}
			s.Frames <- frames
		}
	}()
}

func (s *Subscriber) runGo(address, topic string) {
	s.TB.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	sub := zmq4.NewSub(ctx)
	s.TB.Cleanup(func() { cancel(); _ = sub.Close() })
	if err := sub.Dial(address); err != nil {
		s.TB.Fatal(err)
	}
	if err := sub.SetOption(zmq4.OptionSubscribe, topic); err != nil {
		s.TB.Fatal(err)
	}
	go func() {
		for {
			m, err := sub.Recv()
			if err != nil {
				return
			}
			frames := make([]string, len(m.Frames))
			for i, f := range m.Frames {
				frames[i] = string(f)
			}
			s.Frames <- frames
		}
	}()
}

// Next returns the next message: its topic and its body.
func (s *Subscriber) Next() (topic, body string) {
	s.TB.Helper()
	select {
	case f := <-s.Frames:
		if len(f) != 2 {
			s.TB.Fatalf("got %d frames %q, want [topic, body]", len(f), f)
		}
		return f[0], f[1]
	case <-time.After(Timeout):
		s.TB.Fatal("no message")
		return "", ""
	}
}

// Await returns when done is true; what is awaited shows in the process's log.
func Await(p *Node, what string, done func() bool) {
	p.TB.Helper()
	deadline := time.After(Timeout)
	for tick := time.NewTicker(5 * time.Millisecond); !done(); {
		select {
		case <-tick.C:
		case <-deadline:
			p.TB.Fatalf("waiting for %s\n%s", what, p.Log)
		}
	}
}

// Count returns how often text was printed.
func (s *Output) Count(text string) int { return strings.Count(s.String(), text) }

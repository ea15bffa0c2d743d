package main

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

// subscriber is a SUB socket outside the process under test.
type subscriber struct {
	tb     testing.TB
	frames chan []string
}

const python = "/usr/bin/python3"

// haveLibzmq reports whether a libzmq subscriber can run here.
func haveLibzmq() bool { return exec.Command(python, "-c", "import zmq").Run() == nil }

// needLibzmq skips the test if libzmq is not installed. A test calls it before it starts anything.
func needLibzmq(t *testing.T) {
	t.Helper()
	if !haveLibzmq() {
		t.Skip("the subscriber needs libzmq: Debian's package python3-zmq is not installed")
	}
}

// subscribe connects a SUB socket to a port of p and returns when p has its subscription. It is libzmq's where that is
// installed, else zmq4's.
func (p *process) subscribe(port int, topic string) *subscriber {
	p.tb.Helper()
	return p.subscribeWith(port, topic)
}

// subscribeWith is subscribe. With keys, that of the server and two of its own, the socket is libzmq's and uses CURVE.
func (p *process) subscribeWith(port int, topic string, keys ...string) *subscriber {
	p.tb.Helper()
	s := &subscriber{tb: p.tb, frames: make(chan []string, 4096)}
	joined := p.log.count(`"topic subscribed"`)
	address := fmt.Sprintf("tcp://127.0.0.1:%d", port)
	if len(keys) > 0 || haveLibzmq() {
		s.runLibzmq(address, topic, keys...)
	} else {
		p.tb.Log("libzmq subscriber replaced by zmq4's: Debian's package python3-zmq is not installed")
		s.runGo(address, topic)
	}
	p.await("a subscriber", func() bool { return p.log.count(`"topic subscribed"`) > joined })
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

func (s *subscriber) runLibzmq(address, topic string, keys ...string) {
	s.tb.Helper()
	cmd := exec.Command(python, append([]string{"-c", receive, address, topic}, keys...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
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
			s.frames <- frames
		}
	}()
}

func (s *subscriber) runGo(address, topic string) {
	s.tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	sub := zmq4.NewSub(ctx)
	s.tb.Cleanup(func() { cancel(); _ = sub.Close() })
	if err := sub.Dial(address); err != nil {
		s.tb.Fatal(err)
	}
	if err := sub.SetOption(zmq4.OptionSubscribe, topic); err != nil {
		s.tb.Fatal(err)
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
			s.frames <- frames
		}
	}()
}

// next returns the next message: its topic and its body.
func (s *subscriber) next() (topic, body string) {
	s.tb.Helper()
	select {
	case f := <-s.frames:
		if len(f) != 2 {
			s.tb.Fatalf("got %d frames %q, want [topic, body]", len(f), f)
		}
		return f[0], f[1]
	case <-time.After(hangs):
		s.tb.Fatal("no message")
		return "", ""
	}
}

// await returns when done is true; what is awaited shows in the process's log.
func (p *process) await(what string, done func() bool) {
	p.tb.Helper()
	deadline := time.After(hangs)
	for tick := time.NewTicker(5 * time.Millisecond); !done(); {
		select {
		case <-tick.C:
		case <-deadline:
			p.tb.Fatalf("waiting for %s\n%s", what, p.log)
		}
	}
}

func (s *syncBuffer) count(text string) int { return strings.Count(s.String(), text) }

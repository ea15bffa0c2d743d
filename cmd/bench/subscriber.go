package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/go-zeromq/zmq4"
)

// subscriber is a SUB socket on a subscription of its own to device changes.
type subscriber struct {
	socket zmq4.Socket
	done   chan struct{}
	first  int // number of the first device that is watched
	// frames has, for each device that is watched, when its frames arrived.
	frames map[string]chan time.Time
}

// subscribe adds a subscription whose topic nobody has yet, and connects to its socket.
func subscribe(ctx context.Context, notifications string, devices int) (*subscriber, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	body := fmt.Appendf(nil, `[{"apiVersion":"v2","subscription":{"name":"bench-%d","receiver":"bench","adminState":"UNLOCKED",
		"categories":["DEVICE_CHANGED"],"channels":[{"type":"ZeroMQ","host":"127.0.0.1","port":%d,"topic":"bench"}]}}]`, port, port)
	list, done, err := clients(ctx, notifications, 1)
	if err != nil {
		return nil, err
	}
	defer done()
	if _, err := list[0].call(httpRequest(http.MethodPost, "/api/v2/subscription", body), http.StatusMultiStatus); err != nil {
		return nil, err
	}
	s := &subscriber{socket: zmq4.NewSub(ctx), done: make(chan struct{}), first: 1000 * devices, frames: map[string]chan time.Time{}}
	for i := range devices {
		s.frames[deviceName(s.first+i)] = make(chan time.Time, 1)
	}
	err = s.socket.Dial(fmt.Sprintf("tcp://127.0.0.1:%d", port))
	if err == nil {
		err = s.socket.SetOption(zmq4.OptionSubscribe, "bench")
	}
	if err != nil {
		s.socket.Close()
		return nil, fmt.Errorf("SUB socket: %w", err)
	}
	go s.receive()
	return s, nil
}

func (s *subscriber) close() {
	s.socket.Close()
	<-s.done
}

// receive notes when each frame came, until the socket is closed.
func (s *subscriber) receive() {
	defer close(s.done)
	for {
		m, err := s.socket.Recv()
		at := time.Now()
		if err != nil {
			return
		}
		var change struct{ DeviceName string }
		if len(m.Frames) != 2 || json.Unmarshal(m.Frames[1], &change) != nil {
			continue
		}
		select {
		case s.frames[change.DeviceName] <- at:
		default: // of the joining: nobody waits
		}
	}
}

// join patches until a frame comes: what is sent before the socket has joined is missed, by design of PUB and SUB. Then
// it waits for those on their way.
func (s *subscriber) join(ctx context.Context, list []*connection) error {
	for from := time.Now(); time.Since(from) < frameWait && ctx.Err() == nil; {
		if _, err := list[0].call(patchRequest(s.first), http.StatusMultiStatus); err != nil {
			return err
		}
		select {
		case <-s.frames[deviceName(s.first)]:
			s.drain()
			return nil
		case <-time.After(100 * time.Millisecond):
		}
	}
	return fmt.Errorf("no frame within %v", frameWait)
}

func (s *subscriber) drain() {
	for _, c := range s.frames {
		for {
			select {
			case <-c:
				continue
			case <-time.After(200 * time.Millisecond):
			}
			break
		}
	}
}

// freePort returns a TCP port that nobody listens on now.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // nothing to wait for
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

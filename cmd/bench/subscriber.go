package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/go-zeromq/zmq4"

	"ledge/bridge/zeromqtest"
	"ledge/domain/z85"
)

// subscriber is a SUB socket on a subscription of its own to device changes.
type subscriber struct {
	recv  func() (body []byte, err error)
	stop  func() error
	done  chan struct{}
	name  string // of the subscription
	first int    // number of the first device that is watched
	// frames has, for each device that is watched, when its frames arrived.
	frames map[string]chan time.Time
}

// subscribe adds a subscription whose topic nobody has yet, and connects to its socket.
func subscribe(ctx context.Context, notifications string, devices int, curve bool) (*subscriber, error) {
	keys, field := zeromqtest.NewKeys(), ""
	if curve {
		list, err := json.Marshal([]string{keys.Text()})
		if err != nil {
			return nil, err
		}
		field = `,"clientKeys":` + string(list)
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	body := fmt.Appendf(nil, `[{"apiVersion":"v2","subscription":{"name":"bench-%d","receiver":"bench","adminState":"UNLOCKED",
		"categories":["DEVICE_CHANGED"],"channels":[{"type":"ZeroMQ","host":"127.0.0.1","port":%d,"topic":"bench"%s}]}}]`, port, port, field)
	list, done, err := clients(ctx, notifications, 1)
	if err != nil {
		return nil, err
	}
	defer done()
	if _, err := list[0].call(httpRequest(http.MethodPost, "/api/v2/subscription", body), http.StatusMultiStatus); err != nil {
		return nil, err
	}
	s := &subscriber{name: fmt.Sprintf("bench-%d", port), done: make(chan struct{}), first: 1000 * devices, frames: map[string]chan time.Time{}}
	for i := range devices {
		s.frames[deviceName(s.first+i)] = make(chan time.Time, 1)
	}
	if curve {
		err = s.dialCurve(port, keys, list[0])
	} else {
		err = s.dial(ctx, port)
	}
	if err != nil {
		return nil, fmt.Errorf("SUB socket: %w", err)
	}
	go s.receive()
	return s, nil
}

// dial connects without encryption.
func (s *subscriber) dial(ctx context.Context, port int) error {
	socket := zmq4.NewSub(ctx)
	s.stop = socket.Close
	s.recv = func() ([]byte, error) {
		m, err := socket.Recv()
		if err != nil || len(m.Frames) != 2 {
			return nil, err
		}
		return m.Frames[1], nil
	}
	err := socket.Dial(fmt.Sprintf("tcp://127.0.0.1:%d", port))
	if err == nil {
		err = socket.SetOption(zmq4.OptionSubscribe, "bench")
	}
	if err != nil {
		socket.Close()
	}
	return err
}

// dialCurve connects with the server's key that the subscription shows.
func (s *subscriber) dialCurve(port int, keys zeromqtest.Keys, client *connection) error {
	answer, err := client.call(httpRequest(http.MethodGet, fmt.Sprintf("/api/v2/subscription/name/bench-%d", port), nil), http.StatusOK)
	if err != nil {
		return err
	}
	var shown struct {
		Subscription struct{ Channels []struct{ ServerKey string } }
	}
	if err := json.Unmarshal(answer, &shown); err != nil || len(shown.Subscription.Channels) != 1 {
		return fmt.Errorf("the subscription is shown as %.300s", answer)
	}
	server, err := z85.Decode(shown.Subscription.Channels[0].ServerKey)
	if err != nil || len(server) != z85.KeyBytes {
		return fmt.Errorf("server key of %.300s: %w", answer, err)
	}
	sub, err := zeromqtest.Dial(fmt.Sprintf("127.0.0.1:%d", port), [32]byte(server), keys)
	if err != nil {
		return err
	}
	s.stop = sub.Conn.Close
	s.recv = func() ([]byte, error) {
		_, body, err := sub.RecvMessage()
		return body, err
	}
	return sub.Subscribe("bench")
}

// unsubscribe removes the subscription, so that the next measurement has only its own.
func (s *subscriber) unsubscribe(ctx context.Context, notifications string) error {
	list, done, err := clients(ctx, notifications, 1)
	if err != nil {
		return err
	}
	defer done()
	_, err = list[0].call(httpRequest(http.MethodDelete, "/api/v2/subscription/name/"+s.name, nil), http.StatusOK)
	return err
}

func (s *subscriber) close() {
	_ = s.stop()
	<-s.done
}

// receive notes when each frame came, until the socket is closed.
func (s *subscriber) receive() {
	defer close(s.done)
	for {
		body, err := s.recv()
		at := time.Now()
		if err != nil {
			return
		}
		var change struct{ DeviceName string }
		if json.Unmarshal(body, &change) != nil {
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

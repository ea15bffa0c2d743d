package zeromq

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"

	"github.com/go-zeromq/zmq4"
	"github.com/go-zeromq/zmq4/transport"
)

// scheme names the transport by which zmq4 gets connections that were already checked.
const scheme = "ledge"

var registerTransport = sync.OnceValue(func() error {
	return zmq4.RegisterTransport(scheme, &vetted)
})

var vetted = vettedTransport{doors: map[string]*door{}}

// vettedTransport is a zmq4 transport whose listeners are doors. An endpoint is ledge://NUMBER.
type vettedTransport struct {
	mu    sync.Mutex
	last  int
	doors map[string]*door
}

var _ transport.Transport = (*vettedTransport)(nil)

// add makes a door known to Listen, once, and returns its endpoint.
func (t *vettedTransport) add(d *door) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	name := strconv.Itoa(t.last)
	t.doors[name] = d
	return scheme + "://" + name
}

func (t *vettedTransport) Listen(_ context.Context, name string) (net.Listener, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d, ok := t.doors[name]
	if !ok {
		return nil, fmt.Errorf("endpoint %s://%s is not offered", scheme, name)
	}
	delete(t.doors, name)
	return d, nil
}

func (t *vettedTransport) Dial(context.Context, transport.Dialer, string) (net.Conn, error) {
	return nil, fmt.Errorf("%s transport: %w", scheme, errors.ErrUnsupported)
}

func (t *vettedTransport) Addr(name string) (string, error) { return name, nil }

// door is the listener that zmq4 accepts from. zmq4 performs its handshakes one after another in
// its accept loop; here each takes microseconds.
type door struct {
	addr      net.Addr
	conns     chan net.Conn
	closeOnce sync.Once
	closed    chan struct{}
}

func newDoor(addr net.Addr) *door {
	return &door{addr: addr, conns: make(chan net.Conn), closed: make(chan struct{})}
}

// admit hands a connection to zmq4 and waits until it has joined or was closed.
func (d *door) admit(c *conn) bool {
	select {
	case d.conns <- c:
	case <-c.closed:
		return false
	}
	select {
	case <-c.joined:
		return true
	case <-c.closed:
		return false
	}
}

// Accept fails only after Close, which zmq4 calls when its loop is about to end: it would spin
// on any other error.
func (d *door) Accept() (net.Conn, error) {
	select {
	case c := <-d.conns:
		return c, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

func (d *door) Close() error {
	d.closeOnce.Do(func() { close(d.closed) })
	return nil
}

func (d *door) Addr() net.Addr { return d.addr }

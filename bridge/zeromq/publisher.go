package zeromq

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-zeromq/zmq4"
)

var (
	// ErrClosed is returned by calls after Close.
	ErrClosed = errors.New("zeromq: publisher is closed")

	// ErrTooLarge is returned for a message longer than Options.QueueBytes.
	ErrTooLarge = errors.New("zeromq: message is too large")

	// ErrOverloaded is returned for a message that was dropped because messages are published
	// faster than this process can distribute them.
	ErrOverloaded = errors.New("zeromq: more is published than can be distributed")
)

// Publisher is a bound PUB socket. Its methods may be called from several goroutines.
type Publisher struct {
	o       Options
	port    int
	tcp     *net.TCPListener
	door    *door
	socket  zmq4.Socket
	backlog *backlog
	meter   *meter

	audiences *audiences
	running   sync.WaitGroup // the accept loop and all connections

	published, drops, evictions atomic.Uint64
	hurry                       atomic.Bool // the linger is over: distribute nothing more
	refusals                    refusals

	limits *limits // of this socket and all that share them
	peers  int     // connections; guarded by limits.mu

	subscribed bell // a subscriber has a new topic

	mu          sync.RWMutex
	subscribers map[*subscriber]struct{}

	// Held for reading while a message goes to zmq4, so that the fence comes last.
	sending sync.RWMutex

	unbindOnce sync.Once
	unbound    chan struct{} // closed when nothing is published and nobody let in any more
	closeOnce  sync.Once
	closeErr   error
}

// Listen binds a PUB socket. The host is "*" for all addresses (IPv4 and IPv6), an IP address
// ("0.0.0.0" for all of IPv4), the name of a network interface, or a name that resolves, such as
// "localhost". Of several addresses of an interface or a name, the first of IPv4 is taken, or
// else the first. Port 0 picks a free port. Errors name the host and the port, and say what can
// be done; those of the operating system are wrapped.
func Listen(host string, port int, o Options) (*Publisher, error) {
	addr, err := o.resolve(host)
	if err != nil {
		return nil, bindError(host, port, err)
	}
	return listen(host, addr, port, Access{}, newLimits(o.WithDefaults()))
}

func newPublisher(tcp *net.TCPListener, l *limits) *Publisher {
	o := l.o
	port := tcp.Addr().(*net.TCPAddr).Port
	b, a := newBacklog(backlogMessages, backlogBytes), newAudiences()
	return &Publisher{
		o:           o,
		limits:      l,
		port:        port,
		tcp:         tcp,
		door:        newDoor(tcp.Addr()),
		backlog:     b,
		audiences:   a,
		meter:       &meter{backlog: b, audiences: a, fenced: make(chan struct{})},
		refusals:    refusals{logger: o.Logger, port: port},
		subscribers: map[*subscriber]struct{}{},
		unbound:     make(chan struct{}),
	}
}

// start opens the zmq4 socket with the meter as its first connection, then lets peers in. The
// high-water mark is one above the backlog's, so that zmq4 never drops anything in silence and
// always has room for the fence.
func (p *Publisher) start() error {
	if err := registerTransport(); err != nil {
		return err
	}
	logger := slog.NewLogLogger(p.o.Logger.Handler(), slog.LevelWarn)
	p.socket = zmq4.NewPub(context.Background(), zmq4.WithLogger(logger))
	if err := p.socket.SetOption(zmq4.OptionHWM, backlogMessages+1); err != nil {
		return err
	}
	if err := p.socket.Listen(vetted.add(p.door)); err != nil {
		return err
	}
	addr := p.tcp.Addr()
	p.door.admit(newConn(p.meter, addr, addr, (*conn).shut))
	p.running.Go(p.accept)
	return nil
}

// Publish sends a message of two frames, topic and body, to the subscribers of any prefix of the
// topic. Without any it does nothing. The body is copied.
//
// Publish does not wait for subscribers. Only when more is published than there is processor
// time to distribute (1,024 messages or 1 MiB of them are waiting) does it wait for room,
// for at most a second; then it drops the message, counts it and returns [ErrOverloaded]. Other
// errors are [ErrTooLarge] and [ErrClosed].
func (p *Publisher) Publish(topic string, body []byte) error {
	_, err := p.publish(Access{}, topic, string(body))
	return err
}

// publish also returns how many subscribers the message is meant for.
func (p *Publisher) publish(access Access, topic, body string) (int, error) {
	size := len(topic) + len(body)
	if size > p.o.QueueBytes {
		return 0, fmt.Errorf("%w: %d bytes; at most %d can be queued", ErrTooLarge, size, p.o.QueueBytes)
	}
	to := p.audiences.find(access)
	if to == nil {
		return 0, ErrNotBound
	}
	n := p.matching(to, []byte(topic))
	if n > 0 && !p.backlog.reserve(size, publishWait, p.unbound) && !p.isUnbound() {
		p.drop(n)
		return 0, ErrOverloaded
	}
	p.sending.RLock()
	defer p.sending.RUnlock()
	if p.isUnbound() {
		return 0, ErrClosed
	}
	p.published.Add(1)
	if n == 0 {
		return 0, nil
	}
	p.audiences.send(to)
	return n, p.socket.SendMulti(zmq4.NewMsgFrom(tagged(to.id, topic), bytesOf(body)))
}

// bytesOf returns the bytes of a text without a copy. zmq4 and the queues only read them.
func bytesOf(text string) []byte { return unsafe.Slice(unsafe.StringData(text), len(text)) }

// drop counts lost messages.
func (p *Publisher) drop(n int) {
	p.drops.Add(uint64(n))
	p.limits.drops.Add(uint64(n))
}

// matching counts the subscribers of a topic that an audience admits.
func (p *Publisher) matching(to *audience, topic []byte) int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	n := 0
	for s := range p.subscribers {
		if s.subs.match(topic) && to.admits(s.who) {
			n++
		}
	}
	return n
}

func (p *Publisher) isUnbound() bool {
	select {
	case <-p.unbound:
		return true
	default:
		return false
	}
}

// add takes a peer among the subscribers. It looks at the audiences with p.mu held: so either it, or revoke, which looks at
// the subscribers after the audiences have changed, finds out that the peer is not admitted any more.
func (p *Publisher) add(s *subscriber) (*subscriber, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isUnbound() {
		return nil, ErrClosed
	}
	if !p.audiences.admit(s.who) {
		return nil, errRevoked
	}
	p.subscribers[s] = struct{}{}
	return s, nil
}

func (p *Publisher) remove(s *subscriber) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.subscribers, s)
}

func (p *Publisher) connected() []*subscriber {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.Collect(maps.Keys(p.subscribers))
}

// Port returns the TCP port.
func (p *Publisher) Port() int { return p.port }

// Topics returns, sorted, what subscribers subscribe to now. A message sent after a topic shows
// here is meant for its subscribers.
func (p *Publisher) Topics() []string {
	topics := map[string]struct{}{}
	for _, s := range p.connected() {
		s.subs.addTo(topics)
	}
	return slices.Sorted(maps.Keys(topics))
}

// Subscribers returns how many subscribers are connected.
func (p *Publisher) Subscribers() int {
	n := 0
	for _, s := range p.connected() {
		if s.joined.Load() {
			n++
		}
	}
	return n
}

// Drops returns how many messages were lost since Listen, each counted once for each subscriber
// that it was meant for: for want of room in the subscriber's queue, because the subscriber went
// before its queue was written, because a linger was too short, or with [ErrOverloaded].
func (p *Publisher) Drops() uint64 { return p.drops.Load() }

package zeromq

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// ErrNotBound is returned for a host and port that were not acquired.
var ErrNotBound = errors.New("zeromq: socket is not bound")

// LimitError says that a socket is not bound because as many as are allowed are.
type LimitError struct{ message string }

func (e *LimitError) Error() string { return e.message }

// Limit tells this error from others.
func (e *LimitError) Limit() {}

// releaseLinger bounds how long Release waits for subscribers to receive what was published.
const releaseLinger = 2 * time.Second

// Sockets shares one PUB socket between all who name the same host and port. Hosts that resolve
// to the same address are the same, however they are written. Its methods may be called from
// several goroutines.
type Sockets struct {
	o      Options
	limits *limits

	mu     sync.RWMutex
	closed bool
	bound  map[address]*shared
	names  map[endpoint]*alias

	lingering sync.WaitGroup // sockets that were released and still deliver
}

// SocketStats describes one bound socket. The counts are since it was bound.
type SocketStats struct {
	Host        string // as first acquired
	Port        int
	Subscribers int    // connected now
	Published   uint64 // messages, whether or not anybody subscribed to them
	Drops       uint64 // see Publisher.Drops
	Evictions   uint64 // subscribers disconnected because they stalled
}

// endpoint is a host and port as a caller writes them.
type endpoint struct {
	host string
	port int
}

// address is what an endpoint resolves to.
type address struct {
	ip   netip.Addr
	port int
}

// alias remembers what an endpoint resolved to when it was first acquired.
type alias struct {
	socket *shared
	refs   int
}

type shared struct {
	*Publisher
	host string
	addr address
	refs int // of all its aliases
}

// NewSockets returns a set without sockets. Each socket will have the bounds o.
func NewSockets(o Options) *Sockets {
	o = o.WithDefaults()
	return &Sockets{
		o:      o,
		limits: newLimits(o),
		bound:  map[address]*shared{},
		names:  map[endpoint]*alias{},
	}
}

// Acquire binds the socket of a channel at its first use; see [Listen] for hosts and errors, to which comes a
// [*LimitError]. Each call that succeeds must be followed by one call of Release with the same argument. Channels
// with other Access can share a socket: it lets in all that one of them admits, and a message goes only to those that
// its own channel admits.
func (s *Sockets) Acquire(at Channel) error {
	host, port := at.Host, at.Port
	ep := endpoint{host, port}
	if known, err := s.acquireKnown(ep, at.Access); known || err != nil {
		return err
	}
	ip, err := s.o.resolve(host) // may ask a name server, hence outside the lock
	if err != nil {
		return bindError(host, port, err)
	}
	if err := s.vet(host, ip, port); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if n := s.names[ep]; n != nil {
		return n.acquire(at)
	}
	sock, fresh, err := s.bind(at, address{ip, port})
	if err != nil {
		return err
	}
	n := &alias{socket: sock}
	if fresh {
		n.count()
	} else if err := n.acquire(at); err != nil {
		return err
	}
	s.names[ep] = n
	return nil
}

func (s *Sockets) vet(host string, ip netip.Addr, port int) error {
	if s.o.Vet == nil || port < 0 || port > 65535 { // such a port is listen's error
		return nil
	}
	return s.o.Vet(host, netip.AddrPortFrom(ip, uint16(port)))
}

func (s *Sockets) acquireKnown(ep endpoint, access Access) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false, ErrClosed
	}
	n := s.names[ep]
	if n == nil {
		return false, nil
	}
	return true, n.acquire(Channel{ep.host, ep.port, access})
}

func (n *alias) acquire(at Channel) error {
	if err := n.socket.hold(at.Host, at.Access); err != nil {
		return bindError(at.Host, at.Port, err)
	}
	n.count()
	return nil
}

func (n *alias) count() {
	n.refs++
	n.socket.refs++
}

// bind returns the socket at an address. A fresh one is bound now, and has the channel.
func (s *Sockets) bind(at Channel, addr address) (sock *shared, fresh bool, err error) {
	if len(s.names) >= namesPerSocket*s.o.MaxSockets {
		return nil, false, &LimitError{fmt.Sprintf("%d hosts and ports are in use, which is the limit for %d sockets; "+
			"use a host and port of another channel, or remove a subscription", len(s.names), s.o.MaxSockets)}
	}
	if sock := s.bound[addr]; sock != nil {
		return sock, false, nil
	}
	if len(s.bound) >= s.o.MaxSockets {
		return nil, false, &LimitError{fmt.Sprintf("%d ZeroMQ sockets are bound, which is the limit (fewer where few files may be open); "+
			"use the host and port of another channel, or remove a subscription", len(s.bound))}
	}
	p, err := listen(at.Host, addr.ip, addr.port, at.Access, s.limits)
	if errors.Is(err, syscall.EADDRINUSE) {
		err = s.withOwner(err, addr.port)
	}
	if err != nil {
		return nil, false, err
	}
	sock = &shared{Publisher: p, host: at.Host, addr: addr}
	s.bound[addr] = sock
	return sock, true, nil
}

// withOwner adds which of our own sockets stands in the way.
func (s *Sockets) withOwner(err error, port int) error {
	for _, sock := range s.bound {
		if sock.Port() == port {
			return fmt.Errorf("%w (this process has bound the port for host %q: use that host)", err, sock.host)
		}
	}
	return err
}

// Release gives back what Acquire got. The last reference closes the socket: the port is free
// when Release returns, while its subscribers still receive what was published, for up to two
// seconds. Subscribers that no other channel of the socket admits are disconnected. What was not
// acquired is ignored.
func (s *Sockets) Release(at Channel) {
	sock, gone, last := s.release(endpoint{at.Host, at.Port}, at.Access)
	if gone != nil {
		sock.revoke(gone)
	}
	if !last {
		return
	}
	go func() {
		defer s.lingering.Done()
		if err := sock.Close(releaseLinger); err != nil {
			s.o.Logger.Warn("socket closed", "host", at.Host, "port", at.Port, "error", err)
		}
	}()
}

// release takes a reference away. It returns the audience that is gone with it, if any. After the last one the socket's port is free when
// release returns, so that the next Acquire need not wait for the linger.
func (s *Sockets) release(ep endpoint, access Access) (sock *shared, gone *audience, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.names[ep]
	if n == nil || !n.socket.audiences.has(access) {
		return nil, nil, false
	}
	sock = n.socket
	if n.refs--; n.refs == 0 {
		delete(s.names, ep)
	}
	if sock.refs--; sock.refs > 0 {
		return sock, sock.audiences.release(access), false
	}
	delete(s.bound, sock.addr)
	sock.unbind()
	s.lingering.Add(1) // under the lock: Close waits for it
	return sock, nil, true
}

// Publish sends a message on an acquired channel; see [Publisher.Publish]. It returns how many
// subscribers the message is meant for, and also the error [ErrNotBound].
func (s *Sockets) Publish(at Channel, topic, body string) (subscribers int, err error) {
	sock, err := s.socket(at)
	if err != nil {
		return 0, err
	}
	subscribers, err = sock.publish(at.Access, topic, body)
	if errors.Is(err, ErrClosed) {
		err = ErrNotBound // released by now
	}
	return subscribers, err
}

// socket returns the socket of an acquired channel.
func (s *Sockets) socket(at Channel) (*shared, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n := s.names[endpoint{at.Host, at.Port}]
	switch {
	case s.closed:
		return nil, ErrClosed
	case n == nil:
		return nil, fmt.Errorf("%w: host %q, port %d", ErrNotBound, at.Host, at.Port)
	}
	return n.socket, nil
}

// Unknown reports whether Acquire would have to look up the address of a host: it is a name that
// is not acquired with that port.
func (s *Sockets) Unknown(host string, port int) bool {
	s.mu.RLock()
	known := s.names[endpoint{host, port}] != nil
	s.mu.RUnlock()
	return !known && isName(host)
}

// Bound reports whether a socket is bound to a port, on whatever address.
func (s *Sockets) Bound(port int) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for addr := range s.bound {
		if addr.port == port {
			return true
		}
	}
	return false
}

// Stats returns the bound sockets by port and host.
func (s *Sockets) Stats() []SocketStats {
	s.mu.RLock()
	defer s.mu.RUnlock()
	stats := make([]SocketStats, 0, len(s.bound))
	for _, sock := range s.bound {
		stats = append(stats, SocketStats{
			Host:        sock.host,
			Port:        sock.Port(),
			Subscribers: sock.Subscribers(),
			Published:   sock.published.Load(),
			Drops:       sock.Drops(),
			Evictions:   sock.evictions.Load(),
		})
	}
	slices.SortFunc(stats, func(a, b SocketStats) int {
		if a.Port != b.Port {
			return a.Port - b.Port
		}
		return strings.Compare(a.Host, b.Host)
	})
	return stats
}

// Use is what all sockets take.
type Use struct {
	Sockets int // bound now
	Peers   int // connected now
	Silent  int // of these, those without a topic
	Topics  int // of all peers

	TopicBytes, QueuedBytes int64

	Drops   uint64 // messages lost so far, each counted once for each subscriber
	Evicted uint64 // peers disconnected so far to make room for others
	Refused uint64 // connections refused so far at one of the limits
}

// Use returns what all sockets take now, and took so far.
func (s *Sockets) Use() Use {
	s.mu.RLock()
	u := Use{Sockets: len(s.bound)}
	s.mu.RUnlock()
	s.limits.addTo(&u)
	return u
}

// Refusals returns how many peers of all sockets were refused or disconnected so far, by reason.
func (s *Sockets) Refusals() map[string]uint64 {
	counts := map[string]uint64{}
	for reason, n := range s.limits.reasons {
		counts[string(reason)] = n.Load()
	}
	return counts
}

// Close closes all sockets at the same time, each as [Publisher.Close] does. Nothing can be
// acquired or published afterwards.
func (s *Sockets) Close(linger time.Duration) error {
	s.mu.Lock()
	s.closed = true
	socks := s.bound
	s.bound, s.names = map[address]*shared{}, map[endpoint]*alias{}
	s.mu.Unlock()
	errs := make(chan error, len(socks))
	for _, sock := range socks {
		go func() { errs <- sock.Close(linger) }()
	}
	var all []error
	for range socks {
		all = append(all, <-errs)
	}
	s.lingering.Wait()
	return errors.Join(all...)
}

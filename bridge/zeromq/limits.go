package zeromq

import (
	"container/list"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

var (
	errRevoked = refuse(ReasonRevoked, "no channel of this socket admits it any more (fields of the channels)")
	errSilent  = errors.New("silent for longest, without a subscription, when a newcomer needed its place")
	errGreedy  = errors.New("most topics of the address with the most, when there was no room for more")
	errCrowded = errors.New("took no data for a second while others found no room in the queues")
)

// limits bounds what the peers of all sockets take together.
type limits struct {
	o    Options
	room *room // of all queues

	refusals, evictions, drops atomic.Uint64
	reasons                    reasonCounts
	computing, sealing         turns // CURVE handshakes, and long messages
	relieving                  atomic.Bool
	relieved                   atomic.Int64 // when relieve last looked, see elapsed

	mu         sync.Mutex
	peers      map[*connection]struct{}
	byClient   map[string]int // peers
	silent     list.List      // of *connection, those without a topic, the longest silent first
	topics     int
	topicBytes int
}

// connection is that of a peer, from its accept to its end. Its fields after socket are guarded by limits.mu.
type connection struct {
	tcp     *net.TCPConn
	address netip.Addr
	client  string // with which it shares limits
	socket  *Publisher

	subscriber *subscriber // nil during the handshake
	silent     *list.Element
	topics     int
	topicBytes int
	gone       error // why it counts no more
}

func newLimits(o Options) *limits {
	l := &limits{o: o, reasons: newReasonCounts(), peers: map[*connection]struct{}{}, byClient: map[string]int{}}
	l.computing, l.sealing = newTurns(), newTurns()
	l.room = newRoom(o.AllQueueBytes, o.MaxPeers, l.relieve)
	return l
}

// addressOfPeer is without a zone, as rules name addresses.
func addressOfPeer(c net.Conn) netip.Addr {
	a, _ := c.RemoteAddr().(*net.TCPAddr)
	return a.AddrPort().Addr().Unmap().WithZone("")
}

// admit counts a new connection to a socket. At a limit the longest silent peer gives way; where
// none is silent, the error says which limit it is.
func (l *limits) admit(p *Publisher, tcp *net.TCPConn) (*connection, error) {
	c := &connection{tcp: tcp, socket: p, address: addressOfPeer(tcp), client: l.o.ClientOf(tcp.RemoteAddr().String())}
	evicted, err := l.count(c)
	for _, old := range evicted {
		l.evict(old, errSilent)
	}
	if err != nil {
		l.refusals.Add(1)
		return nil, err
	}
	return c, nil
}

func (l *limits) count(c *connection) (evicted []*connection, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.socket.isUnbound() {
		return nil, ErrClosed
	}
	for _, limit := range []struct {
		most    int
		have    func() int
		among   func(*connection) bool
		setting string
	}{
		{l.o.MaxPeersPerAddress, func() int { return l.byClient[c.client] }, func(p *connection) bool { return p.client == c.client }, "peers of this client are connected"},
		{l.o.MaxSubscribers, func() int { return c.socket.peers }, func(p *connection) bool { return p.socket == c.socket }, "peers of this socket are connected"},
		{l.o.MaxPeers, func() int { return len(l.peers) }, func(*connection) bool { return true }, "peers of all sockets are connected"},
	} {
		for limit.have() >= limit.most {
			old := l.longestSilent(limit.among)
			if old == nil {
				return evicted, fmt.Errorf("%d %s, and none of them is silent", limit.most, limit.setting)
			}
			l.forget(old, errSilent)
			evicted = append(evicted, old)
		}
	}
	l.peers[c] = struct{}{}
	l.byClient[c.client]++
	c.socket.peers++
	c.silent = l.silent.PushBack(c)
	return evicted, nil
}

func (l *limits) longestSilent(among func(*connection) bool) *connection {
	for e := l.silent.Front(); e != nil; e = e.Next() {
		if p := e.Value.(*connection); among(p) {
			return p
		}
	}
	return nil
}

// shaken notes that a peer has completed its handshake. The error says that it was evicted meanwhile.
func (l *limits) shaken(p *connection, s *subscriber) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.gone == nil {
		p.subscriber = s
	}
	return p.gone
}

// countRefusal counts a refused peer by its reason.
func (l *limits) countRefusal(err error) { l.reasons[reasonOf(err)].Add(1) }

// leave is called at the end of a peer.
func (l *limits) leave(p *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(p, net.ErrClosed)
}

// forget counts a peer no more; l.mu is held.
func (l *limits) forget(p *connection, why error) {
	if p.gone != nil {
		return
	}
	p.gone = why
	delete(l.peers, p)
	if l.byClient[p.client]--; l.byClient[p.client] == 0 {
		delete(l.byClient, p.client)
	}
	p.socket.peers--
	l.topics -= p.topics
	l.topicBytes -= p.topicBytes
	if p.silent != nil {
		l.silent.Remove(p.silent)
	}
}

// evict closes the connection of a peer that was forgotten.
func (l *limits) evict(p *connection, why error) {
	l.evictions.Add(1)
	p.socket.refusals.report(p.tcp.RemoteAddr(), why)
	l.mu.Lock()
	s := p.subscriber
	l.mu.Unlock()
	if s == nil {
		_ = p.tcp.Close()
		return
	}
	s.end(why)
}

// evicted reports whether a peer was evicted.
func (l *limits) evicted(p *connection) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return p.gone != nil
}

// closeHandshakes closes those connections to a socket that have not completed one.
func (l *limits) closeHandshakes(socket *Publisher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.peers {
		if p.socket == socket && p.subscriber == nil {
			_ = p.tcp.Close()
		}
	}
}

// changeTopics counts what a peer has subscribed to. More bytes may cost another peer its
// connection; the error says that it is this one's.
func (l *limits) changeTopics(p *connection, topics, bytes int) error {
	evicted, err := l.countTopics(p, topics, bytes)
	for _, other := range evicted {
		l.evict(other, errGreedy)
	}
	return err
}

func (l *limits) countTopics(p *connection, topics, bytes int) (evicted []*connection, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.gone != nil {
		return nil, p.gone
	}
	for bytes > 0 && l.topicBytes+bytes > l.o.AllTopicBytes {
		other := l.greediest()
		if other == nil || other == p {
			return evicted, errGreedy
		}
		l.forget(other, errGreedy)
		evicted = append(evicted, other)
	}
	l.topics += topics
	l.topicBytes += bytes
	p.topics += topics
	p.topicBytes += bytes
	switch {
	case p.topics > 0 && p.silent != nil:
		l.silent.Remove(p.silent)
		p.silent = nil
	case p.topics == 0 && p.silent == nil:
		p.silent = l.silent.PushBack(p)
	}
	return evicted, nil
}

// greediest is the peer with the most topics of the address with the most, so that nobody who
// connects often takes the topics of others; l.mu is held.
func (l *limits) greediest() (most *connection) {
	sums := map[string]int{}
	for p := range l.peers {
		sums[p.client] += p.topicBytes
	}
	for p := range l.peers {
		if p.topicBytes > 0 && (most == nil || sums[p.client] > sums[most.client] ||
			sums[p.client] == sums[most.client] && p.topicBytes > most.topicBytes) {
			most = p
		}
	}
	return most
}

var begun = time.Now()

// elapsed returns the nanoseconds from the start of the program to a time, whatever the clock is set to meanwhile.
func elapsed(t time.Time) int64 { return int64(t.Sub(begun)) }

// relieve disconnects subscribers that took no data for a moment, the fullest first, until half
// of what all may use is free again. It looks at most ten times a second.
func (l *limits) relieve() {
	now := time.Now()
	if elapsed(now)-l.relieved.Load() < int64(100*time.Millisecond) || !l.relieving.CompareAndSwap(false, true) {
		return
	}
	l.relieved.Store(elapsed(now))
	go func() {
		defer l.relieving.Store(false)
		for l.room.crowded() {
			s := l.fullestStalled(now.Add(-crowdedStall))
			if s == nil {
				return
			}
			l.evictions.Add(1)
			s.end(errCrowded)
		}
	}()
}

// fullestStalled is the subscriber with the most bytes in its queue of those whose connection
// took nothing since a time.
func (l *limits) fullestStalled(since time.Time) (fullest *subscriber) {
	l.mu.Lock()
	defer l.mu.Unlock()
	most := 0
	for p := range l.peers {
		if p.subscriber == nil {
			continue
		}
		if n := p.subscriber.stalledBytes(since); n > most {
			fullest, most = p.subscriber, n
		}
	}
	return fullest
}

func (l *limits) addTo(u *Use) {
	l.mu.Lock()
	defer l.mu.Unlock()
	u.Peers, u.Silent, u.Topics, u.TopicBytes = len(l.peers), l.silent.Len(), l.topics, int64(l.topicBytes)
	u.QueuedBytes, u.Drops, u.Evicted, u.Refused = l.room.used.Load(), l.drops.Load(), l.evictions.Load(), l.refusals.Load()
}

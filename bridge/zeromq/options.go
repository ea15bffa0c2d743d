package zeromq

import (
	"log/slog"
	"net"
	"net/netip"
	"time"
)

// Options bounds PUB sockets. Zero and negative values take the documented defaults. What is
// said of all sockets holds for those of one [Sockets] together, and for the one socket of
// [Listen].
type Options struct {
	// MaxSockets is how many sockets may be bound at once: 64.
	MaxSockets int

	// ClientOf returns the client at an address, host:port: peers of one client share a limit. Without it, a client is an IP address.
	ClientOf func(address string) string

	// MaxPeers, MaxPeersPerAddress and MaxSubscribers are how many connections may be open at
	// once: to all sockets (2,048), to all sockets from one client (256), and to one socket
	// (1,024). At each of these limits a newcomer takes the place of the peer that has been
	// silent for longest, which means without a subscription. Where no peer is silent, the
	// newcomer is refused.
	MaxPeers           int
	MaxPeersPerAddress int
	MaxSubscribers     int

	// QueueMessages and QueueBytes bound what waits for one subscriber: 1,000 messages and
	// 8 MiB. When either is reached, new messages are dropped for that subscriber alone.
	// QueueBytes is also the size of the largest message that can be published.
	QueueMessages int
	QueueBytes    int

	// AllQueueBytes bounds the memory of the queues of all sockets: 64 MiB, and at least four
	// times QueueBytes. A message longer than 64 KiB counts once, however many it waits for.
	// Each subscriber has an equal share of half of that for itself; who needs it takes the other half. When a
	// subscriber finds no room, those that took no data for a second are disconnected, the
	// fullest queue first.
	AllQueueBytes int

	// MaxTopics and MaxTopicBytes bound the topics of one subscriber: 16,384 topics and 2 MiB.
	// A subscriber that asks for more is disconnected. A topic counts 64 bytes more than its
	// length.
	MaxTopics     int
	MaxTopicBytes int

	// AllTopicBytes bounds the topics of all subscribers: 16 MiB. At this limit, of the
	// address whose subscribers have the most, the subscriber with the most is disconnected.
	AllTopicBytes int

	// HandshakeTimeout is how long a peer may take to show that it is a subscriber: 5 s.
	HandshakeTimeout time.Duration

	// StallTimeout is how long a subscriber may take not one byte of what waits for it: 30 s.
	// It is disconnected after between one and two such periods. On Linux a peer that does not
	// acknowledge what was sent, because its link was cut, is disconnected after three.
	StallTimeout time.Duration

	// MaxFrame is how many bytes a subscriber may send in one frame, hence the length of the
	// longest subscription: 64 KiB. A peer that claims more is disconnected.
	MaxFrame int

	// ServerKey is the private key of CURVE, 32 bytes. Without it no channel can have ClientKeys.
	ServerKey  []byte
	serverKeys *curveKeys

	// Lookup returns the addresses of a name that is not an interface. Nil asks the machine's name
	// servers, for up to 5 s.
	Lookup func(host string) ([]netip.Addr, error)

	// Vet is asked before a socket of [Sockets] is bound; host is what at was resolved from. Its error is returned by
	// Acquire as it is. Nil lets every socket be bound.
	Vet func(host string, at netip.AddrPort) error

	// Logger receives joins and leaves at Info, refused peers and evictions at Warn, and
	// subscriptions at Debug. Nil means slog.Default().
	Logger *slog.Logger
}

// Bounds that an operator has no reason to tune.
const (
	backlogMessages = 1024 // between Publish and the subscribers' queues of one socket
	backlogBytes    = 1 << 20
	publishWait     = time.Second
	crowdedStall    = time.Second // how long a subscriber may stall while others find no room
	namesPerSocket  = 16          // hosts that resolve to one address, on average
)

// WithDefaults returns o with the documented default where a limit is zero or negative.
func (o Options) WithDefaults() Options {
	if o.ClientOf == nil {
		o.ClientOf = func(address string) string {
			host, _, _ := net.SplitHostPort(address) // an address of a connection has a port
			return host
		}
	}
	setDefault(&o.MaxSockets, 64)
	setDefault(&o.MaxPeers, 2048)
	setDefault(&o.MaxPeersPerAddress, 256)
	setDefault(&o.MaxSubscribers, 1024)
	setDefault(&o.QueueMessages, 1000)
	setDefault(&o.QueueBytes, 8<<20)
	setDefault(&o.AllQueueBytes, 64<<20)
	o.AllQueueBytes = max(o.AllQueueBytes, 4*o.QueueBytes)
	setDefault(&o.MaxTopics, 16384)
	setDefault(&o.MaxTopicBytes, 2<<20)
	setDefault(&o.AllTopicBytes, 16<<20)
	setDefault(&o.HandshakeTimeout, 5*time.Second)
	setDefault(&o.StallTimeout, 30*time.Second)
	setDefault(&o.MaxFrame, 64<<10)
	if len(o.ServerKey) == keyBytes {
		o.serverKeys = pairOf(curveKey(o.ServerKey))
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

func setDefault[T int | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

package zeromq

import (
	"log/slog"
	"net/netip"
	"time"
)

// Options bounds one PUB socket. Zero and negative values take the documented defaults.
type Options struct {
	// MaxSubscribers is how many subscribers may be connected at once: 256. Connections that
	// have not finished their handshake have a limit of their own, 1,024, beyond which the
	// oldest is closed.
	MaxSubscribers int

	// QueueMessages and QueueBytes bound what waits for one subscriber: 65,536 messages and
	// 16 MiB. When either is reached, new messages are dropped for that subscriber alone.
	// QueueBytes is also the size of the largest message that can be published. All queues of
	// a socket together hold at most 256 MiB, and beyond that 256 KiB for each subscriber.
	QueueMessages int
	QueueBytes    int

	// HandshakeTimeout is how long a peer may take to show that it is a subscriber: 5 s.
	HandshakeTimeout time.Duration

	// StallTimeout is how long a subscriber may take not one byte of what waits for it: 30 s.
	// It is disconnected after between one and two such periods. On Linux a peer that does not
	// acknowledge what was sent, because its link was cut, is disconnected after three.
	StallTimeout time.Duration

	// MaxFrame is how many bytes a subscriber may send in one frame, hence the length of the
	// longest subscription: 64 KiB. A peer that claims more is disconnected.
	MaxFrame int

	// Allow lists the networks that subscribers may connect from. Empty means everyone.
	Allow []netip.Prefix

	// Vet is asked before a socket of [Sockets] is bound; host is what at was resolved from. Its error is returned by
	// Acquire as it is. Nil lets every socket be bound.
	Vet func(host string, at netip.AddrPort) error

	// Logger receives joins and leaves at Info, refused peers and evictions at Warn, and
	// subscriptions at Debug. Nil means slog.Default().
	Logger *slog.Logger
}

// Bounds that an operator has no reason to tune.
const (
	maxHandshakes        = 1024
	maxSubscriptionBytes = 4 << 20   // per subscriber; topics count 64 bytes more than their length
	socketQueueBytes     = 256 << 20 // all queues of one socket
	fairQueueBytes       = 256 << 10 // per queue, once socketQueueBytes is reached
	backlogMessages      = 1024      // between Publish and the subscribers' queues
	publishWait          = time.Second
)

func (o Options) withDefaults() Options {
	setDefault(&o.MaxSubscribers, 256)
	setDefault(&o.QueueMessages, 65536)
	setDefault(&o.QueueBytes, 16<<20)
	setDefault(&o.HandshakeTimeout, 5*time.Second)
	setDefault(&o.StallTimeout, 30*time.Second)
	setDefault(&o.MaxFrame, 64<<10)
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

// allows tells whether a peer at addr may subscribe.
func (o Options) allows(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	for _, p := range o.Allow {
		if unmapPrefix(p).Contains(addr) {
			return true
		}
	}
	return len(o.Allow) == 0
}

// unmapPrefix turns ::ffff:a.b.c.d/n into a.b.c.d/(n-96), which is how such peers are compared.
func unmapPrefix(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}

// Package dns finds the addresses of hosts.
//
// Name servers are asked by a [Resolver] with limits: so many connections to them at once, and so much time for each name. What a caller
// does not wait for any longer ends, and takes no connection from others.
package dns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Options configure a [Resolver]. Zero values take the documented defaults.
type Options struct {
	// Server is the address of the name server, host:port; empty for those of the machine.
	Server string
	// Connections are those to name servers at once: 64. A name takes two of them.
	Connections int
	// Timeout is how long one name may take: 5 s.
	Timeout time.Duration
	// Now is the clock of what is remembered: time.Now.
	Now func() time.Time
}

const (
	// remembered is how long an answer is remembered, so that whoever has asked for a name can use it without asking again.
	remembered = 10 * time.Second
	// mostRemembered bounds the names that are remembered.
	mostRemembered = 1024
)

// ErrNotAsked says that a name has no address without a name server, and none was asked lately.
var ErrNotAsked = errors.New("no name server has answered in time")

// Resolver finds addresses. Its methods may be called from several goroutines.
type Resolver struct {
	o        Options
	slots    chan struct{}
	resolver *net.Resolver
	hosts    *net.Resolver // what this machine knows by itself

	mu     sync.Mutex
	recent map[string]answer
}

type answer struct {
	addrs []netip.Addr
	err   error
	until time.Time
}

// New returns a Resolver that remembers nothing yet.
func New(o Options) *Resolver {
	if o.Connections <= 0 {
		o.Connections = 64
	}
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &Resolver{o: o, slots: make(chan struct{}, o.Connections), recent: map[string]answer{}}
	r.resolver = &net.Resolver{PreferGo: true, Dial: r.dial}
	r.hosts = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, ErrNotAsked }}
	return r
}

// Net asks name servers within the same limits; it remembers nothing.
func (r *Resolver) Net() *net.Resolver { return r.resolver }

// Lookup returns the addresses of a host. It asks a name server, unless the machine's hosts file has the name or an address was
// found lately.
func (r *Resolver) Lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if addrs, err := r.Known(host); err == nil {
		return addrs, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	timed, cancel := context.WithTimeout(ctx, r.o.Timeout)
	defer cancel()
	addrs, err := r.resolver.LookupNetIP(timed, "ip", host)
	if err == nil && len(addrs) == 0 {
		err = errors.New("no address")
	}
	if ctx.Err() == nil {
		r.remember(host, addrs, err)
	}
	return addrs, err
}

// Known returns the addresses of a host without asking a name server. The error is ErrNotAsked where one would have to be asked, and
// else what was answered.
func (r *Resolver) Known(host string) ([]netip.Addr, error) {
	r.mu.Lock()
	a, ok := r.recent[host]
	r.mu.Unlock()
	if ok && r.o.Now().Before(a.until) {
		return a.addrs, a.err
	}
	if addrs, err := r.hosts.LookupNetIP(context.Background(), "ip", host); err == nil && len(addrs) > 0 {
		return addrs, nil
	}
	return nil, fmt.Errorf("look up %q: %w", host, ErrNotAsked)
}

func (r *Resolver) remember(host string, addrs []netip.Addr, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.o.Now()
	if len(r.recent) >= mostRemembered {
		for name, a := range r.recent {
			if !now.Before(a.until) {
				delete(r.recent, name)
			}
		}
	}
	if len(r.recent) < mostRemembered {
		r.recent[host] = answer{addrs, err, now.Add(remembered)}
	}
}

// dial connects to a name server when there is a place, for as long as ctx goes on.
func (r *Resolver) dial(ctx context.Context, network, address string) (net.Conn, error) {
	select {
	case r.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if ctx.Err() != nil { // a place became free just then
		<-r.slots
		return nil, ctx.Err()
	}
	if ctx.Err() != nil { // both were so
		<-r.slots
		return nil, ctx.Err()
	}
	if r.o.Server != "" {
		address = r.o.Server
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		<-r.slots
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }) // net would read on until its own deadline
	giveBack := sync.OnceFunc(func() { stop(); <-r.slots })
	if udp, ok := conn.(*net.UDPConn); ok { // net takes what is no PacketConn for a stream
		return &packets{udp, giveBack}, nil
	}
	return &stream{conn, giveBack}, nil
}

type packets struct {
	*net.UDPConn
	giveBack func()
}

func (c *packets) Close() error { c.giveBack(); return c.UDPConn.Close() }

type stream struct {
	net.Conn
	giveBack func()
}

func (c *stream) Close() error { c.giveBack(); return c.Conn.Close() }

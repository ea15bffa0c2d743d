package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

const (
	maxPayload = 32 << 20
	// maxPending is what a slow tap may leave unread before it is cut; the server wants more than one payload.
	maxPending = 64 << 20
	// unlimited disk as far as the server is concerned: the reserve is kept by us, with an answer that says so.
	maxStore  = 1 << 60
	startWait = 10 * time.Second
	// healthWait is how long a server may be unready before it is believed that it is.
	healthWait = 10 * time.Second
	// healthAsks is how often it is asked meanwhile.
	healthAsks = 100
)

// node is the server in this process and our connections to it: one for appends and their acknowledgements, one for
// reading, one for what taps see, so that none waits behind another.
type node struct {
	opts     *server.Options
	server   *server.Server
	password string
	write    *nats.Conn
	read     *nats.Conn
	live     *nats.Conn
}

func startNode(ctx context.Context, o Options) (*node, error) {
	n := &node{password: rand.Text()}
	if err := n.configure(o); err != nil {
		return nil, err
	}
	if err := portFree(ctx, o); err != nil {
		return nil, err
	}
	s, err := server.NewServer(n.opts)
	if err != nil {
		return nil, fmt.Errorf("nats server: %w", err)
	}
	n.server = s
	logs := newServerLog(o.Logger)
	s.SetLoggerV2(logs, false, false, false)
	s.Start()
	if err := n.ready(ctx, logs); err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

func (n *node) configure(o Options) error {
	c := &server.Options{}
	if err := c.ProcessConfigString(accountsConfig(n.password)); err != nil {
		return fmt.Errorf("nats server: accounts: %w", err)
	}
	c.ServerName = "ledge"
	c.NoSigs, c.DisableJetStreamBanner = true, true
	c.JetStream, c.StoreDir, c.SyncAlways = true, o.Dir, o.SyncAlways
	c.JetStreamMaxStore, c.JetStreamMaxMemory = maxStore, 16<<20
	c.MaxPayload, c.MaxPending = maxPayload, maxPending
	c.MaxConn = o.TapConnections + 3
	c.MaxSubs = 1000             // of one connection
	c.NoFastProducerStall = true // a slow tap must not slow the log down
	c.DontListen = o.TapPort < 0
	c.Host, c.Port = o.TapHost, o.TapPort
	if o.TapPort == 0 {
		c.Port = server.RANDOM_PORT
	}
	n.opts = c
	return nil
}

// ErrListen is in the chain of Open's error when taps cannot be listened for.
var ErrListen = errors.New("no listener for taps")

// portFree turns "address already in use" into a line that says what to change.
func portFree(ctx context.Context, o Options) error {
	if o.TapPort <= 0 {
		return nil
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(o.TapHost, strconv.Itoa(o.TapPort)))
	if err != nil {
		return fmt.Errorf("settings tap-host and tap-port: %w: %w; stop what uses the address, choose another, or set tap-port to -1 for no taps", ErrListen, err)
	}
	return l.Close()
}

func (n *node) ready(ctx context.Context, logs *serverLog) error {
	up := make(chan bool, 1)
	go func() { up <- n.opts.DontListen || n.server.ReadyForConnections(startWait) }()
	select {
	case line := <-logs.fatal:
		n.server.Shutdown()
		<-up
		return fmt.Errorf("nats server: %s", line)
	case <-ctx.Done():
		n.server.Shutdown()
		<-up
		return ctx.Err()
	case ok := <-up:
		if !ok {
			return fmt.Errorf("nats server: not ready within %s", startWait)
		}
	}
	select { // a failure before the listener
	case line := <-logs.fatal:
		return fmt.Errorf("nats server: %s", line)
	default:
	}
	for _, c := range []struct {
		conn *(*nats.Conn)
		name string
	}{{&n.write, "append"}, {&n.read, "read"}, {&n.live, "live"}} {
		nc, err := n.connect(c.name)
		if err != nil {
			return fmt.Errorf("connect in process: %w", err)
		}
		*c.conn = nc
	}
	return nil
}

func (n *node) connect(name string) (*nats.Conn, error) {
	return nats.Connect("", nats.InProcessServer(n.server), nats.Name("ledge-"+name), nats.UserInfo(ledgeUser, n.password),
		nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0), nats.NoEcho(),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
}

// restartJetStream stops and starts JetStream in place: the only cure after a failed write.
func (n *node) restartJetStream() error {
	if err := n.server.DisableJetStream(); err != nil {
		return fmt.Errorf("stop jetstream: %w", err)
	}
	err := n.server.EnableJetStream(&server.JetStreamConfig{
		StoreDir: n.opts.StoreDir, MaxStore: maxStore, MaxMemory: n.opts.JetStreamMaxMemory,
		SyncAlways: n.opts.SyncAlways, CompressOK: true, Strict: true,
	})
	if err != nil {
		return fmt.Errorf("start jetstream: %w", err)
	}
	return nil
}

// health is the server's own account of itself: it shows a failed write at once.
func (n *node) health() error {
	return healthy(func() *server.HealthStatus { return n.server.Healthz(&server.HealthzOptions{Details: true}) }, n.server.ReadyForConnections)
}

// healthy asks again, up to healthAsks times, where a server says no more than that it does not take connections, and
// yet ready, which waits for that, says that it does: the server itself looks for a millisecond only, in which a process
// on a busy machine may not run at all.
func healthy(ask func() *server.HealthStatus, ready func(time.Duration) bool) error {
	h := ask()
	for n := 1; n < healthAsks && unready(h) && ready(healthWait); n++ {
		h = ask()
	}
	if h.Status != "ok" {
		for _, e := range h.Errors {
			return fmt.Errorf("nats server: %s %s: %s", e.Type.String(), e.Stream, e.Error)
		}
		return fmt.Errorf("nats server: %s %s", h.Status, h.Error)
	}
	return nil
}

func unready(h *server.HealthStatus) bool {
	return len(h.Errors) == 1 && h.Errors[0].Type == server.HealthzErrorConn
}

// tapped reports whether any tap is connected: what is published live before is for nobody.
func (n *node) tapped() bool {
	a, err := n.server.LookupAccount(tapAccount)
	return err != nil || a.NumLocalConnections() > 0
}

func (n *node) tapURL(login string) string {
	if n.opts.DontListen || n.server.Addr() == nil {
		return ""
	}
	return "nats://" + login + n.server.Addr().String()
}

func (n *node) close() {
	for _, nc := range []*nats.Conn{n.write, n.read, n.live} {
		if nc != nil {
			nc.Close()
		}
	}
	if n.server != nil {
		n.server.Shutdown()
		n.server.WaitForShutdown()
	}
}

// streamDir is the folder of a stream below the store's.
func streamDir(dir, name string) string {
	return filepath.Join(dir, server.JetStreamStoreDir, accountName, "streams", name)
}

// Package bus is the public NATS server: a stock one with JetStream, beside the private one of the logs, for the NATS clients of others.
//
// [Bus] holds a bounded copy of each log, with the log's own sequences. It copies an event when it is durable and queries show it.
// A copy is a projection: Ledge does not read it, it may lag, and it is filled again from the log if it is lost.
// Clients subscribe to events. Auditors and administrators also have JetStream consumers on the copies. Clients cannot change them.
//
// [EdgeX] is the stream of EdgeX's message bus, on which EdgeX services publish, also with Redis and MQTT; see [ServeRedis] and
// [ServeMQTT]. Ledge takes its messages.
package bus

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"ledge/domain"
	"ledge/store"
	"ledge/store/natsserver"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Options configures [Open]. Only Dir is required.
type Options struct {
	// Host and Port are where clients connect. The default host is 127.0.0.1; port 0 is any free one.
	Host string
	Port int
	// Dir is the folder of the copies and of the stream of EdgeX's message bus. If it is removed while the bus is closed, messages that
	// Ledge has not taken yet are lost.
	Dir string
	// MaxBytes bounds each copy, in bytes; 0 is live messages only.
	MaxBytes int64
	// Connections is the most clients at a time that have logged in, half of them from one address; the default is 64.
	Connections int
	// Descriptors is how many descriptors all connections may have together; 0: unlimited.
	Descriptors int
	// Memory is the most that waits in memory for all clients together, in bytes; the default is 40 MiB.
	Memory int64
	// TLS has clients use TLS, after the server's first line. nil: no TLS.
	TLS *tls.Config
	// Login returns the identity of a client, by the user and password or by the token that it sends; address is its IP address. The error
	// of a refusal is a domain.Error. nil is open mode: clients need no login and may read all.
	Login func(ctx context.Context, user, password, token, address string) (domain.Identity, error)
	// Still reports whether an identity that has logged in still has its rights: its user or token was not removed or changed, and it has
	// not expired. It must be quick. nil: always. See [Bus.Recheck].
	Still func(domain.Identity) bool
	// Hub is the NATS cluster of the fleet; nil: no cluster.
	Hub *Hub
	// Logger receives the reports of the server; nil: slog.Default.
	Logger *slog.Logger
}

const (
	// valueMost is the largest payload of a message on the bus, in bytes. A larger one is left out; see [onBus].
	valueMost = 512 << 10
	// payloadMost is the largest message with its headers, in bytes.
	payloadMost = valueMost + 256<<10
	// pendingMost is the most that waits for one client, in bytes.
	pendingMost = 8 << 20
	// subscriptionsMost is how many subscriptions one client may have.
	subscriptionsMost = 16
	// controlLine is the longest line of a client, in bytes.
	controlLine = 4 << 10
	// consumersMost is how many JetStream consumers one copy may have.
	consumersMost = 100
	// loginWait is how long a client may take to log in, and writeWait how long it may take to read a write.
	loginWait, writeWait = 10 * time.Second, 10 * time.Second
	// retryPause is the time between a failure of the bus and the next try.
	retryPause = 5 * time.Second
	// mostLag is how many events a copy may lag before there is a warning.
	mostLag = 10_000
)

// ErrListen is in the chain of the error if clients cannot be listened for.
var ErrListen = errors.New("no listener for NATS clients")

func (o Options) withDefaults() Options {
	o.Host = cmp.Or(o.Host, "127.0.0.1")
	o.Connections = cmp.Or(o.Connections, 64)
	o.Memory = cmp.Or(o.Memory, 40<<20)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Still == nil {
		o.Still = func(domain.Identity) bool { return true }
	}
	return o
}

// listen listens for clients. The error says which settings to change, and has [ErrListen] in its chain.
func (o Options) listen(ctx context.Context) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(o.Host, strconv.Itoa(o.Port)))
	if err != nil {
		return nil, fmt.Errorf("settings nats-host and nats-port: %w: %w; "+
			"stop what uses the address, choose another, or set nats-port to -1 for no NATS clients", ErrListen, err)
	}
	return l, nil
}

// Check reports whether clients can be listened for, before anything is opened. A nil Options stands for a node without a bus.
func (o *Options) Check(ctx context.Context) error {
	if o == nil || o.Port == 0 {
		return nil
	}
	l, err := o.withDefaults().listen(ctx)
	if err != nil {
		return err
	}
	return l.Close()
}

// Bus is the public server with its copies. All methods can be called on nil, which stands for a node without a bus.
type Bus struct {
	o      Options
	gate   *gate
	secret string // the password of our own connection
	memory *memory
	copies []*copier
	edgex  *EdgeX
	others []net.Listener // of clients that do not speak NATS

	replays *Replays

	mu     sync.Mutex // guards the fields below
	server *server.Server
	conn   *nats.Conn
	failed error // of the last server, if it is not running

	alive   context.Context // until Close
	stop    context.CancelFunc
	running sync.WaitGroup
}

// Open listens for clients, and lets them in once the copies equal the logs. It fails only if the address cannot be
// listened on: if the server does not start or a copy cannot be written, the log says so, and it is tried again.
func Open(ctx context.Context, o Options, logs ...*store.Appender) (*Bus, error) {
	o = o.withDefaults()
	listener, err := o.listen(ctx)
	if err != nil {
		return nil, err
	}
	b := &Bus{gate: newGate(o, listener), o: o, secret: rand.Text()}
	b.memory = newMemory(b, o.Memory)
	for _, a := range logs {
		b.copies = append(b.copies, newCopier(b, a))
	}
	b.edgex, b.replays = newEdgeX(b, logs), &Replays{bus: b}
	ctx, b.stop = context.WithCancel(context.Background())
	b.alive = ctx
	b.running.Go(func() { b.run(ctx) })
	b.running.Go(func() { b.memory.watch(ctx) })
	b.running.Go(func() { b.recheckAgain(ctx) })
	return b, nil
}

// run starts the server, and starts it again after each failure, until ctx ends.
func (b *Bus) run(ctx context.Context) {
	said := ""
	for ctx.Err() == nil {
		err := b.serve(ctx)
		if ctx.Err() != nil {
			return
		}
		if err.Error() != said {
			b.o.Logger.Warn("the NATS bus failed, and is started again; the log does not need it", "error", err, "every", retryPause)
			said = err.Error()
		}
		b.mu.Lock()
		b.failed = err
		b.mu.Unlock()
		pauseFor(retryPause, ctx.Done())
	}
}

// serve runs one server until it fails or ctx ends.
func (b *Bus) serve(ctx context.Context) error {
	b.keepSound(ctx)
	if err := b.edgex.move(); err != nil {
		return fmt.Errorf("move the stream %s: %w", edgexStream, err)
	}
	if err := b.start(ctx); err != nil {
		return err
	}
	defer b.stopServer()
	for _, c := range b.copies {
		if err := c.open(ctx); err != nil {
			return err
		}
	}
	conn, err := natsserver.Connect(b.server, "edgex", edgexUser, b.secret)
	if err != nil {
		return err
	}
	defer conn.Close()
	stream, err := b.edgex.open(ctx, conn)
	if err != nil {
		return err
	}
	b.edgex.conn.Store(conn)
	defer b.edgex.conn.Store(nil)
	b.gate.open(b.server)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, len(b.copies)+1)
	var following sync.WaitGroup
	following.Go(func() { failed <- b.edgex.watch(ctx, conn, stream) })
	for _, c := range b.copies {
		following.Go(func() { failed <- c.follow(ctx) })
	}
	err = <-failed
	stop()
	following.Wait()
	return err
}

// start starts the server and connects to it.
func (b *Bus) start(ctx context.Context) error {
	o, err := b.serverOptions()
	if err != nil {
		return err
	}
	s, err := natsserver.Start(ctx, o, b.o.Logger, b.gate.clientOf)
	if err != nil {
		return err
	}
	b.set(s, nil) // the authenticator looks up accounts
	conn, err := natsserver.Connect(s, "copies", feedUser, b.secret)
	if err != nil {
		b.stopServer()
		return err
	}
	b.set(s, conn)
	return nil
}

func (b *Bus) stopServer() {
	s, conn := b.now()
	b.gate.close()
	b.set(nil, nil)
	if conn != nil {
		conn.Close()
	}
	natsserver.Stop(s)
}

func (b *Bus) set(s *server.Server, conn *nats.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.server, b.conn = s, conn
}

// now returns the server and our connection to it; nil while the server is not running.
func (b *Bus) now() (*server.Server, *nats.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.server, b.conn
}

// serverOptions are those of a stock server that listens nowhere itself: [gate] hands it the connections.
func (b *Bus) serverOptions() (*server.Options, error) {
	o := &server.Options{}
	if err := o.ProcessConfigString(accounts(b.secret, prefixesOf(b), b.o.Login == nil)); err != nil {
		return nil, fmt.Errorf("nats bus: accounts: %w", err)
	}
	o.ServerName, o.DisableJetStreamBanner = "ledge", true
	o.JetStream, o.StoreDir = true, b.o.Dir
	o.JetStreamMaxStore, o.JetStreamMaxMemory, o.SyncInterval = 1<<60, 80<<20, time.Hour // the memory of both accounts
	o.MaxPayload, o.MaxPending, o.MaxControlLine, o.MaxSubs = payloadMost, pendingMost, controlLine, subscriptionsMost
	o.AuthTimeout, o.TLSTimeout, o.WriteDeadline = loginWait.Seconds(), loginWait.Seconds(), writeWait
	o.ProxyProtocol, o.TLSConfig = true, b.o.TLS
	o.CustomClientAuthentication = authenticator{b}
	b.o.Hub.join(o)
	o.MaxClosedClients = 1       // the server remembers closed connections with all their subscriptions
	o.NoFastProducerStall = true // a slow client must not slow down the others
	return o, nil
}

// prefixesOf returns the beginnings of the subjects of the logs.
func prefixesOf(b *Bus) (list []string) {
	for _, c := range b.copies {
		list = append(list, c.log.Prefix())
	}
	return list
}

// streamDir is the folder of a stream in an account.
func (b *Bus) streamDir(account, name string) string {
	return filepath.Join(b.o.Dir, server.JetStreamStoreDir, account, "streams", name)
}

// URL is where clients connect.
func (b *Bus) URL() string {
	if b == nil {
		return ""
	}
	scheme := "nats://"
	if b.o.TLS != nil {
		scheme = "tls://"
	}
	return scheme + b.gate.listener.Addr().String()
}

// Publish publishes the message of an event that is not recorded. It waits for no client. Clients that are not connected miss it.
func (b *Bus) Publish(m store.Message) {
	if b == nil {
		return
	}
	if _, conn := b.now(); conn != nil {
		header, data := onBus(m)
		var buffer store.MessageBuffer
		message := buffer.Of(m.Subject, header, data)
		for _, c := range b.copies {
			if strings.HasPrefix(m.Subject, c.log.Prefix()) {
				message.Header.Set("Nats-Stream", c.log.Name())
			}
		}
		b.memory.reserve(m.Subject, int64(message.Size()))
		_ = conn.PublishMsg(message)
	}
}

// Stats is the state of a copy.
type Stats struct {
	Stream string
	// Lag is how many events the log shows that the copy does not have yet.
	Lag uint64
}

// Stats returns the state of each copy.
func (b *Bus) Stats() (list []Stats) {
	if b == nil {
		return nil
	}
	for _, c := range b.copies {
		list = append(list, Stats{c.log.Name(), c.lag()})
	}
	return list
}

// hasReaders reports whether clients can be waiting for copies: a NATS client has logged in, or the bus belongs to a cluster.
func hasReaders(b *Bus) bool {
	if b.o.Hub != nil {
		return true
	}
	for _, s := range b.gate.loggedIn() {
		if s.protocol == overNATS {
			return true
		}
	}
	return false
}

// Warnings returns warnings for an operator: of a server that does not run, and of copies that lag far behind.
func (b *Bus) Warnings() (list []string) {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	failed, running := b.failed, b.conn != nil
	b.mu.Unlock()
	if failed != nil && !running {
		return []string{fmt.Sprintf("NATS clients are not served: %v; it is tried again every %s", failed, retryPause)}
	}
	for _, s := range b.Stats() {
		if s.Lag > mostLag && hasReaders(b) {
			list = append(list, fmt.Sprintf("NATS clients are %d events of %s behind: the machine is too busy, or the disk of %s is slow or full",
				s.Lag, s.Stream, b.o.Dir))
		}
	}
	if n := b.edgex.Waiting(); n > mostLag {
		list = append(list, fmt.Sprintf("%d messages of EdgeX services wait: the machine is too busy, or the disk is slow or full", n))
	}
	return list
}

// Close cuts off all clients and stops the server.
func (b *Bus) Close() {
	if b == nil {
		return
	}
	b.stop()
	b.gate.listener.Close()
	for _, l := range b.others {
		l.Close()
	}
	b.running.Wait()
	b.gate.working.Wait()
}

// Package tap is the server for taps: other people's NATS clients, which see live what is recorded, read history, and can change nothing.
//
// [Server] is a NATS server without JetStream. It does not listen itself: a proxy accepts the clients, checks their logins and
// enforces their limits. What is recorded comes in through [Server.Publish]. Requests for history are answered from a [Source]. What
// waits for all clients together is bounded: clients that read too slowly are cut off.
package tap

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"ledge/domain"
	"ledge/store/natsserver"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Options configures [Start]. All fields are optional.
type Options struct {
	// Host and Port are where taps connect after [Server.Listen]. The default host is 127.0.0.1; port 0 is any free one.
	Host string
	Port int
	// Connections is the most connections of taps at a time, half of them from one address; the default is 64.
	Connections int
	// Descriptors is how many descriptors all connections of NATS clients may have together; 0 is no limit.
	Descriptors int
	// Memory is the most that waits in memory for all NATS clients together, in bytes; the default is 40 MiB, the least 34 MiB.
	Memory int64
	// TLS has taps use TLS: NATS clients upgrade after the server's first line, without application protocols. nil is none.
	TLS *tls.Config
	// Login returns the identity of a client, by the user and password or by the token that it sends; address is its IP address. The error
	// of a refusal is a domain.Error. nil is open mode: nobody logs in.
	Login func(ctx context.Context, user, password, token, address string) (domain.Identity, error)
	// Still reports whether an identity that has logged in is what it was then: its user or token was not removed or changed, and it has not
	// expired. It must be quick. nil is always. See [Server.Recheck].
	Still func(domain.Identity) bool
	// Logger receives what the server reports; nil is slog.Default.
	Logger *slog.Logger
}

const (
	// MessageMost is the largest message on a log, in bytes.
	MessageMost = 32 << 20
	// addedHeaders is for the headers that an answer, or a live message, has in addition, in bytes.
	addedHeaders = 4 << 10
	// pendingMost is the most that waits for one client, in bytes: a message of the log and its headers must fit.
	pendingMost = MessageMost + 1<<20
	// loginWait is how long a client may take to log in.
	loginWait = 2 * time.Second
	// measureEvery is how often what waits for clients is measured, at the least.
	measureEvery = 100 * time.Millisecond
)

// ErrListen is in the chain of the error when taps cannot be listened for.
var ErrListen = errors.New("no listener for taps")

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

// secured reports whether clients need TLS or an identity.
func (o Options) secured() bool { return o.TLS != nil || o.Login != nil }

// listen listens for clients. The error says which settings to change, and has [ErrListen] in its chain.
func (o Options) listen(ctx context.Context) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(o.Host, strconv.Itoa(o.Port)))
	if err != nil {
		return nil, fmt.Errorf("settings tap-host and tap-port: %w: %w; stop what uses the address, choose another, or set tap-port to -1 for no taps", ErrListen, err)
	}
	return l, nil
}

// Check reports whether taps can be listened for, before anything is opened: it turns "address already in use" into a line that
// says what to change. A nil Options is no taps.
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

// Server serves NATS clients what is recorded, live and on request. It is apart from the server of the logs: it has no JetStream, and other
// limits. All methods can be called on nil, which is a server that nobody can reach.
type Server struct {
	*proxy
	memory  *memory
	history *history
	feed    *nats.Conn // publishes what clients see live
	secret  string     // the password of our own connections
	o       Options

	stop    context.CancelFunc
	running sync.WaitGroup
}

// Start returns a server that answers requests for history, and lets no clients in yet.
func Start(ctx context.Context, o Options, logs Source) (*Server, error) {
	o = o.withDefaults()
	c, password := &server.Options{}, rand.Text()
	p := newProxy(o)
	if err := c.ProcessConfigString(accounts(logs.Logs(), password, p.most, o.Login != nil)); err != nil {
		return nil, fmt.Errorf("tap server: accounts: %w", err)
	}
	c.ServerName = "ledge"
	c.MaxPayload, c.MaxPending, c.MaxControlLine, c.MaxSubs = MessageMost+addedHeaders, pendingMost, controlLine, subscriptionsMost
	c.AuthTimeout, c.WriteDeadline = loginWait.Seconds(), time.Minute // the proxy looks at each client's own
	if o.secured() {
		c.AuthTimeout = time.Minute.Seconds() // likewise: a handshake and a check of the login come first
	}
	if o.Login != nil {
		c.CustomClientAuthentication = newAuthenticator(p, c.Users)
	}
	c.MaxClosedClients = 1       // the server remembers closed connections with all their subscriptions
	c.NoFastProducerStall = true // a slow tap must not slow down the others
	var err error
	if p.server, err = natsserver.Start(ctx, c, o.Logger, p.client); err != nil {
		return nil, err
	}
	t := &Server{proxy: p, memory: newMemory(p, o.Memory), secret: password, o: o}
	if t.feed, err = natsserver.Connect(t.server, "feed", ledgeUser, password); err == nil {
		t.history = newHistory(t, logs)
		err = t.history.start()
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// Listen lets clients in. Call it when the state shows the logs: a tap can ask the API about all that it sees.
func (s *Server) Listen(ctx context.Context) (err error) {
	if s == nil {
		return nil
	}
	if s.listener, err = s.o.listen(ctx); err != nil {
		return err
	}
	ctx, s.stop = context.WithCancel(context.Background())
	s.running.Go(s.run)
	if s.check != nil {
		s.running.Go(func() { s.recheckAgain(ctx) })
	}
	s.running.Go(func() { s.memory.watch(ctx) })
	return nil
}

// URL is where taps connect, without a login, to see what happens live; empty before [Server.Listen].
func (s *Server) URL() string {
	if s == nil || s.listener == nil {
		return ""
	}
	scheme := "nats://"
	if s.tls != nil {
		scheme = "tls://"
	}
	return scheme + s.listener.Addr().String()
}

// Clients returns the number of clients that have logged in.
func (s *Server) Clients() int {
	if s == nil {
		return 0
	}
	return s.clients()
}

// Publish publishes a live message, and reports whether it may wait for its clients. If not, it is published to nobody. It may wait a
// moment for clients to read.
func (s *Server) Publish(m *nats.Msg) bool {
	if s == nil || !s.memory.reserve(int64(m.Size())*int64(s.copies(m.Subject))) {
		return false
	}
	_ = s.feed.PublishMsg(m) // a lost one shows in the sequence
	return true
}

// Flush hands the messages that were published over to the server.
func (s *Server) Flush() {
	if s != nil {
		_ = s.feed.Flush()
	}
}

// copies returns how often a live message is sent.
func (s *Server) copies(subject string) (n int) {
	for _, name := range []string{tapAccount, historyAccount} {
		if a, err := s.server.LookupAccount(name); err == nil {
			n += a.Interest(subject)
		}
	}
	return n
}

// Close cuts off all clients and stops the server.
func (s *Server) Close() {
	if s == nil {
		return
	}
	s.history.close()
	if s.stop != nil {
		s.stop()
	}
	s.close()
	if s.feed != nil {
		s.feed.Close()
	}
	s.running.Wait()
	natsserver.Stop(s.server)
}

package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// taps is the server for NATS clients. It is apart from the log's server: it has no JetStream, and other limits. Clients come in
// through the proxy; feed publishes what they see live, and [history] answers their questions.
type taps struct {
	*proxy
	memory *tapMemory
	feed   *nats.Conn
	secret string // the password of our own connections
	o      Options

	stop    context.CancelFunc
	running sync.WaitGroup
}

// tapServer serves NATS clients what is recorded, live and on request. It has neither if nothing is listened on.
type tapServer struct {
	taps    *taps
	history *history
}

// serve is ready for clients, and lets none in yet.
func (t *tapServer) serve(ctx context.Context, s *Store) (err error) {
	if t.taps, err = startTaps(ctx, s.o); err != nil {
		return err
	}
	t.history = newHistory(t.taps, s)
	return t.history.start()
}

// ListenForTaps lets NATS clients in. Call it when the state shows the logs: a tap can ask the API about all that it sees.
func (t *tapServer) ListenForTaps(ctx context.Context) error {
	if t.taps == nil {
		return nil
	}
	return t.taps.listen(ctx)
}

// TapURL is where taps connect, without a login, to see what happens live; empty before [Store.ListenForTaps], and without a listener.
func (t *tapServer) TapURL() string { return t.taps.url("") }

// TapClients is how many clients the tap has.
func (t *tapServer) TapClients() int {
	if t.taps == nil {
		return 0
	}
	return t.taps.clients()
}

func (t *tapServer) shut() {
	t.history.close()
	t.taps.close()
}

// LeastTapMemory is the least TapMemory, in bytes.
const LeastTapMemory = 34 << 20

const (
	// tapPending is the most that waits for one client, in bytes: a message of the log and its headers must fit.
	tapPending = maxPayload + 1<<20
	// tapLoginWait is how long a client may take to log in.
	tapLoginWait = 2 * time.Second
	// tapMeasured is how often what waits for clients is measured, at the least.
	tapMeasured = 100 * time.Millisecond
)

// startTaps listens for NATS clients.
func startTaps(ctx context.Context, o Options) (*taps, error) {
	c, password := &server.Options{}, rand.Text()
	d := newProxy(o)
	if err := c.ProcessConfigString(tapAccounts(password, d.most, o.Login != nil)); err != nil {
		return nil, fmt.Errorf("tap server: accounts: %w", err)
	}
	c.ServerName = "ledge"
	c.MaxPayload, c.MaxPending, c.MaxControlLine, c.MaxSubs = maxPayload+addedHeaders, tapPending, tapControlLine, tapSubscriptions
	c.AuthTimeout, c.WriteDeadline = tapLoginWait.Seconds(), time.Minute // the proxy looks at each client's own
	if o.secured() {
		c.AuthTimeout = time.Minute.Seconds() // likewise: a handshake and a check of the login come first
	}
	if o.Login != nil {
		c.CustomClientAuthentication = newAuthenticator(d, c.Users)
	}
	c.MaxClosedClients = 1       // the server remembers closed connections with all their subscriptions
	c.NoFastProducerStall = true // a slow tap must not slow down the others
	logs := newServerLog(o.Logger)
	logs.client = d.client
	var err error
	if d.server, err = startServer(ctx, c, logs); err != nil {
		return nil, err
	}
	t := &taps{proxy: d, memory: newTapMemory(d, o.TapMemory), secret: password, o: o}
	if t.feed, err = connectIn(t.server, "feed", ledgeUser, password); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// listen lets clients in.
func (t *taps) listen(ctx context.Context) (err error) {
	o := t.o
	address := net.JoinHostPort(o.TapHost, strconv.Itoa(o.TapPort))
	if t.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", address); err != nil {
		return errListen(err)
	}
	ctx, t.stop = context.WithCancel(context.Background())
	t.running.Go(t.run)
	if o.Login != nil {
		t.running.Go(func() { t.recheckAgain(ctx) })
	}
	t.running.Go(func() { t.memory.watch(ctx) })
	return nil
}

// room reports whether a live message of n bytes, which may be copied several times, may wait for its clients.
func (t *taps) room(subject string, n int) bool {
	return t.memory.room(int64(n) * int64(t.copies(subject)))
}

// copies returns how often a live message is sent.
func (t *taps) copies(subject string) (n int) {
	for _, name := range []string{tapAccount, historyAccount} {
		if a, err := t.server.LookupAccount(name); err == nil {
			n += a.Interest(subject)
		}
	}
	return n
}

// tapped reports whether any client is connected: live messages before that are for nobody.
func (t *taps) tapped() bool { return t != nil && t.clients() > 0 }

// url is where clients connect with a login, empty without a listener.
func (t *taps) url(login string) string {
	if t == nil || t.listener == nil {
		return ""
	}
	scheme := "nats://"
	if t.tls != nil {
		scheme = "tls://"
	}
	return scheme + login + t.listener.Addr().String()
}

func (t *taps) close() {
	if t == nil {
		return
	}
	if t.stop != nil {
		t.stop()
	}
	t.proxy.close()
	if t.feed != nil {
		t.feed.Close()
	}
	t.running.Wait()
	t.server.Shutdown()
	t.server.WaitForShutdown()
}

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
	maxPayload = 32 << 20 // of a message on the log, in bytes
	// addedHeaders is room for the headers that an answer, or a live message, has in addition.
	addedHeaders = 4 << 10
	// maxPending is how much the server keeps for one of our connections; it must be more than one payload.
	maxPending = 64 << 20
	// unlimited disk as far as the server is concerned: the reserve is kept by us, with an answer that says so.
	maxStore = 1 << 60
	// never is how often the server syncs by itself: Linux may report a failed fsync to whoever asks first, and no more.
	never = 10 * 365 * 24 * time.Hour
	// healthWait is how long a server may be unready before it is believed that it is.
	healthWait = 10 * time.Second
	// healthAsks is how often it is asked meanwhile.
	healthAsks = 100
)

// node is the server of the log, in this process. It listens nowhere; taps have [taps].
type node struct {
	opts   *server.Options
	server *server.Server
	write  *nats.Conn
}

func startNode(ctx context.Context, o Options) (*node, error) {
	n, password := &node{}, rand.Text()
	if err := n.configure(o, password); err != nil {
		return nil, err
	}
	var err error
	if n.server, err = startServer(ctx, n.opts, newServerLog(o.Logger)); err != nil {
		return nil, err
	}
	if n.write, err = connectIn(n.server, "append", ledgeUser, password); err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

// startServer starts a server that does not listen by itself.
func startServer(ctx context.Context, c *server.Options, logs *serverLog) (*server.Server, error) {
	c.DontListen, c.NoSigs = true, true
	s, err := server.NewServer(c)
	if err != nil {
		return nil, fmt.Errorf("nats server: %w", err)
	}
	s.SetLoggerV2(logs, false, false, false)
	s.Start()
	select {
	case line := <-logs.fatal:
		err = fmt.Errorf("nats server: %s", line)
	default:
		if err = ctx.Err(); err == nil {
			return s, nil
		}
	}
	s.Shutdown()
	s.WaitForShutdown()
	return nil, err
}

func (n *node) configure(o Options, password string) error {
	c := &server.Options{}
	if err := c.ProcessConfigString(logAccounts(password)); err != nil {
		return fmt.Errorf("nats server: accounts: %w", err)
	}
	c.ServerName, c.DisableJetStreamBanner = "ledge", true
	c.JetStream, c.StoreDir = true, o.Dir
	c.JetStreamMaxStore, c.JetStreamMaxMemory, c.SyncInterval = maxStore, 16<<20, never
	c.MaxPayload, c.MaxPending = maxPayload, maxPending
	n.opts = c
	return nil
}

// ErrListen is in the chain of the error when taps cannot be listened for.
var ErrListen = errors.New("no listener for taps")

// CheckTap reports whether taps can be listened for, before anything is opened: it turns "address already in use" into a line
// that says what to change.
func (o Options) CheckTap(ctx context.Context) error {
	o = o.withDefaults()
	if o.TapPort <= 0 {
		return nil
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(o.TapHost, strconv.Itoa(o.TapPort)))
	if err != nil {
		return errListen(err)
	}
	return l.Close()
}

func errListen(err error) error {
	return fmt.Errorf("settings tap-host and tap-port: %w: %w; stop what uses the address, choose another, or set tap-port to -1 for no taps", ErrListen, err)
}

// connectIn connects to a server in this process.
func connectIn(s *server.Server, name, user, password string) (*nats.Conn, error) {
	nc, err := nats.Connect("", nats.InProcessServer(s), nats.Name("ledge-"+name), nats.UserInfo(user, password),
		nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0), nats.NoEcho(),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		return nil, fmt.Errorf("connect in process: %w", err)
	}
	return nc, nil
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

func (n *node) close() {
	if n.write != nil {
		n.write.Close()
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

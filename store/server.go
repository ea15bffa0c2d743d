package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"ledge/store/natsblock"
	"ledge/store/natsserver"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

const (
	maxPayload = 32 << 20 // of a message on the log, in bytes
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

// user is the login of our connections to the server of the log.
const user = "ledge"

// logAccounts is the configuration of the log's server: LEDGE holds the streams and our connections. Nobody else has a login.
func logAccounts(password string) string {
	return fmt.Sprintf("accounts { %s { jetstream: enabled, users: [{user: %s, password: %q}] } }\n", accountName, user, password)
}

// node is the server of the log, in this process. It listens nowhere; the clients of others have a server of their own, package bus.
type node struct {
	server   *server.Server
	password string
	conns    []*nats.Conn
	write    *nats.Conn // for requests to the server
}

func startNode(ctx context.Context, o Options) (*node, error) {
	password := rand.Text()
	c, err := o.server(password)
	if err != nil {
		return nil, err
	}
	n := &node{password: password}
	if n.server, err = natsserver.Start(ctx, c, o.Logger, nil); err != nil {
		return nil, err
	}
	if n.write, err = n.connect("requests"); err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

// connect returns a connection that ends with the node.
func (n *node) connect(name string) (*nats.Conn, error) {
	conn, err := natsserver.Connect(n.server, name, user, n.password)
	if err == nil {
		n.conns = append(n.conns, conn)
	}
	return conn, err
}

// restart starts the server again. After an error the node stays as it is, closed: it refuses what is asked of it.
func (n *node) restart(ctx context.Context, o Options) error {
	n.close()
	again, err := startNode(ctx, o)
	if err == nil {
		*n = *again
	}
	return err
}

// server returns the options of the server of the log, whose only login has a password.
func (o Options) server(password string) (*server.Options, error) {
	c := &server.Options{}
	if err := c.ProcessConfigString(logAccounts(password)); err != nil {
		return nil, fmt.Errorf("nats server: accounts: %w", err)
	}
	c.ServerName, c.DisableJetStreamBanner = "ledge", true
	c.JetStream, c.StoreDir = true, o.Dir
	c.JetStreamMaxStore, c.JetStreamMaxMemory, c.SyncInterval = maxStore, 16<<20, never
	c.MaxPayload, c.MaxPending = maxPayload, maxPending
	return c, nil
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
	for _, conn := range n.conns {
		conn.Close()
	}
	if n.server != nil {
		natsserver.Stop(n.server)
	}
}

// streamDir is the folder of a stream below the store's.
func streamDir(dir, name string) string {
	return filepath.Join(dir, server.JetStreamStoreDir, accountName, "streams", name)
}

const apiWait = 10 * time.Second

// streamConfig is what the server is told about a stream. There is no compression, no asynchronous persistence and no
// window of message ids: the first two lose acknowledged messages, the third costs memory and start-up time. The server
// removes nothing by age or bytes: who removes does it with [Log.DropBefore].
func streamConfig(st stream) server.StreamConfig {
	c := server.StreamConfig{
		Name: st.name, Subjects: []string{st.ingest + ">"},
		SubjectTransform: &server.SubjectTransformConfig{Source: st.ingest + ">", Destination: st.public + ">"},
		Retention:        server.LimitsPolicy, Storage: server.FileStorage, Discard: server.DiscardOld, Replicas: 1,
		MaxConsumers: -1, MaxMsgs: -1, MaxMsgsPer: -1, MaxMsgSize: -1, MaxBytes: -1,
		Duplicates: 100 * time.Millisecond,
		DenyDelete: st.forever, // no DenyPurge: what is archived leaves the log, and nobody else is in this account
	}
	return c
}

// asked reports whether the stream that the server has is the one that want describes. The server fills in more than
// it is told, so only what we set is compared.
func asked(have, want server.StreamConfig) bool {
	return have.MaxAge == want.MaxAge && have.MaxBytes == want.MaxBytes && have.DenyDelete == want.DenyDelete &&
		have.DenyPurge == want.DenyPurge && have.Duplicates == want.Duplicates && have.Compression == want.Compression &&
		len(have.Subjects) == 1 && have.Subjects[0] == want.Subjects[0] &&
		have.SubjectTransform != nil && *have.SubjectTransform == *want.SubjectTransform
}

type streamResponse struct {
	Error *server.ApiError `json:"error"`
	*server.StreamInfo
}

// callStream calls the JetStream API: a verb such as INFO or CREATE of a stream. It returns what the server knows of the stream then.
func callStream(ctx context.Context, nc *nats.Conn, verb, name string, request any) (*server.StreamInfo, error) {
	var r streamResponse
	if err := callAPI(ctx, nc, verb, name, request, &r, func() *server.ApiError { return r.Error }); err != nil {
		return nil, err
	}
	if r.StreamInfo == nil {
		return nil, fmt.Errorf("stream %s: %s: empty answer", name, verb)
	}
	return r.StreamInfo, nil
}

// callAPI asks the JetStream API about a stream and decodes the answer; refusal returns the error in it, if there is one.
func callAPI(ctx context.Context, nc *nats.Conn, verb, name string, request, answer any, refusal func() *server.ApiError) error {
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	m, err := nc.RequestWithContext(ctx, streamAPI+verb+"."+name, body)
	if err != nil {
		return fmt.Errorf("stream %s: %s: %w", name, verb, err)
	}
	if err := json.Unmarshal(m.Data, answer); err != nil {
		return fmt.Errorf("stream %s: %s: %w", name, verb, err)
	}
	if r := refusal(); r != nil {
		return fmt.Errorf("stream %s: %s: %w", name, verb, r)
	}
	return nil
}

// layoutStream is there only while a start tests the layout of block files.
const layoutStream = "LEDGE_SELFTEST"

// removeLayoutStream removes what is left of a test. The server puts a dot before the name of a stream that it removes, and says that it is
// unwell while the folder is there.
func (o Options) removeLayoutStream() error {
	return errors.Join(os.RemoveAll(streamDir(o.Dir, layoutStream)), os.RemoveAll(streamDir(o.Dir, "."+layoutStream)))
}

// testLayout proves that the server has written what it acknowledges to the block file that is synced for each group. It returns natsblock.ErrLayout
// if the message is not there. If the disk is full or the server cannot write, nothing can be acknowledged and nothing is proved; then
// [natsblock.Files.SyncGroup] still checks that the files grow with the first group.
func (s *Store) testLayout(ctx context.Context) error {
	if free, err := s.o.FreeBytes(s.o.Dir); err == nil && free < uint64(s.o.ReserveBytes) {
		return nil
	}
	err := s.node.testLayout(ctx, s.o)
	if err == nil || errors.Is(err, natsblock.ErrLayout) || ctx.Err() != nil {
		return err
	}
	s.o.Logger.Warn("the layout of the block files is not tested, because nothing can be written", "error", err)
	return s.node.restart(ctx, s.o) // as after any failed write
}

func (n *node) testLayout(ctx context.Context, o Options) (err error) {
	ctx, cancel := context.WithTimeout(ctx, o.AckTimeout)
	defer cancel()
	const subject = appendPrefix + "selftest"
	c := server.StreamConfig{Name: layoutStream, Subjects: []string{subject}, Storage: server.FileStorage, Replicas: 1, MaxMsgs: -1, MaxBytes: -1}
	if _, err := callStream(ctx, n.write, "CREATE", layoutStream, c); err != nil {
		return err
	}
	defer func() {
		_, derr := n.write.RequestWithContext(ctx, streamAPI+"DELETE."+layoutStream, nil)
		err = errors.Join(err, derr, o.removeLayoutStream())
	}()
	m := &nats.Msg{Subject: subject, Header: nats.Header{headerFence: {"0"}}, Data: bytes.Repeat([]byte("ledge"), 100)} // all events have headers
	ack, err := n.write.RequestMsgWithContext(ctx, m)
	if err != nil {
		return fmt.Errorf("stream %s: append: %w", layoutStream, err)
	}
	if !isAck(ack.Data, layoutStream, 1) {
		return fmt.Errorf("stream %s: append: %s", layoutStream, ack.Data)
	}
	files := natsblock.FilesOf(o.streamDir(o.Dir, layoutStream))
	r, rerr := files.First(1)
	found := false
	if rerr == nil {
		_, _, data := r.Parts()
		found = r.Seq() == 1 && bytes.Equal(data, m.Data)
	}
	if !found {
		return fmt.Errorf("%w: a message that it acknowledged is not in %s (%v); "+
			"the NATS server in this build writes another layout than Ledge knows: use a released build", natsblock.ErrLayout, files.Dir, rerr)
	}
	return nil
}

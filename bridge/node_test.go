package bridge_test

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"ledge/bridge"
	"ledge/bridge/delivery"
	"ledge/bridge/porttest"
	"ledge/bridge/sockets"
	"ledge/bridge/zeromq"
	"ledge/domain"
	"ledge/domain/history"
	"ledge/projections"
	"ledge/store"
)

// node is the real log, state and sockets that the engine works on; the engine is started by the test.
type node struct {
	tb                    testing.TB
	store                 *store.Store
	state, notes          *projections.DB
	events, notifications *store.Appender
	entities              *history.Entities
	sockets               sockets.Sockets
	engine                *bridge.Engine
	refuse                func(call, i int) bool
	refusal               func(domain.Command) error // why the log refuses a command, if it does
	looked                func()                     // after each look of the delivery
	ahead                 atomic.Int64               // nanoseconds that the engine's clock is ahead
	binding               func()                     // before the engine binds a socket
	logger                *slog.Logger               // of the engine
	rest, mail            delivery.Sender            // of REST and e-mail channels; for REST poster, if it is nil
	still                 time.Time                  // the delivery's clock stands here, but for ahead
	interval              int64                      // milliseconds between the tries of what is posted
	growing               bool                       // they double
}

const hangs = time.Minute

func mustNode(tb testing.TB) *node {
	tb.Helper()
	dir := tb.TempDir()
	logger := slog.New(slog.DiscardHandler)
	n := &node{tb: tb, logger: logger, binding: func() {}, sockets: sockets.Sockets{Sockets: zeromq.NewSockets(zeromq.Options{Logger: logger, QueueMessages: 1 << 16, QueueBytes: 16 << 20})}, interval: 1, growing: true}
	var err error
	if n.store, err = store.Open(tb.Context(), store.Options{Dir: filepath.Join(dir, "nats"), ReserveBytes: 1, Logger: logger}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { n.store.Close() })
	n.state, n.events = n.open(filepath.Join(dir, "state.db"), projections.Events, n.store.Events())
	n.entities = &history.Entities{State: n.state.State, Last: func() uint64 { seq, _ := n.state.Checkpoint(); return seq }, History: n.history}
	n.notes, n.notifications = n.open(filepath.Join(dir, "notifications.db"), projections.Notifications, n.store.Notifications())
	tb.Cleanup(func() { n.sockets.Close(0) })
	tb.Cleanup(n.stopEngine)
	n.do(domain.AddService{Service: domain.DeviceService{ID: uuid.NewString(), Name: "svc", BaseAddress: "http://localhost:1", AdminState: domain.StateUnlocked}},
		domain.AddProfile{Profile: domain.Profile{ID: uuid.NewString(), Name: "profile"}})
	return n
}

func (n *node) open(path string, tables projections.Tables, log *store.Log) (*projections.DB, *store.Appender) {
	n.tb.Helper()
	db, err := projections.Open(projections.Options{Path: path, Tables: tables, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		n.tb.Fatal(err)
	}
	n.tb.Cleanup(func() { db.Close() })
	a, err := store.NewAppender(n.tb.Context(), log, db, store.AppenderOptions{})
	if err != nil {
		n.tb.Fatal(err)
	}
	n.tb.Cleanup(func() { a.Close() })
	return db, a
}

// do has commands recorded on the event stream, each of which must make an event.
func (n *node) do(cmds ...domain.Command) (last uint64) {
	n.tb.Helper()
	return n.submit(n.events, cmds...)
}

func (n *node) submit(to *store.Appender, cmds ...domain.Command) (last uint64) {
	n.tb.Helper()
	for _, c := range cmds {
		out, err := to.Submit(n.tb.Context(), domain.Request{Stamp: domain.Stamp{EventID: uuid.NewString(), At: time.Now().UTC(), Actor: "test"}, Command: c})
		if err != nil || out[0].Err != nil || out[0].Event == nil {
			n.tb.Fatalf("%T: %v %v", c, out, err)
		}
		last = out[0].Seq
	}
	return last
}

// startEngine starts the bridge where the projections are; a test may start it again after stopEngine.
func (n *node) startEngine() {
	n.tb.Helper()
	view, done := n.state.View()
	defer done()
	notes, notesDone := n.notes.State()
	defer notesDone()
	k := bridge.Known{Lists: view, Cursors: notes.Cursors}
	k.Events, _ = n.state.Checkpoint()
	k.Notifications, _ = n.notes.Checkpoint()
	at, err := bridge.StartAt(k)
	if err != nil {
		n.tb.Fatal(err)
	}
	n.engine = bridge.New(bridge.Options{
		Events: history.Followed{Log: n.events, Entities: n.entities}, Notifications: &refusing{Appender: n.notifications, refuse: n.refuse, refusal: n.refusal}, Sockets: binding{n.sockets, n}, Now: n.clock, Logger: n.logger,
		Recorded: func() uint64 { seq, _ := n.state.Checkpoint(); return seq },
		History:  n.entities.Read,
		Noted:    func() uint64 { seq, _ := n.notes.Checkpoint(); return seq },
		Pending:  n.pending,
	})
	if err := n.engine.Start(context.Background(), at); err != nil {
		n.tb.Fatal(err)
	}
}

// standStill has the clock stand, but for what a test adds to ahead.
func (n *node) standStill() { n.still = time.Now() }

func (n *node) clock() time.Time {
	if !n.still.IsZero() {
		return n.still.Add(time.Duration(n.ahead.Load()))
	}
	return time.Now().Add(time.Duration(n.ahead.Load()))
}

func (n *node) history(ctx context.Context, from, to uint64, f func(domain.Recorded) error) error {
	for r, err := range n.store.Events().Read(ctx, from, to) {
		if err != nil {
			return err
		}
		if err := f(r); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) stopEngine() {
	if n.engine != nil {
		n.engine.Close()
		n.engine = nil
	}
}

func (n *node) pending() ([]domain.Notification, error) {
	view, done := n.notes.View()
	defer done()
	return bridge.PendingIn(view.Notifications)
}

// processed waits until so many notifications have their outcome, and returns all, the oldest first.
func (n *node) processed(want int) []domain.Notification {
	n.tb.Helper()
	ctx, cancel := context.WithTimeout(n.tb.Context(), hangs)
	defer cancel()
	for seq := uint64(1); ; seq++ {
		view, done := n.notes.View()
		at, _ := n.notes.Checkpoint()
		list, _, err := view.Notifications(domain.Page{Limit: 1000}, domain.Filter{Index: domain.IndexStatus, Value: domain.StatusProcessed})
		done()
		if err != nil {
			n.tb.Fatal(err)
		}
		if len(list) >= want {
			slices.SortFunc(list, func(a, b domain.Notification) int { return int(a.Cause) - int(b.Cause) })
			return list
		}
		if err := n.notes.Wait(ctx, at+1); err != nil {
			n.tb.Fatalf("%d of %d notifications processed: %v", len(list), want, err)
		}
	}
}

func (n *node) transmissions() []domain.Transmission {
	n.tb.Helper()
	view, done := n.notes.View()
	defer done()
	list, _, err := view.Transmissions(domain.Page{Limit: 1000})
	if err != nil {
		n.tb.Fatal(err)
	}
	return list
}

func device(name string) domain.Device {
	return domain.Device{
		ID: uuid.NewString(), Name: name, AdminState: domain.StateUnlocked, OperatingState: domain.StateUp, ServiceName: "svc",
		ProfileName: "profile", Protocols: map[string]map[string]string{"other": {}},
	}
}

func subscription(name string, channels ...domain.Channel) domain.Subscription {
	return domain.Subscription{
		ID: uuid.NewString(), Name: name, Receiver: "r", AdminState: domain.StateUnlocked,
		Categories: []string{domain.DeviceChanged}, Channels: channels,
	}
}

// subscribeElsewhere adds a subscription that no device change matches: without any, changes raise no notification.
func (n *node) subscribeElsewhere() {
	n.tb.Helper()
	s := subscription("elsewhere", domain.Channel{Type: "REST", Host: "h", Port: 1, Path: "/", HTTPMethod: "POST"})
	s.Categories = []string{"elsewhere"}
	n.do(domain.AddSubscription{Subscription: s})
}

// channel is a ZeroMQ channel on a port of its own.
func channel(tb testing.TB) domain.Channel {
	tb.Helper()
	return domain.Channel{Type: domain.ChannelZeroMQ, Host: "127.0.0.1", Port: porttest.Hold(tb), Topic: "t"}
}

// binding are the real sockets; the node is told before one is bound.
type binding struct {
	sockets.Sockets
	node *node
}

// Acquire implements bridge.Sockets.
func (b binding) Acquire(ch domain.Channel) error {
	b.node.binding()
	return b.Sockets.Acquire(ch)
}

// refusing is the real log, but for the requests that refuse names: these are answered as a full disk answers them, or as refusal says.
type refusing struct {
	*store.Appender
	refuse  func(call, i int) bool
	refusal func(domain.Command) error
	calls   atomic.Int64
}

// Submit implements bridge.Log.
func (r *refusing) Submit(ctx context.Context, reqs ...domain.Request) ([]domain.Outcome, error) {
	call := int(r.calls.Add(1))
	out := make([]domain.Outcome, len(reqs))
	var pass []domain.Request
	var at []int
	for i := range reqs {
		if r.refuse != nil && r.refuse(call, i) {
			out[i].Err = domain.Errorf(domain.Full, "the disk is full")
			continue
		}
		if r.refusal != nil {
			if out[i].Err = r.refusal(reqs[i].Command); out[i].Err != nil {
				continue
			}
		}
		pass, at = append(pass, reqs[i]), append(at, i)
	}
	got, err := r.Appender.Submit(ctx, pass...)
	for i, o := range got {
		out[at[i]] = o
	}
	return out, err
}

// logTo has the engine log as text.
func (n *node) logTo(w io.Writer) { n.logger = slog.New(slog.NewTextHandler(w, nil)) }

// Package lanes sends what waits for endpoints outside, in order, and so that no endpoint costs another one anything.
//
// Items of one entity at one target form a lane: an item is sent when the one before it has its outcome. A server that cannot be reached
// pauses, and so does a target that answers with errors again and again. A worker for each target decides what is sent next.
// [Options].Open and [Attempt] say what an item is and record what became of it, so that transmissions and callbacks share all this.
package lanes

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"ledge/bridge/limiter"
	"ledge/domain"
)

// Attempt is one try of an item.
type Attempt interface {
	// Send sends the item. Its error may say more by the methods of an outward.Error.
	Send(ctx context.Context) error
	// Record records the outcome: that of Send, or that the endpoint is paused. It reports whether the item has its final outcome.
	Record(err error) (final bool)
}

// DefaultConcurrency is the default of Limits.Concurrency.
const DefaultConcurrency = 128

// Limits bound the sends and what waits for them. Zero means the default.
type Limits struct {
	// AtOnce is the largest number of concurrent sends to one server: 16; see window. Concurrency is that of all servers that are not slow:
	// DefaultConcurrency; see package limiter. Queue is how many items of one target are in memory: 10,000. Together is how many items of all
	// targets are in memory: 50,000, in shares ([domain.Share]). A target may have AtOnce items beside them, so that it can send. The other items
	// stay on record until there is room.
	AtOnce, Concurrency, Queue, Together int
	// Timeout is for one send: 10 s. LongestPause is the longest time between two probes of an endpoint that fails: 5 s.
	Timeout, LongestPause time.Duration
}

// Options wires Lanes.
type Options struct {
	Limits
	// Of says in the log what is sent, such as "notifications".
	Of string
	// Open returns the next try of an item; false if the item is gone.
	Open func(Item) (Attempt, bool)
	// Load hands the recorded items of a target to add, the oldest first, until that returns false. It is called when there is room again
	// for items that did not fit the queue.
	Load func(target string, add func(Item) bool) error
	// Now is the clock, with the monotonic reading of [time.Now].
	Now    func() time.Time
	Logger *slog.Logger
}

// Lanes are the running queues of all targets.
type Lanes struct {
	Options
	limiter *limiter.Limiter

	mu      sync.Mutex // guards what follows
	servers map[string]*server
	targets map[string]*target
	held    int  // items of all targets in memory
	started bool // workers may begin

	ctx     context.Context // of the work between New and Close
	stop    context.CancelFunc
	workers sync.WaitGroup
	sends   sync.WaitGroup
	failed  chan error
}

// New returns Lanes that send after Start.
func New(o Options) *Lanes {
	o.AtOnce, o.Concurrency, o.Queue = cmp.Or(o.AtOnce, 16), cmp.Or(o.Concurrency, DefaultConcurrency), cmp.Or(o.Queue, 10_000)
	o.Together = cmp.Or(o.Together, 50_000)
	o.Timeout, o.LongestPause = cmp.Or(o.Timeout, 10*time.Second), cmp.Or(o.LongestPause, 5*time.Second)
	l := &Lanes{Options: o, limiter: limiter.New(o.Concurrency), failed: make(chan error, 1)}
	l.servers, l.targets = map[string]*server{}, map[string]*target{}
	l.ctx, l.stop = context.WithCancel(context.Background())
	return l
}

// Start begins to send. Items that were added before keep their order across all of them.
func (l *Lanes) Start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started = true
	for _, t := range l.targets {
		l.wake(t)
	}
}

// Run runs f until Close. An error of f ends the lanes.
func (l *Lanes) Run(f func(context.Context) error) {
	l.workers.Go(func() {
		if err := f(l.ctx); err != nil && l.ctx.Err() == nil {
			select {
			case l.failed <- err:
			default:
			}
			l.stop()
		}
	})
}

// Context ends with Close.
func (l *Lanes) Context() context.Context { return l.ctx }

// Failed yields the error that ended the lanes, if one does.
func (l *Lanes) Failed() <-chan error { return l.failed }

// lastSends is how long Close waits for the sends under way.
const lastSends = time.Second

// Close ends what Run began, and after a moment the sends under way.
func (l *Lanes) Close() {
	l.mu.Lock()
	l.stop() // no worker starts any more
	l.mu.Unlock()
	l.workers.Wait()
	l.sends.Wait()
}

// Add queues a new item, or another try of an item. An item that is known and has no more tries than before is left as it is.
func (l *Lanes) Add(it Item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.target(it.Endpoint)
	switch known := t.known[it.ID]; {
	case known != nil && it.Tries <= known.Tries:
		return
	case known != nil:
		known.renew(it)
		t.put(known)
	case t.more || l.isFull(t):
		t.more = true // it stays on record: older items go first
	case t.loading:
		t.late = append(t.late, it)
		l.held++
	default:
		t.add(it)
		l.held++
	}
	l.wake(t)
}

// End forgets an item that has its final outcome.
func (l *Lanes) End(target, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.targets[target]; t != nil {
		l.end(t, t.known[id])
	}
}

// Remove forgets an item of any target.
func (l *Lanes) Remove(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.targets {
		l.end(t, t.known[id])
	}
}

func (l *Lanes) end(t *target, it *item) {
	if it != nil {
		t.close(it)
		delete(t.known, it.ID)
		l.held--
		l.wake(t)
	}
}

// wake has the worker of a target look again, or starts it; l.mu is held.
func (l *Lanes) wake(t *target) {
	switch {
	case t.running:
		select {
		case t.changed <- struct{}{}:
		default:
		}
	case l.started && l.ctx.Err() == nil:
		t.running = true
		l.Run(func(context.Context) error { return l.serve(t) })
	}
}

// load queues the recorded items of a target, and then those that came meanwhile.
func (l *Lanes) load(t *target) error {
	err := l.Load(t.Target, func(it Item) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		switch {
		case t.known[it.ID] != nil:
		case l.isFull(t):
			t.more = true
			return false
		default:
			t.add(it)
			l.held++
		}
		return l.ctx.Err() == nil
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	t.loading = false
	for _, it := range t.late {
		if l.held--; t.known[it.ID] == nil && !t.more {
			t.add(it)
			l.held++
		}
	}
	t.late = nil
	return err
}

// most returns how many items of a target may be in memory; l.mu is held.
func (l *Lanes) most(t *target) int {
	share := domain.Share(int64(t.held()), int64(l.Together-l.held))
	return min(l.Queue, max(l.AtOnce, int(share)))
}

func (l *Lanes) isFull(t *target) bool { return t.held() >= l.most(t) }

// Endpoints returns the state of each target for which something waits or has failed: first those with the most failures in a row, then
// those where most waits.
func (l *Lanes) Endpoints() []domain.EndpointState {
	now := l.Now()
	l.mu.Lock()
	list := make([]domain.EndpointState, 0, len(l.targets))
	for _, t := range l.targets {
		s := domain.EndpointState{
			Target: t.Target, Endpoint: domain.ShownTarget(t.Target), Waiting: t.waiting(), UnderWay: t.busy, More: t.more,
			Failures: max(t.breaker.fails, t.server.breaker.fails),
		}
		for _, b := range []*breaker{&t.breaker, &t.server.breaker} {
			if b.paused() {
				s.PausedUntil = max(s.PausedUntil, now.Add(b.until.Sub(now)).UnixMilli()) // the clock may have been set since the pause began
			}
		}
		list = append(list, s)
	}
	l.mu.Unlock()
	slices.SortFunc(list, func(a, b domain.EndpointState) int {
		return cmp.Or(cmp.Compare(b.Failures, a.Failures), cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(a.Endpoint, b.Endpoint))
	})
	return list
}

// TryNow has an item sent now if it waits for a server; "" stands for all items. One item is sent as if it were due, so that its outcome is
// recorded and costs a try. During a pause one of all items is sent as a probe, and the others follow if it succeeds: to send all of them
// would cost each a try. TryNow returns how many items waited. An item that is under way, or waits for an earlier one of its lane, does not
// count if it is asked for.
func (l *Lanes) TryNow(name, id string) (waited int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.servers[name]
	if s == nil {
		return 0
	}
	now := l.Now()
	for _, t := range s.targets {
		switch {
		case id == "":
			waited += t.waiting()
			t.hastenAll(now)
		case t.makeDue(id, now):
			waited++
		default:
			continue
		}
		s.breaker.endWait(now)
		t.breaker.endWait(now)
		l.wake(t)
	}
	return waited
}

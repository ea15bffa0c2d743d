package replays

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"sync"
	"time"

	"ledge/bridge/recorder"
	"ledge/domain"
)

// Bridge knows the subscriptions and what of them is under way.
type Bridge interface {
	// Flush returns when all that was sent before the call is on record.
	Flush(ctx context.Context) error
	Subscription(name string) (domain.Subscription, bool)
}

// Sockets are the PUB sockets of the ZeroMQ channels.
type Sockets interface {
	AwaitSubscriber(ctx context.Context, ch domain.Channel) (subscribers int, err error)
	PublishPaced(ctx context.Context, ch domain.Channel, body string, wait time.Duration) (subscribers, lost int, err error)
}

// Past is the notification stream.
type Past interface {
	First() uint64
	// Since returns the sequence of the first event that was recorded at a time or later, or that after the last.
	Since(ctx context.Context, at time.Time) (uint64, error)
	Read(ctx context.Context, from, to uint64) iter.Seq2[domain.Recorded, error]
}

// Limits bound what replays take. Zero means the default.
type Limits struct {
	// Most is how many notifications one replay sends: 100,000. Time is how long it goes on: 5 s.
	Most int
	Time time.Duration
	// Wait is how long a subscriber may take to connect and to make room: 2 s.
	Wait time.Duration
	// AtOnce is the largest number of concurrent replays, each of another subscription: 4.
	AtOnce int
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Most: cmp.Or(l.Most, 100_000), Time: cmp.Or(l.Time, 5*time.Second), Wait: cmp.Or(l.Wait, 2*time.Second), AtOnce: cmp.Or(l.AtOnce, 4),
	}
}

// Options wires Replays.
type Options struct {
	Limits
	Bridge  Bridge
	Sockets Sockets
	Past    Past
	Last    func() uint64                // sequence of the notification stream that the state shows
	Look    func() (domain.View, func()) // one consistent look at the notifications
	Log     recorder.Log                 // of the notification stream
	Logger  *slog.Logger
}

// Replays are the replays of all subscriptions.
type Replays struct {
	Options
	mu      sync.Mutex
	running map[string]bool // by subscription
}

// New returns Replays without any under way.
func New(o Options) *Replays {
	o.Limits = o.withDefaults()
	return &Replays{Options: o, running: map[string]bool{}}
}

// Replay sends what is ordered and returns what that was; by is who wants it, for the record. What was sent before an
// error is on record too. Errors are NotFound for the subscription; Locked where it is; Invalid for a place or a limit
// beyond the end; Conflict where it has no ZeroMQ channel, where nobody subscribes there, and where a replay of it is
// under way; Unavailable where there are too many others.
func (r *Replays) Replay(ctx context.Context, o domain.ReplayOrder, by domain.Stamp) (domain.Replay, error) {
	done, err := r.begin(o.Subscription)
	if err != nil {
		return domain.Replay{}, err
	}
	defer done()
	w, err := r.prepare(ctx, o)
	if err != nil {
		return domain.Replay{}, err
	}
	failed := w.run(ctx)
	err = r.record(context.WithoutCancel(ctx), w.Replay, by)
	if failed != nil {
		err = failed
	}
	return w.Replay, err
}

// record puts what was sent on record. Whoever has lost the right to send it meanwhile is not named.
func (r *Replays) record(ctx context.Context, sent domain.Replay, by domain.Stamp) error {
	outcomes, err := r.Log.Submit(ctx, domain.Request{Stamp: by, Command: domain.RecordReplay{Replay: sent}})
	if err != nil {
		return err
	}
	if domain.CodeOf(outcomes[0].Err) == domain.Forbidden && by.By != nil {
		by.Actor, by.By = "ledge", nil
		return r.record(ctx, sent, by)
	}
	return outcomes[0].Err
}

// begin takes one of the places for replays, until done.
func (r *Replays) begin(subscription string) (done func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.running[subscription]:
		return nil, domain.Errorf(domain.Conflict, "a replay of subscription %q is under way; try again when it has its answer", subscription)
	case len(r.running) >= r.AtOnce:
		return nil, domain.Errorf(domain.Unavailable, "%d replays are under way, which is the limit; try again later", r.AtOnce)
	}
	r.running[subscription] = true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.running, subscription)
	}, nil
}

// prepare returns the walk over what is to be sent. What is sent from now on is not part of it: whoever has
// subscribed gets that anyhow.
func (r *Replays) prepare(ctx context.Context, o domain.ReplayOrder) (*walk, error) {
	flushing, cancel := context.WithTimeout(ctx, r.Time)
	defer cancel()
	if err := r.Bridge.Flush(flushing); err != nil {
		return nil, err
	}
	channels, err := r.channels(o.Subscription)
	if err != nil {
		return nil, err
	}
	w := &walk{Replays: r, channels: channels, to: r.Last(), most: cmp.Or(o.Limit, r.Most), Replay: domain.Replay{Subscription: o.Subscription}}
	if w.most > r.Most {
		return nil, domain.FieldErrorf("limit", "%d is too many; give at most %d and go on from next", w.most, r.Most)
	}
	if w.From, err = r.place(ctx, o, w.to); err != nil {
		return nil, err
	}
	w.Last = w.From - 1
	return w, r.awaitSubscribers(ctx, o.Subscription, w.channels)
}

// channels are the ZeroMQ channels of a subscription.
func (r *Replays) channels(name string) (list []domain.Channel, err error) {
	s, ok := r.Bridge.Subscription(name)
	switch {
	case !ok:
		return nil, domain.Errorf(domain.NotFound, "subscription name %.80q does not exist; correct the name", name)
	case s.AdminState != domain.StateUnlocked:
		return nil, domain.Errorf(domain.Locked, "subscription %q: adminState is %s; set it to %s first", name, s.AdminState, domain.StateUnlocked)
	}
	for _, c := range s.Channels {
		if c.Type == domain.ChannelZeroMQ {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return nil, domain.Errorf(domain.Conflict, "subscription %q has no channel of type %s, and only those are replayed; add one", name, domain.ChannelZeroMQ)
	}
	return list, nil
}

// place returns the sequence that an order means; last is that of the end.
func (r *Replays) place(ctx context.Context, o domain.ReplayOrder, last uint64) (from uint64, err error) {
	from = o.From
	if !o.Since.IsZero() {
		if from, err = r.Past.Since(ctx, o.Since); err != nil {
			return 0, err
		}
		from = min(from, last+1)
	}
	if from > last+1 {
		return 0, domain.FieldErrorf("from", "sequence %d is beyond the end; the last one on record is %d; give that of this data folder, or a time", from, last)
	}
	return max(from, r.Past.First(), 1), nil
}

// awaitSubscribers waits a moment for each channel to have a subscriber: one that connects returns before it is there. An
// error says that none has.
func (r *Replays) awaitSubscribers(ctx context.Context, name string, channels []domain.Channel) error {
	ctx, cancel := context.WithTimeout(ctx, r.Wait)
	defer cancel()
	all, cure := 0, ""
	for _, c := range channels {
		n, err := r.Sockets.AwaitSubscriber(ctx, c)
		if err != nil {
			cure = ": " + err.Error()
		}
		all += n
	}
	if all > 0 {
		return nil
	}
	return domain.Errorf(domain.Conflict, "nobody subscribes to the ZeroMQ channels of subscription %q%s; connect a SUB socket first, then replay", name, cure)
}

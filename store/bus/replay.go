package bus

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ledge/domain"
	"ledge/store"

	"github.com/nats-io/nats-server/v2/server"
)

// replayed begins the subjects of replays: replay.<id>.<subject>. No stream has these messages.
const replayed = "replay."

const (
	// replaysKept is how many replays are listed. One runs at a time: it holds up to 36 MiB of messages.
	replaysKept = 16
	// replayPending is how many bytes may wait for clients before a replay waits: a quarter of the bytes for which the server cuts a client
	// off.
	replayPending = pendingMost / 4
	// lateness is how much later than its event a message may be stored.
	lateness = time.Hour
)

// Replays publish messages of the logs again. All methods can be called on nil, which stands for a node without a bus.
type Replays struct {
	bus *Bus
	mu  sync.Mutex
	all []*replay // the newest last
}

// replay is one of them.
type replay struct {
	order domain.BusReplayOrder
	logs  []*store.Log
	stop  context.CancelCauseFunc

	mu    sync.Mutex
	state domain.BusReplay
}

var errStopped = domain.Errorf(domain.Conflict, "it was stopped")

// Replays returns the replays of a bus.
func (b *Bus) Replays() *Replays {
	if b == nil {
		return nil
	}
	return b.replays
}

// Start begins a replay. It runs until its end, Stop, or the stop of the bus. Errors are Invalid for the order, and Conflict if another one
// runs and for a node without a bus.
func (l *Replays) Start(ctx context.Context, o domain.BusReplayOrder) (domain.BusReplay, error) {
	if l == nil {
		const says = "a replay needs the NATS server for clients; set nats-port to a port, not -1"
		return domain.BusReplay{}, domain.Errorf(domain.Conflict, says)
	}
	o.ID = cmp.Or(o.ID, strings.ToLower(rand.Text()[:8]))
	if err := o.Check(); err != nil {
		return domain.BusReplay{}, err
	}
	r, starts, err := l.prepare(ctx, o)
	if err != nil {
		return domain.BusReplay{}, err
	}
	alive, stop := context.WithCancelCause(l.bus.alive)
	r.stop = stop
	if err := l.add(r); err != nil {
		stop(nil)
		return domain.BusReplay{}, err
	}
	l.bus.o.Logger.Info("replay begins", "subject", r.state.Subject, "speed", o.Speed, "actor", o.Actor)
	l.bus.running.Go(func() {
		defer stop(nil)
		runReplay(alive, l.bus, r, starts)
	})
	return r.copyState(), nil
}

// prepare finds the beginning of a replay in each log.
func (l *Replays) prepare(ctx context.Context, o domain.BusReplayOrder) (r *replay, starts []uint64, err error) {
	r = &replay{order: o, state: domain.BusReplay{
		ID: o.ID, Subject: replayed + o.ID + ".>", State: domain.ReplayRuns, Actor: o.Actor, Speed: o.Speed,
		Started: time.Now().UnixMilli(),
	}}
	for _, c := range l.bus.copies {
		r.logs = append(r.logs, c.log)
	}
	if o.From.Sequence > 0 || o.To.Sequence > 0 {
		r.logs = r.logs[:1]
	}
	if last, _ := r.logs[0].Last(); max(o.From.Sequence, o.To.Sequence) > last {
		const says = "sequence %d is beyond the end; the last event of the log of changes is %d"
		return nil, nil, domain.FieldErrorf("from", says, max(o.From.Sequence, o.To.Sequence), last)
	}
	if r.order.To.Sequence == 0 && o.To.Time.IsZero() {
		r.order.To.Time = time.Now()
	}
	for _, log := range r.logs {
		start := max(o.From.Sequence, 1)
		if !o.From.Time.IsZero() {
			if start, err = log.Begin(ctx, o.From.Time); err != nil {
				return nil, nil, err
			}
		}
		starts = append(starts, start)
	}
	return r, starts, nil
}

// add lists a replay unless another one runs, and forgets the oldest of too many.
func (l *Replays) add(r *replay) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, other := range l.all {
		if s := other.copyState(); s.State == domain.ReplayRuns {
			return domain.Errorf(domain.Conflict, "replay %q runs, and one runs at a time; wait for its end or stop it", s.ID)
		}
	}
	l.all = slices.DeleteFunc(l.all, func(other *replay) bool { return other.order.ID == r.order.ID })
	l.all = append(l.all[max(0, len(l.all)-replaysKept+1):], r)
	return nil
}

// List returns the last replays, the newest first. One of them may run.
func (l *Replays) List() (list []domain.BusReplay) {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range slices.Backward(l.all) {
		list = append(list, r.copyState())
	}
	return list
}

// Stop stops a replay; nothing happens if it has ended. ok is false if the id is unknown.
func (l *Replays) Stop(id string) (ok bool) {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.all, func(r *replay) bool { return r.order.ID == id })
	if i >= 0 {
		l.all[i].stop(errStopped)
	}
	return i >= 0
}

func (r *replay) copyState() domain.BusReplay {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// note notes that a message was sent.
func (r *replay) note(m store.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.Sent++
	r.state.Last = m.Stamp().At.UnixMilli()
}

// end notes how a replay has ended.
func (r *replay) end(state string, err error) domain.BusReplay {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state.State, r.state.Ended = state, time.Now().UnixMilli(); err != nil {
		r.state.Error = err.Error()
	}
	return r.state
}

// runReplay publishes the messages of a replay, and then its state on replay.<id>.end.
func runReplay(ctx context.Context, b *Bus, r *replay, starts []uint64) {
	err := publishReplay(ctx, b, r, store.MergeAt(ctx, r.logs, starts))
	state := domain.ReplayDone
	switch {
	case errors.Is(context.Cause(ctx), errStopped):
		state, err = domain.ReplayStopped, nil
	case err != nil:
		state = domain.ReplayFailed
	}
	ended := r.end(state, err)
	b.o.Logger.Info("replay ends", "subject", ended.Subject, "state", ended.State, "messages", ended.Sent, "error", ended.Error)
	text, err := json.Marshal(ended)
	if _, conn := b.now(); conn != nil && err == nil {
		_ = conn.Publish(replayed+r.order.ID+".end", text) // the list has it too
	}
}

func publishReplay(ctx context.Context, b *Bus, r *replay, messages iter.Seq2[store.Message, error]) error {
	var buffer store.MessageBuffer
	began, first := time.Now(), time.Time{}
	for m, err := range messages {
		if err != nil {
			return err
		}
		if r.hasPassed(m) {
			return nil
		}
		if !r.chooses(m) {
			continue
		}
		at := m.Stamp().At
		if first.IsZero() {
			first = at
		}
		if r.order.Speed > 0 {
			due := began.Add(time.Duration(float64(at.Sub(first)) / r.order.Speed))
			pauseFor(time.Until(due), ctx.Done())
		}
		if err := sendReplayed(ctx, b, r, m, &buffer); err != nil {
			return err
		}
		r.note(m)
	}
	return ctx.Err()
}

// hasPassed reports whether a message is behind the end. A message may be stored later than the time of its event: bodies take time to
// arrive, and commands wait.
func (r *replay) hasPassed(m store.Message) bool {
	if r.order.To.Sequence > 0 {
		return m.Seq > r.order.To.Sequence
	}
	return m.At.After(r.order.To.Time.Add(lateness))
}

// chooses reports whether a message is replayed.
func (r *replay) chooses(m store.Message) bool {
	at := m.Stamp().At
	if at.Before(r.order.From.Time) || !r.order.To.Time.IsZero() && at.After(r.order.To.Time) {
		return false
	}
	return r.order.Subject == "" || server.SubjectMatchesFilter(m.Subject, r.order.Subject)
}

// sendReplayed publishes a message under the subject of a replay, once its subscribers have room.
func sendReplayed(ctx context.Context, b *Bus, r *replay, m store.Message, buffer *store.MessageBuffer) error {
	header, data := onBus(m.AsWritten())
	subject := replayed + r.order.ID + "." + m.Subject
	message := buffer.Of(subject, header, data)
	message.Header["Nats-Sequence"] = []string{strconv.FormatUint(m.Seq, 10)}
	for _, l := range r.logs {
		if strings.HasPrefix(m.Subject, l.Prefix()) {
			message.Header["Nats-Stream"] = []string{l.Name()}
		}
	}
	if err := b.memory.awaitRoom(ctx); err != nil {
		return err
	}
	b.memory.reserve(subject, int64(message.Size()))
	_, conn := b.now()
	if conn == nil {
		return errors.New("the NATS server for clients has stopped")
	}
	return conn.PublishMsg(message)
}

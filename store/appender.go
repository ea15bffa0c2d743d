package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ledge/domain"
	"ledge/store/natsblock"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/semaphore"
)

const (
	// groupEvents and groupBytes bound what is published before its one fsync, and so the bytes in flight.
	groupEvents = 1000
	groupBytes  = 8 << 20
	// ackEvery is after how many events of a group the server is asked for an acknowledgement, and at the last: each costs
	// as much as a tenth of an append, and says no more than that the log goes on.
	ackEvery = 16
	// mostAckWaits is how many times AckTimeout a server that seems healthy may keep silent.
	mostAckWaits = 12
	// requestOverhead is what a waiting request takes in memory beside its Bytes: stamp, outcome and places in lists. An estimate.
	requestOverhead = 512
)

// Projection is the state that an Appender decides on and hands what is recorded to.
//
// A Projection that has a method Health() error is asked before each group: while that is an error, requests are refused
// with domain.Unavailable. Its tables may panic with an error of that code, see domain.Try.
type Projection interface {
	// State returns the state at the checkpoint, for deciding, and a function that lets go of it.
	State() (domain.State, func())
	// Apply folds the recorded events and moves the checkpoint: all of them or, after an error, none. The first one's Seq
	// is Checkpoint's + 1, or, on a stream with a retention, the first that is kept.
	Apply([]domain.Recorded) error
	// Checkpoint is the last sequence applied and its chain; 0 and zeros for none.
	Checkpoint() (seq uint64, chain [32]byte)
}

// AppenderOptions bounds what an Appender holds in memory.
type AppenderOptions struct {
	// QueueRequests and QueueBytes are the most that may wait to be recorded; beyond, Submit blocks. The defaults are
	// 20,000 and 64 MiB.
	QueueRequests, QueueBytes int
	// SubmitBytes is the most that the requests of one Submit may write to the log; those after are refused with
	// domain.TooLarge, without being decided. 0 is without a bound. A change of a few bytes of a large profile counts as much
	// as the profile, which has to be looked at for it.
	SubmitBytes int
	// CatchUpEvents is how many events one Apply gets while catching up at the start; the default is 5,000.
	CatchUpEvents int
	// CatchingUp is told after each Apply how many events of all that were missing at the start are applied; nil: nothing is.
	CatchingUp func(done, total uint64)
	// RecentEvents and RecentBytes are what is kept in memory for followers; the defaults are 2,048 and 2 MiB.
	RecentEvents, RecentBytes int
}

func (o AppenderOptions) withDefaults() AppenderOptions {
	o.QueueRequests = cmp.Or(o.QueueRequests, 20_000)
	o.QueueBytes = cmp.Or(o.QueueBytes, 64<<20)
	o.CatchUpEvents = cmp.Or(o.CatchUpEvents, 5_000)
	o.RecentEvents = cmp.Or(o.RecentEvents, 2_048)
	o.RecentBytes = cmp.Or(o.RecentBytes, 2<<20)
	return o
}

// Appender is the one way into a log. One goroutine takes all commands that wait, decides each on the state plus the
// changes of those before it, appends the events as a group, has them applied, and answers.
type Appender struct {
	log        *Log
	projection Projection
	o          AppenderOptions
	queue      *queue
	recent     *recent
	live       *live
	done       sync.WaitGroup
}

// NewAppender checks the projection's checkpoint against the log, applies what the log has beyond it, and starts. A log
// that is shorter than the checkpoint, or that has another event there, is a [Damage] that names both. ctx bounds the
// start only.
func NewAppender(ctx context.Context, l *Log, p Projection, o AppenderOptions) (*Appender, error) {
	o = o.withDefaults()
	a := &Appender{log: l, projection: p, o: o}
	if err := l.err(); err != nil {
		return nil, err
	}
	if err := a.catchUp(ctx); err != nil {
		return nil, err
	}
	l.show()
	last, _ := l.Last()
	a.queue = newQueue(o.QueueRequests, o.QueueBytes)
	a.recent = newRecent(last, o.RecentEvents, o.RecentBytes)
	a.live = newLive(l, last == 0)
	a.done.Go(a.run)
	a.done.Go(a.live.run)
	return a, nil
}

// Close records and answers the waiting requests, then stops. Followers end.
func (a *Appender) Close() error {
	a.queue.close(domain.Errorf(domain.Unavailable, "ledge is stopping"))
	a.done.Wait()
	return nil
}

// Queued returns the number of submissions that wait to be recorded.
func (a *Appender) Queued() int { return a.queue.length() }

// Submit has the requests decided and recorded in order and returns one outcome for each. They need not share a group,
// and nothing of others is between two that do. An error means that none was taken: too much waits and ctx ended
// (domain.Unavailable), or the appender is closed or broken. Requests whose group had not started when ctx ended have
// domain.Unavailable as their outcome; once it started, they have the truth.
func (a *Appender) Submit(ctx context.Context, requests ...domain.Request) ([]domain.Outcome, error) {
	if len(requests) == 0 {
		return nil, nil
	}
	if err := a.log.err(); err != nil {
		return nil, refused(err)
	}
	s := &submission{ctx: ctx, requests: requests, outcomes: make([]domain.Outcome, len(requests)), done: make(chan struct{})}
	for _, r := range requests {
		s.bytes += requestOverhead + r.Bytes
	}
	if err := a.queue.put(s); err != nil {
		return nil, err
	}
	select {
	case <-s.done:
	case <-ctx.Done():
		if a.queue.withdraw(s) {
			return nil, gone(ctx)
		}
		<-s.done
	}
	return s.outcomes, nil
}

func gone(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return domain.Errorf(domain.Unavailable, "not recorded: too much waits to be recorded before it; try again later")
	}
	return domain.Errorf(domain.Unavailable, "not recorded: the request was given up while it waited")
}

// refused is the error of a request to a log that is broken.
func refused(err error) *domain.Error {
	return domain.Errorf(domain.Unavailable, "nothing can be recorded: %v", err)
}

// submission is what one call of Submit brought: its requests are taken in order, by one group or by several.
type submission struct {
	ctx      context.Context
	requests []domain.Request
	outcomes []domain.Outcome
	taken    int // requests that a group has taken
	answered int
	bytes    int
	written  int           // bytes of the log
	done     chan struct{} // closed when every request has its outcome
}

// queue is the submissions that wait, bounded in requests and in bytes. A submission that is larger than a bound takes all of it, and so
// waits for an empty queue. Submissions that wait for room are let in in the order in which they came.
type queue struct {
	maxRequests, maxBytes int64
	requests, bytes       *semaphore.Weighted

	closed context.Context // its cause is why the queue takes no more
	end    context.CancelCauseFunc
	filled chan struct{} // holds one token while something waits

	mu      sync.Mutex
	waiting []*submission
}

func newQueue(maxRequests, maxBytes int) *queue {
	q := &queue{maxRequests: int64(maxRequests), maxBytes: int64(maxBytes), filled: make(chan struct{}, 1)}
	q.requests, q.bytes = semaphore.NewWeighted(q.maxRequests), semaphore.NewWeighted(q.maxBytes)
	q.closed, q.end = context.WithCancelCause(context.Background())
	return q
}

// put adds a submission. It waits for room until the submission's context ends.
func (q *queue) put(s *submission) error {
	requests, bytes := q.share(s)
	if err := q.acquire(s.ctx, q.requests, requests); err != nil {
		return err
	}
	if err := q.acquire(s.ctx, q.bytes, bytes); err != nil {
		q.requests.Release(requests)
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed.Err() != nil {
		q.release(s)
		return context.Cause(q.closed)
	}
	q.waiting = append(q.waiting, s)
	q.signal()
	return nil
}

// share is what a submission takes of the two bounds.
func (q *queue) share(s *submission) (requests, bytes int64) {
	return min(int64(len(s.requests)), q.maxRequests), min(int64(s.bytes), q.maxBytes)
}

func (q *queue) release(s *submission) {
	requests, bytes := q.share(s)
	q.requests.Release(requests)
	q.bytes.Release(bytes)
}

func (q *queue) acquire(ctx context.Context, room *semaphore.Weighted, n int64) error {
	if room.TryAcquire(n) {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(q.closed, cancel)()
	if room.Acquire(ctx, n) == nil {
		return nil
	}
	if q.closed.Err() != nil {
		return context.Cause(q.closed)
	}
	return domain.Errorf(domain.Unavailable, "too many changes wait to be recorded; try again later")
}

func (q *queue) signal() {
	select {
	case q.filled <- struct{}{}:
	default:
	}
}

// withdraw takes a submission back of which nothing was taken yet.
func (q *queue) withdraw(s *submission) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, s)
	if i < 0 || s.taken > 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	q.release(s)
	return true
}

// item is one request of a submission.
type item struct {
	of *submission
	n  int
}

// take returns up to most requests in order of arrival.
func (q *queue) take(most int) []item {
	q.mu.Lock()
	defer q.mu.Unlock()
	var items []item
	for len(q.waiting) > 0 && len(items) < most {
		s := q.waiting[0]
		for s.taken < len(s.requests) && len(items) < most {
			items = append(items, item{s, s.taken})
			s.taken++
		}
		if s.taken == len(s.requests) {
			q.waiting[0] = nil
			q.waiting = q.waiting[1:]
			q.release(s)
		}
	}
	if len(q.waiting) > 0 {
		q.signal()
	}
	return items
}

// close refuses what comes from now on. What waits is still taken.
func (q *queue) close(why error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.end(why)
}

// length is how many submissions wait, one of which a part is taken included.
func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

func (a *Appender) run() {
	defer a.recent.close()
	defer a.live.close()
	for {
		select {
		case <-a.queue.filled:
		case <-a.queue.closed.Done():
			if a.queue.length() == 0 {
				return
			}
		}
		for items := a.queue.take(groupEvents); len(items) > 0; {
			items = items[a.step(items):]
		}
	}
}

// step takes as many of the items as one group may hold through: decide, append, apply, answer, show to taps. It returns how many.
func (a *Appender) step(items []item) int {
	err := a.log.err()
	if h, ok := a.projection.(interface{ Health() error }); ok && err == nil {
		err = h.Health() // it is healed, or the program ends: nothing is decided meanwhile
	}
	if err != nil {
		for _, it := range items {
			it.of.outcomes[it.n] = domain.Outcome{Err: refused(err)}
		}
		answer(items)
		return len(items)
	}
	began := time.Now()
	g := a.log.writer.begin(len(items))
	n := a.decide(items, g)
	recorded, err := a.record(items[:n], g)
	answer(items[:n]) // first: an answer is awaited
	if len(recorded) == 0 {
		return n
	}
	if o := a.log.store.observer.Load(); o != nil {
		(*o).Appended(a.log.name, len(recorded), g.bytes(), time.Since(began))
	}
	a.recent.add(recorded, g.bytes())
	if err == nil {
		a.live.add(g.run)
	}
	return n
}

// answer wakes each caller whose last request has its outcome.
func answer(items []item) {
	for _, it := range items {
		if it.of.answered++; it.of.answered == len(it.of.requests) {
			close(it.of.done)
		}
	}
}

// decide decides each request on the state plus the events of those before it, until the group is full, and sends what
// they make. It returns the number of requests that are decided; their outcomes are as if the group were recorded.
func (a *Appender) decide(items []item, g *group) (n int) {
	base, release := a.projection.State()
	defer release()
	var folding uint64
	state := domain.OverlayAt(base, &folding)
	seq, chain := a.log.Last()
	free := a.log.store.room()
	bytes := 0
	for _, it := range items {
		if bytes >= groupBytes {
			break
		}
		n++
		out := &it.of.outcomes[it.n]
		if it.of.ctx.Err() != nil {
			out.Err = gone(it.of.ctx)
			continue
		}
		if err := a.spent(it.of); err != nil {
			out.Err = err
			continue
		}
		e, err := a.entry(it.of.requests[it.n], state, seq+1, chain)
		if err == nil && e.Event != nil {
			folding = e.Seq
			if int64(bytes+e.size)*2 > free-a.log.store.o.reserveOf(a.log.stream, e.Event) {
				err = a.full("less than the reserve would be left")
			} else if err = a.evolve(&e.Recorded, state); err != nil {
				out.Err = err
				return n
			}
		}
		if err != nil {
			out.Err = err
			continue
		}
		if e.Event == nil {
			continue
		}
		*out = domain.Outcome{Seq: e.Seq, Event: e.Event}
		g.send(e)
		it.of.written += e.effort
		seq, chain, bytes = e.Seq, e.Chain, bytes+e.size
	}
	return n
}

// spent refuses what comes after the bytes that one submission may write, or have looked at.
func (a *Appender) spent(s *submission) error {
	if a.o.SubmitBytes == 0 || s.written < a.o.SubmitBytes {
		return nil
	}
	return domain.Errorf(domain.TooLarge, "the changes before this one take %d bytes in whole entities, and those of one request may take %d; send the rest in another request", s.written, a.o.SubmitBytes)
}

// full is the refusal when the disk's reserve is reached.
func (a *Appender) full(what string) *domain.Error {
	a.log.writer.refusals.Add(1)
	return a.log.store.o.full(a.log.stream, what)
}

// entry decides one request. A panic is the fault of one command and must not end the process.
func (a *Appender) entry(r domain.Request, state domain.State, seq uint64, prev Chain) (e entry, err error) {
	defer func() {
		if p := recover(); p != nil {
			if err = domain.CannotAnswer(p); err != nil {
				e, err = entry{}, refused(err)
				return
			}
			a.log.store.o.Logger.Error("command panicked", "command", fmt.Sprintf("%T", r.Command), "panic", p)
			e, err = entry{}, domain.Errorf(domain.Internal, "%T: internal error", r.Command)
		}
	}()
	event, err := domain.Decide(state, r)
	if err != nil || event == nil {
		return entry{}, err
	}
	return a.log.entry(r.Stamp, event, seq, prev)
}

// evolve adds an event's changes to the pending ones. After a panic those are not to be trusted, so the run ends there.
func (a *Appender) evolve(r *domain.Recorded, state domain.State) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if err = domain.CannotAnswer(p); err != nil {
				err = refused(err)
				return
			}
			a.log.store.o.Logger.Error("event panicked", "event", fmt.Sprintf("%T", r.Event), "panic", p)
			err = domain.Errorf(domain.Internal, "%T: internal error", r.Event)
		}
	}()
	domain.Evolve(state, r)
	return nil
}

// record ends the group and has it applied, and returns what of it is. The outcomes of what is not are corrected.
func (a *Appender) record(items []item, g *group) ([]domain.Recorded, error) {
	recorded, err := g.end()
	if err != nil {
		a.correct(items, recorded, err)
	}
	if len(recorded) == 0 {
		return nil, err
	}
	if aerr := a.projection.Apply(recorded); aerr != nil {
		a.log.fail(fmt.Errorf("apply %s %d to %d: %w", a.log.name, recorded[0].Seq, recorded[len(recorded)-1].Seq, aerr))
		why := refused(a.log.err())
		why.InDoubt = true
		for _, it := range items {
			it.of.outcomes[it.n] = domain.Outcome{Err: why}
		}
		return nil, aerr
	}
	a.log.show()
	return recorded, err
}

// correct tells the truth after an append that failed: an event of the run is recorded where its id is on the log at
// its sequence. Refusals that may rest on an event that is not recorded are not believed either. Where the log could not be
// read again, it is given up, and what is on it is in doubt until the next start.
func (a *Appender) correct(items []item, recorded []domain.Recorded, err error) {
	held := make(map[string]uint64, len(recorded))
	for _, r := range recorded {
		held[r.EventID] = r.Seq
	}
	why := domain.Errorf(domain.Unavailable, "not recorded: %v", err)
	if free, ferr := a.log.store.FreeBytes(); ferr == nil && free < uint64(a.log.store.o.reserve(a.log.stream)) {
		why = a.full(fmt.Sprintf("%d bytes are free, and this was not recorded: %v", free, err))
	}
	why.InDoubt = a.log.err() != nil // else the log was read again
	lost := false
	for _, it := range items {
		out := &it.of.outcomes[it.n]
		if out.Seq != 0 && held[it.of.requests[it.n].EventID] != out.Seq {
			lost = true
		}
		if lost {
			*out = domain.Outcome{Err: why}
		}
	}
}

// writer publishes groups of events to the stream's server, and makes them durable. One group is under way at a time.
type writer struct {
	log      *Log
	message  messageBuffer
	conn     *nats.Conn // of this log alone: another log's large message does not hold it up
	inbox    string     // what the subjects of acknowledgements begin with
	acks     chan *nats.Msg
	groups   uint64        // since the start; in the subjects of the current group's acknowledgements
	failures int           // groups in a row that failed
	refusals atomic.Uint64 // of requests, for want of disk space
}

// listen connects to the server, and subscribes to its acknowledgements.
func (w *writer) listen() (err error) {
	if w.conn, err = w.log.store.node.connect("append-" + w.log.name); err != nil {
		return err
	}
	w.inbox, w.acks = nats.NewInbox()+".", make(chan *nats.Msg, 2*groupEvents)
	_, err = w.conn.ChanSubscribe(w.inbox+"*.*", w.acks)
	return err
}

// reply is what the subjects of the current group's acknowledgements begin with; the place in the group follows.
func (w *writer) reply() string { return w.inbox + strconv.FormatUint(w.groups, 10) + "." }

// group is events on their way to the log: begin, send each, then end. Each event is fenced by the sequence before
// it and published while the next one is decided, so that the server writes beside that. One refusal refuses all after it,
// so what lands is a prefix of the group, and the acknowledgement of the last event is that of all; which prefix, the log
// itself must say after an error.
type group struct {
	*writer
	run []entry
	err error
}

// begin starts a group of up to so many events; JetStream is not restarted until its end.
func (w *writer) begin(events int) *group {
	w.log.store.appended.Store(new(time.Now()))
	w.log.store.restartLock.RLock()
	w.groups++
	return &group{writer: w, run: make([]entry, 0, events)}
}

// send takes the next event, and publishes the one before it. The sequence and the chain must continue the log.
func (g *group) send(e entry) {
	if n := len(g.run); n > 0 {
		g.publish(n%ackEvery == 0)
	}
	g.run = append(g.run, e)
}

// publish publishes the event that was taken last.
func (g *group) publish(ack bool) {
	if g.err != nil {
		return
	}
	at := len(g.run) - 1
	e := &g.run[at]
	h := e.header
	h.set(headerFence, fence(e.Seq-1, at == 0))
	m := g.message.of(g.log.ingest+storedToken, h, e.data)
	if ack {
		m.Reply = g.reply() + strconv.Itoa(at)
	}
	if err := g.conn.PublishMsg(m); err != nil {
		g.err = fmt.Errorf("publish: %w", err)
	}
}

// bytes is how much of the log the group takes.
func (g *group) bytes() (n int) {
	for i := range g.run {
		n += g.run[i].size
	}
	return n
}

// end makes the group durable: the last acknowledgement, one fsync. It returns what is recorded of it: all, or after an error
// what the log has behind its last known end. Some of that may be of an earlier group; [Appender.correct] compares ids.
func (g *group) end() ([]domain.Recorded, error) {
	l := g.log
	if len(g.run) == 0 {
		l.store.restartLock.RUnlock()
		return nil, nil
	}
	g.publish(true)
	err := g.err
	if err == nil {
		err = g.await()
	}
	block := l.blocks.LastBlock()
	if err == nil {
		err = g.sync()
	}
	filled := l.blocks.LastBlock() != block
	l.store.restartLock.RUnlock()
	if err == nil {
		recorded := make([]domain.Recorded, len(g.run))
		for i, e := range g.run {
			recorded[i] = e.Recorded
		}
		end := recorded[len(recorded)-1]
		l.setLast(end.Seq, end.Chain)
		g.failures = 0
		if filled {
			l.store.blockFilled()
		}
		return recorded, nil
	}
	l.store.o.Logger.Warn("append failed", "stream", l.name, "from", g.run[0].Seq, "events", len(g.run), "error", err)
	if l.final(err) {
		return nil, l.err()
	}
	recorded, rerr := g.reopen(err)
	if rerr != nil {
		return recorded, fmt.Errorf("%w; then: %w", err, rerr)
	}
	return recorded, err
}

// errNoAck says that the server keeps silent about a publish: its way to report a failed write.
var errNoAck = errors.New("no acknowledgement from the log")

// await returns when the group's last event is acknowledged. A server that is silent may have failed, which its health
// tells, or only be slow: it is waited for, up to [mostAckWaits] times AckTimeout.
func (g *group) await() error {
	l, wait, prefix := g.log, g.log.store.o.AckTimeout, g.reply()
	look := time.NewTicker(250 * time.Millisecond)
	defer look.Stop()
	heard, warned := time.Now(), false
	for {
		select {
		case m := <-g.acks:
			at, ok := strings.CutPrefix(m.Subject, prefix)
			if !ok {
				continue // of an earlier group, which was given up
			}
			i, err := strconv.Atoi(at)
			if err != nil || i < 0 || i >= len(g.run) {
				continue
			}
			if err := acked(m, l.name, g.run[i].Seq); err != nil || i == len(g.run)-1 {
				return err
			}
			heard = time.Now()
		case now := <-look.C:
			silent := now.Sub(heard)
			switch err := l.store.node.health(); {
			case err != nil:
				return fmt.Errorf("%w: %w", errNoAck, err)
			case silent > mostAckWaits*wait:
				return fmt.Errorf("%w within %s", errNoAck, mostAckWaits*wait)
			case silent > wait && !warned:
				warned = true
				l.store.o.Logger.Warn("the log is slow: no acknowledgement yet; waiting for it", "stream", l.name, "from", g.run[0].Seq, "silent", silent)
			}
		}
	}
}

// acked returns nil if a message acknowledges the event at a sequence of a stream.
func acked(m *nats.Msg, stream string, seq uint64) error {
	if v := m.Header.Get("Status"); v == "503" {
		return fmt.Errorf("%w: no stream listens", errNoAck)
	}
	if isAck(m.Data, stream, seq) {
		return nil // as the server writes it; anything else is looked at
	}
	var r struct {
		Error *struct {
			Code        int    `json:"err_code"`
			Description string `json:"description"`
		} `json:"error"`
		Stream string `json:"stream"`
		Seq    uint64 `json:"seq"`
	}
	if err := json.Unmarshal(m.Data, &r); err != nil {
		return fmt.Errorf("acknowledgement: %w", err)
	}
	if r.Error != nil {
		return fmt.Errorf("append refused: %s (%d)", r.Error.Description, r.Error.Code)
	}
	if r.Seq != seq || r.Stream != stream {
		return fmt.Errorf("appended as %s %d instead of %s %d", r.Stream, r.Seq, stream, seq)
	}
	return nil
}

// isAck reports whether text is {"stream":"…","seq":…} with these values and nothing else.
func isAck(text []byte, stream string, seq uint64) bool {
	var array [128]byte
	want := append(append(append(array[:0], `{"stream":"`...), stream...), `","seq":`...)
	want = append(strconv.AppendUint(want, seq, 10), '}')
	return bytes.Equal(text, want)
}

// sync has the group on the disk, with one fsync.
func (g *group) sync() error {
	least := g.bytes() + len(g.run)*natsblock.Overhead
	began := time.Now()
	err := g.log.blocks.SyncGroup(int64(least))
	if o := g.log.store.observer.Load(); o != nil {
		(*o).Synced(g.log.name, time.Since(began))
	}
	return g.log.syncError(err)
}

// Unstored is a log whose events of some commands reach taps and are not recorded. They have no sequence and no chain hash.
type Unstored struct {
	*Appender
	// Passes reports whether the event of a command is not recorded.
	Passes func(domain.Command) bool
}

// Submit decides each request as Appender.Submit does. The outcome of an event that is not recorded has the sequence 0. An answer to it is
// not remembered under its Idempotency-Key.
func (u Unstored) Submit(ctx context.Context, requests ...domain.Request) ([]domain.Outcome, error) {
	for _, r := range requests {
		if !u.Passes(r.Command) {
			return u.Appender.Submit(ctx, requests...)
		}
	}
	if err := u.log.err(); err != nil {
		return nil, refused(err)
	}
	state, release := u.projection.State()
	defer release()
	outcomes := make([]domain.Outcome, len(requests))
	for i, r := range requests {
		r.Key = nil
		e, err := u.entry(r, state, 0, Chain{})
		if err != nil || e.Event == nil {
			outcomes[i].Err = err
			continue
		}
		e.header.remove(headerChain)
		outcomes[i].Event = e.Event
		u.live.add([]entry{e})
	}
	return outcomes, nil
}

package tap

import (
	"cmp"
	"context"
	"runtime"
	"sync"
	"time"
)

// history answers what NATS clients ask of the logs: direct gets, as JetStream would, and "ledge.info". It reads the block files, never beyond
// what queries show, and neither asks nor slows the server that writes them. One goroutine does all the work, a slice at a time:
// of the clients that wait, the one that was served longest ago comes next, and of its connections likewise. A
// connection that does not read its answers gets no more of them.
type history struct {
	tap  *Server
	logs Source
	conn *responder

	wake chan struct{} // holds one token when there may be something to do
	stop context.CancelFunc
	done sync.WaitGroup

	mu      sync.Mutex
	stalls  time.Duration      // readerStalls, but for tests
	readers map[uint64]*reader // by the server's number of the connection
	waiting int
	turn    uint64
	closed  bool
}

// reader is a connection that asks for history.
type reader struct {
	cid    uint64
	client string
	asks   []*request // the first is in work
	served uint64     // the turn of its last slice

	given   int64 // bytes, since its pending bytes were looked at
	pending int64 // bytes that it has not read, as of then
	looked  time.Time
	moved   time.Time // when it was last seen to read
}

const (
	// asksOfClient and asksInAll are how many requests may wait, of one client and together.
	asksOfClient = 500
	asksInAll    = 4000

	// batchBytes is the most of one batch.
	batchBytes = 8 << 20

	// readerWindow is how many bytes a connection may leave unread and still get more; readersWindow is that of all together.
	readerWindow  = 256 << 10
	readersWindow = 16 << 20
	// readerStalls is how long a connection may read nothing before it is cut off; readerBlocks how long where readersWindow is used up.
	readerStalls = 10 * time.Second
	readerBlocks = time.Second
	// readerLook is how often it is looked whether a connection has read something.
	readerLook = 2 * time.Millisecond
)

func newHistory(t *Server, logs Source) *history {
	return &history{tap: t, logs: logs, wake: make(chan struct{}, 1), stalls: readerStalls, readers: map[uint64]*reader{}}
}

// start returns when requests are taken.
func (h *history) start() error {
	var ctx context.Context
	ctx, h.stop = context.WithCancel(context.Background())
	h.conn = &responder{
		dial: h.tap.server.InProcessConn, user: responderUser, secret: h.tap.secret, take: h.take,
		listen: []string{directGet + "*", directGet + "*.>", infoSubject}, ready: make(chan struct{}),
	}
	h.done.Go(func() { h.conn.run(ctx.Done()) })
	h.done.Go(func() { h.run(ctx) })
	return h.conn.awaitReady()
}

// close ends when nothing is read any more.
func (h *history) close() {
	if h == nil {
		return
	}
	h.stop()
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.awake()
	h.conn.close()
	h.done.Wait()
}

func (h *history) awake() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// take takes a request in. What nobody hears the answer to is dropped. Where too many wait, the connection that has most of them is cut off.
func (h *history) take(conn *responder, subject, reply string, body []byte) {
	cid, ok := h.listener(reply)
	if !ok {
		return
	}
	a := newRequest(h.logs, conn, subject, reply, body)
	client := h.tap.client(cid)
	h.mu.Lock()
	r := h.readers[cid]
	if r == nil {
		r = &reader{cid: cid, client: client, moved: time.Now(), looked: time.Now()}
		h.readers[cid] = r
	}
	r.asks = append(r.asks, a)
	h.waiting++
	greedy := h.greedy(r.client)
	if greedy != nil {
		h.drop(greedy)
	}
	h.mu.Unlock()
	h.awake()
	if greedy != nil {
		h.cut(greedy, "it asks for more of history than may wait")
	}
}

// greedy returns the connection that must go, where more requests wait than may: of one client or of all. The lock is held.
func (h *history) greedy(client string) (most *reader) {
	all, n := h.waiting > asksInAll, 0
	for _, r := range h.readers {
		if !all && r.client != client {
			continue
		}
		n += len(r.asks)
		if most == nil || len(r.asks) > len(most.asks) {
			most = r
		}
	}
	if all || n > asksOfClient {
		return most
	}
	return nil
}

// drop forgets a connection. The lock is held.
func (h *history) drop(r *reader) {
	h.waiting -= len(r.asks)
	r.asks = nil
	delete(h.readers, r.cid)
}

// run serves slice after slice until the history is closed.
func (h *history) run(ctx context.Context) {
	look := time.NewTicker(readerLook)
	defer look.Stop()
	for {
		r, idle, closed := h.next()
		switch {
		case closed:
			return
		case r != nil:
			began := time.Now()
			h.serve(ctx, r)
			h.rest(time.Since(began), ctx.Done())
		case idle:
			<-h.wake
		default:
			select {
			case <-h.wake:
			case <-look.C:
			}
		}
	}
}

// next returns the connection whose turn it is; idle says that none waits, not even for a client to read.
func (h *history) next() (due *reader, idle, closed bool) {
	h.lookAtBlocked()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, false, true
	}
	served := map[string]uint64{}
	var unread int64
	for _, r := range h.readers {
		served[r.client] = max(served[r.client], r.served)
		unread += r.unread()
	}
	for _, r := range h.readers {
		if len(r.asks) == 0 || r.unread() >= readerWindow || unread >= readersWindow {
			continue
		}
		if due == nil || cmp.Or(cmp.Compare(served[r.client], served[due.client]), cmp.Compare(r.served, due.served)) < 0 {
			due = r
		}
	}
	return due, len(h.readers) == 0, false
}

// unread is how many bytes the connection has not read, at the most.
func (r *reader) unread() int64 { return r.given + r.pending }

// serve does one slice of the first request of a connection.
func (h *history) serve(ctx context.Context, r *reader) {
	h.mu.Lock()
	if len(r.asks) == 0 { // it was cut off meanwhile
		h.mu.Unlock()
		return
	}
	a := r.asks[0]
	h.turn++
	r.served = h.turn
	h.mu.Unlock()
	sent, done := a.slice(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	r.given += sent
	if done && len(r.asks) > 0 {
		r.asks = r.asks[1:]
		h.waiting--
	}
	if len(r.asks) > 0 {
		return
	}
	a.conn.flush()
	if r.unread() < readerWindow/4 { // little enough to forget
		h.drop(r)
	}
}

// lookAtBlocked looks how much those have read that wait for nothing else, and cuts off those that do not read.
func (h *history) lookAtBlocked() {
	now := time.Now()
	var blocked []*reader
	var unread int64
	h.mu.Lock()
	for _, r := range h.readers {
		unread += r.unread()
		if (r.unread() >= readerWindow || len(r.asks) == 0) && now.Sub(r.looked) >= readerLook {
			blocked = append(blocked, r)
		}
	}
	stalls := h.stalls
	h.mu.Unlock()
	if len(blocked) == 0 {
		return
	}
	h.conn.delivered()
	if unread >= readersWindow {
		stalls = readerBlocks
	}
	for _, r := range blocked {
		pending, here := h.tap.memory.pending(r.cid), h.tap.client(r.cid) != ""
		h.mu.Lock()
		if pending < r.unread() {
			r.moved = now
		}
		r.given, r.pending, r.looked = 0, pending, now
		stalled := pending >= readerWindow && now.Sub(r.moved) >= stalls
		if !here || stalled || len(r.asks) == 0 && pending < readerWindow/4 {
			h.drop(r)
		}
		h.mu.Unlock()
		if here && stalled {
			h.cut(r, "it does not read what it has asked for of history")
		}
	}
}

const (
	// idleAfter is how long after an append nobody is believed to write.
	idleAfter = time.Second
	// restShare is how much longer than it works history rests meanwhile, divided by the number of processors. What it sends costs the
	// server, the proxy and the reader several times as much as itself.
	restShare = 100
	restMost  = 50 * time.Millisecond
)

// rest leaves the processors to those who write, while there are some.
func (h *history) rest(worked time.Duration, end <-chan struct{}) {
	if time.Since(h.logs.LastAppend()) > idleAfter {
		return
	}
	pause(min(worked*restShare/time.Duration(runtime.GOMAXPROCS(0)), restMost), end)
}

package zeromq

import "sync"

// Blocks have one of two sizes: a queue that is nearly empty is in a small one.
const (
	smallBlock = 4 << 10
	blockBytes = 64 << 10
)

// block is a run of whole messages that goes to the connection at once. One with a body is a
// single long message, of which buf has all but that body, which belongs to other queues too.
type block struct {
	buf      []byte
	body     []byte
	messages int
}

var smallBlocks, largeBlocks = poolOf(smallBlock), poolOf(blockBytes)

func poolOf(size int) *sync.Pool {
	return &sync.Pool{New: func() any { return &block{buf: make([]byte, 0, size)} }}
}

// held is the memory of a block.
func (b *block) held() int { return cap(b.buf) + len(b.body) }

// reuse gives a block of one of the two sizes back.
func (b *block) reuse() {
	pool := largeBlocks
	switch cap(b.buf) {
	case smallBlock:
		pool = smallBlocks
	case blockBytes:
	default:
		return
	}
	b.buf, b.body, b.messages = b.buf[:0], nil, 0
	pool.Put(b)
}

type queueState int

const (
	queueOpen      queueState = iota
	queueFinishing            // nothing more comes in; what is queued goes out
	queueClosed
)

// queue holds the messages that wait for one subscriber. Its limits include the block that is
// being written. push never blocks.
type queue struct {
	maxMessages, maxBytes int
	memory                *room // of all queues

	mu       sync.Mutex
	changed  sync.Cond
	state    queueState
	blocks   []*block
	writing  *block // taken, and not yet done
	pong     []byte
	messages int
	bytes    int  // of messages
	held     int  // bytes of memory
	room     bell // something was written, or the queue takes no more
}

func newQueue(o Options, memory *room) *queue {
	q := &queue{maxMessages: o.QueueMessages, maxBytes: o.QueueBytes, memory: memory}
	q.changed.L = &q.mu
	return q
}

// push appends a message and reports false when there is no room for it. The message is copied,
// but for a body longer than blockBytes, which must not change. A queue that no longer takes
// messages has no subscriber to lose them, so that is not reported.
func (q *queue) push(head, body []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.state != queueOpen {
		return true
	}
	return q.fits(len(head)+len(body)) && q.put(head, body)
}

// fits lets one message into an empty queue whatever its size: Publish has bounded it.
func (q *queue) fits(n int) bool {
	return q.messages == 0 || q.messages < q.maxMessages && q.bytes+n <= q.maxBytes
}

// put appends a message for which the queue's own limits have room; q.mu is held. It reports
// whether there is memory for it too.
func (q *queue) put(head, body []byte) bool {
	b := q.blockFor(head, body)
	if b == nil {
		return false
	}
	b.buf = append(b.buf, head...)
	if b.body == nil {
		b.buf = append(b.buf, body...)
	}
	b.messages++
	q.messages++
	q.bytes += len(head) + len(body)
	q.changed.Signal()
	return true
}

// blockFor returns the last block if a message fits into it, or appends another one.
func (q *queue) blockFor(head, body []byte) (b *block) {
	n := len(head) + len(body)
	last := len(q.blocks) - 1
	switch {
	case last >= 0 && q.blocks[last].body == nil && len(q.blocks[last].buf)+n <= cap(q.blocks[last].buf):
		return q.blocks[last]
	case len(body) > blockBytes:
		if q.memory.takeShared(len(head), q.held, body) {
			b = &block{buf: make([]byte, 0, len(head)), body: body}
		}
	case n > blockBytes:
		if q.memory.take(n, q.held) {
			b = &block{buf: make([]byte, 0, n)}
		}
	case (q.messages > 0 || n > smallBlock) && q.memory.take(blockBytes, q.held):
		b = largeBlocks.Get().(*block)
	case n <= smallBlock && q.memory.take(smallBlock, q.held):
		b = smallBlocks.Get().(*block)
	}
	if b != nil {
		q.held += b.held()
		q.blocks = append(q.blocks, b)
	}
	return b
}

// answer queues a PONG ahead of all messages. It replaces one that was not yet sent, so that a
// flood of PINGs takes no memory.
func (q *queue) answer(pong []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pong = pong
	q.changed.Signal()
}

// take waits for something to write. It returns nil once the queue is closed, or finishing and
// empty. Each block goes back through done when it is written.
func (q *queue) take() *block {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.state == queueOpen && len(q.blocks) == 0 && q.pong == nil {
		q.changed.Wait()
	}
	switch {
	case q.state == queueClosed:
		return nil
	case q.pong != nil:
		b := &block{buf: q.pong}
		q.pong = nil
		return b
	case len(q.blocks) == 0:
		return nil
	}
	q.writing = q.blocks[0]
	q.blocks[0] = nil
	q.blocks = q.blocks[1:]
	return q.writing
}

func (q *queue) done(b *block) {
	q.mu.Lock()
	if q.writing == b {
		q.writing = nil
		q.messages -= b.messages
		q.bytes -= len(b.buf) + len(b.body)
		q.giveBack(b)
		q.room.ring()
	}
	q.mu.Unlock()
	b.reuse()
}

func (q *queue) giveBack(b *block) {
	q.held -= b.held()
	if len(b.body) > 0 {
		q.memory.giveShared(cap(b.buf), b.body)
		return
	}
	q.memory.give(cap(b.buf))
}

// finish lets what is queued go out and takes nothing more.
func (q *queue) finish() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.state == queueOpen {
		q.state = queueFinishing
	}
	q.changed.Signal()
	q.room.ring()
}

// close discards what is queued and returns how many messages were not written.
func (q *queue) close() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	lost := q.messages
	if q.writing != nil {
		q.giveBack(q.writing)
	}
	for _, b := range q.blocks {
		q.giveBack(b)
	}
	q.messages, q.bytes = 0, 0
	q.state, q.blocks, q.writing, q.pong = queueClosed, nil, nil, nil
	q.changed.Signal()
	q.room.ring()
	return lost
}

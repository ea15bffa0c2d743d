package zeromq

import (
	"sync"
	"sync/atomic"
)

const blockBytes = 64 << 10

// block is a run of whole messages that goes to the connection in one write.
type block struct {
	buf      []byte
	messages int
}

var blocks = sync.Pool{New: func() any { return &block{buf: make([]byte, 0, blockBytes)} }}

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
	total                 *atomic.Int64 // bytes in all queues of the socket

	mu       sync.Mutex
	changed  sync.Cond
	state    queueState
	blocks   []*block
	pong     []byte
	messages int
	bytes    int
	room     bell // something was written, or the queue takes no more
}

func newQueue(o Options, total *atomic.Int64) *queue {
	q := &queue{maxMessages: o.QueueMessages, maxBytes: o.QueueBytes, total: total}
	q.changed.L = &q.mu
	return q
}

// push appends a message and reports false when there is no room for it. A message longer than
// blockBytes becomes the queue's; a shorter one is copied. A queue that no longer takes
// messages has no subscriber to lose them, so that is not reported.
func (q *queue) push(wire []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.state != queueOpen {
		return true
	}
	if !q.fits(len(wire)) {
		return false
	}
	q.put(wire)
	return true
}

// put appends a message that fits; q.mu is held.
func (q *queue) put(wire []byte) {
	q.messages++
	q.bytes += len(wire)
	q.total.Add(int64(len(wire)))
	q.append(wire)
	q.changed.Signal()
}

// fits lets one message into an empty queue whatever its size: Publish has bounded it.
func (q *queue) fits(n int) bool {
	switch {
	case q.messages == 0:
		return true
	case q.messages >= q.maxMessages || q.bytes+n > q.maxBytes:
		return false
	}
	return q.bytes+n <= fairQueueBytes || q.total.Load()+int64(n) <= socketQueueBytes
}

func (q *queue) append(wire []byte) {
	if len(wire) > blockBytes {
		q.blocks = append(q.blocks, &block{buf: wire, messages: 1})
		return
	}
	last := len(q.blocks) - 1
	if last < 0 || len(q.blocks[last].buf)+len(wire) > blockBytes {
		q.blocks = append(q.blocks, blocks.Get().(*block))
		last++
	}
	b := q.blocks[last]
	b.buf = append(b.buf, wire...)
	b.messages++
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
	b := q.blocks[0]
	q.blocks[0] = nil
	q.blocks = q.blocks[1:]
	return b
}

func (q *queue) done(b *block) {
	q.mu.Lock()
	if b.messages > 0 && q.state != queueClosed {
		q.forget(b.messages, len(b.buf))
		q.room.ring()
	}
	q.mu.Unlock()
	if cap(b.buf) == blockBytes {
		b.buf, b.messages = b.buf[:0], 0
		blocks.Put(b)
	}
}

func (q *queue) forget(messages, bytes int) {
	q.messages -= messages
	q.bytes -= bytes
	q.total.Add(-int64(bytes))
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
	q.forget(q.messages, q.bytes)
	q.state, q.blocks, q.pong = queueClosed, nil, nil
	q.changed.Signal()
	q.room.ring()
	return lost
}

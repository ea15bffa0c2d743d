package zeromq

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// PublishPaced sends a message as Publish does, to one subscriber after the other, and waits where a subscriber's queue is
// half full: so it leaves room for what Publish sends meanwhile, and goes as fast as the slowest subscriber takes it. A
// subscriber that makes no room within wait loses the message, which is counted in lost, and loses the next ones without
// a wait until it has room again. What several goroutines publish comes in any order; what one does, in its order. Errors
// are those of Publish without [ErrOverloaded], and that of ctx.
func (s *Sockets) PublishPaced(ctx context.Context, at Channel, topic, body string, wait time.Duration) (subscribers, lost int, err error) {
	sock, err := s.socket(at)
	if err != nil {
		return 0, 0, err
	}
	subscribers, lost, err = sock.publishPaced(ctx, at.Access, topic, body, wait)
	if errors.Is(err, ErrClosed) {
		err = ErrNotBound // released by now
	}
	return subscribers, lost, err
}

// AwaitSubscriber waits until somebody that the channel admits subscribes to a prefix of the topic, and returns how many do: 0 where ctx ends
// before. Errors are [ErrNotBound] and [ErrClosed].
func (s *Sockets) AwaitSubscriber(ctx context.Context, at Channel, topic string) (subscribers int, err error) {
	sock, err := s.socket(at)
	if err != nil {
		return 0, err
	}
	for {
		subscribed := sock.subscribed.next()
		to := sock.audiences.find(at.Access)
		if to == nil {
			return 0, ErrNotBound
		}
		if n := sock.matching(to, []byte(topic)); n > 0 {
			return n, nil
		}
		select {
		case <-subscribed:
		case <-sock.unbound:
			return 0, ErrNotBound
		case <-ctx.Done():
			return 0, nil
		}
	}
}

func (p *Publisher) publishPaced(ctx context.Context, access Access, topic, body string, wait time.Duration) (subscribers, lost int, err error) {
	if size := len(topic) + len(body); size > p.o.QueueBytes {
		return 0, 0, fmt.Errorf("%w: %d bytes; at most %d can be queued", ErrTooLarge, size, p.o.QueueBytes)
	}
	if p.isUnbound() {
		return 0, 0, ErrClosed
	}
	to := p.audiences.find(access)
	if to == nil {
		return 0, 0, ErrNotBound
	}
	p.published.Add(1)
	head, bytes := headOf(topic, body), bytesOf(body)
	for _, s := range p.connected() {
		if !s.subs.match([]byte(topic)) || !to.admits(s.who) {
			continue
		}
		subscribers++
		if !s.messagePaced(ctx, head, bytes, wait) {
			s.drop(1)
			lost++
		}
	}
	return subscribers, lost, ctx.Err()
}

// messagePaced reports whether the message is queued; s.late is set while the subscriber is not worth a wait.
func (s *subscriber) messagePaced(ctx context.Context, head, body []byte, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		room, ok := s.queue.pushPaced(head, body)
		if ok {
			s.late.Store(false)
			return true
		}
		if s.late.Load() {
			return false
		}
		select {
		case <-room:
		case <-timer.C:
			s.late.Store(true)
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// pushPaced is push as long as half of the queue is free, or else returns a channel that is closed when there is more
// room than now.
func (q *queue) pushPaced(head, body []byte) (room <-chan struct{}, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.state != queueOpen {
		return nil, true
	}
	half := q.messages == 0 || q.messages < q.maxMessages/2 && q.bytes+len(head)+len(body) <= q.maxBytes/2
	if !half || !q.put(head, body) {
		return q.room.next(), false
	}
	return nil, true
}

// headOf encodes what goes before the body of a message of two frames.
func headOf(topic, body string) []byte {
	const headers = 2 * 9
	head := appendHeader(make([]byte, 0, headers+len(topic)), flagMore, len(topic))
	return appendHeader(append(head, topic...), 0, len(body))
}

// bell tells those who wait that something has happened. Its zero value is ready; to ring costs little where nobody
// waits.
type bell struct {
	mu sync.Mutex
	ch chan struct{}
}

// next returns a channel that the next ring closes.
func (b *bell) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}

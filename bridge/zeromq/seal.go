package zeromq

import (
	"encoding/binary"
	"net"
	"sync"
	"time"
)

// sealBytes bounds the buffer in which messages are encrypted for one subscriber, and the message that needs no room of its own.
const sealBytes = 8 << 10

// sealer has the buffers of a subscriber that is being written to.
type sealer struct{ plain, out []byte }

var sealers = sync.Pool{New: func() any { return &sealer{make([]byte, 0, sealBytes), make([]byte, 0, sealBytes)} }}

// cutFrame takes the first frame off what goes to the connection without encryption. The last frame's body may be apart.
func cutFrame(wire, apart []byte) (flags byte, body, rest []byte) {
	flags, size, at := wire[0], int(wire[1]), 2
	if flags&flagLong != 0 {
		size, at = int(binary.BigEndian.Uint64(wire[1:])), 9
	}
	if len(wire) == at {
		return flags, apart[:size], nil
	}
	return flags, wire[at : at+size], wire[at+size:]
}

// cutMessage takes the first message off, and returns how long it is when it is encrypted.
func cutMessage(wire, apart []byte) (message []byte, sealed int, rest []byte) {
	rest = wire
	for more := true; more; {
		var flags byte
		var body []byte
		flags, body, rest = cutFrame(rest, apart)
		sealed += 9 + messageOverhead + len(body)
		more = flags&flagMore != 0
	}
	return wire[:len(wire)-len(rest)], sealed, rest
}

// sendSealed encrypts and sends a block. Each peer has its own nonces, so that this is done for each.
func (s *subscriber) sendSealed(b *block) error {
	buf := sealers.Get().(*sealer)
	defer sealers.Put(buf)
	buf.out = buf.out[:0]
	for wire := b.buf; len(wire) > 0; {
		message, sealed, rest := cutMessage(wire, b.body)
		wire = rest
		if len(buf.out)+sealed > sealBytes {
			if err := s.sendBytes(buf.out); err != nil {
				return err
			}
			buf.out = buf.out[:0]
		}
		if sealed > sealBytes {
			if err := s.sendLong(message, b.body, sealed); err != nil {
				return err
			}
			continue
		}
		buf.out = s.sealMessage(buf, message, b.body)
	}
	return s.sendBytes(buf.out)
}

// sealMessage appends an encrypted message to buf.out.
func (s *subscriber) sealMessage(buf *sealer, message, apart []byte) []byte {
	for len(message) > 0 {
		flags, body, rest := cutFrame(message, apart)
		var sealed byte
		if flags&flagMore != 0 {
			sealed |= sealedMore
		}
		if flags&flagCommand != 0 {
			sealed |= sealedCommand
		}
		buf.plain = append(append(buf.plain[:0], sealed), body...)
		buf.out = s.curve.seal(buf.out, buf.plain)
		message = rest
	}
	return buf.out
}

// sendLong encrypts and sends a message that does not fit the buffer. Its encrypted form is in the memory of the queues as long as it
// is being sent. If there is none for a second, the message is lost.
func (s *subscriber) sendLong(message, apart []byte, sealed int) error {
	if !s.queue.await(sealed, publishWait, s.ended) {
		select {
		case <-s.ended: // which counts what is lost
			return net.ErrClosed
		default:
		}
		s.drop(1)
		return nil
	}
	defer s.queue.unclaim(sealed)
	return s.sendBytes(s.sealLong(message, apart, sealed))
}

// sealLong holds the second buffer that encryption needs only as long as it computes, and few at a time.
func (s *subscriber) sealLong(message, apart []byte, sealed int) (wire []byte) {
	s.pub.limits.sealing.do(func() {
		wire = s.sealMessage(&sealer{make([]byte, 0, sealed), make([]byte, 0, sealed)}, message, apart)
	})
	return wire
}

// await claims n bytes of memory beside those of the blocks, and waits for them if there is no room.
func (q *queue) await(n int, wait time.Duration, stop <-chan struct{}) bool {
	if q.claim(n) {
		return true
	}
	r := q.memory
	r.waiting.Add(1)
	defer r.waiting.Add(-1)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		freed := r.freed.next()
		if q.claim(n) {
			return true
		}
		select {
		case <-freed:
		case <-timer.C:
			return false
		case <-stop:
			return false
		}
	}
}

func (q *queue) claim(n int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.memory.take(n, q.held) {
		return false
	}
	q.held += n
	return true
}

// unclaim gives back what await got.
func (q *queue) unclaim(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held -= n
	q.memory.give(n)
}

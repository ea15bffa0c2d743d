package handlers

import (
	"bytes"
	"sync"
)

// buffers are used again, those of at most so many bytes.
type buffers struct {
	pool sync.Pool
	most int
}

var (
	answerBuffers = buffers{most: 1 << 20}
	// bodyBuffers are small: a request has its buffer from its first byte on, however little it sends.
	bodyBuffers = buffers{most: 64 << 10}
)

// get returns an empty buffer, for put.
func (p *buffers) get() *bytes.Buffer {
	if b, ok := p.pool.Get().(*bytes.Buffer); ok {
		return b
	}
	return new(bytes.Buffer)
}

func (p *buffers) put(b *bytes.Buffer) {
	if b.Cap() <= p.most {
		b.Reset()
		p.pool.Put(b)
	}
}

package payloads

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// chunked fills what it reads into, so that all chunks but the last are of one size, and fails where r has more than limit
// bytes.
type chunked struct {
	r           io.Reader
	left, limit int64
	err         error
}

func (c *chunked) Read(p []byte) (n int, err error) {
	for n < len(p) && c.err == nil {
		var m int
		m, c.err = c.r.Read(p[n:])
		n += m
		if c.left -= int64(m); c.left < 0 {
			c.err = tooLarge(c.limit)
		}
	}
	return n, c.err
}

// object is an open one, of which one chunk is in memory.
type object struct {
	ctx         context.Context
	cancel      context.CancelFunc
	stream      jetstream.Stream
	subject     string // of its chunks
	size, chunk int64  // bytes: of all, of each chunk but the last

	at     int64    // of the next byte
	places []uint64 // the sequences of the chunks, where they are known
	have   int64    // the number of the chunk in data
	data   []byte
}

// Read implements io.Reader.
func (o *object) Read(p []byte) (int, error) {
	if o.at >= o.size {
		return 0, io.EOF
	}
	if n := o.at / o.chunk; o.data == nil || n != o.have {
		if err := o.load(n); err != nil {
			return 0, err
		}
	}
	from := o.at % o.chunk
	if from >= int64(len(o.data)) {
		return 0, fmt.Errorf("chunk %d of %s: %w", o.have, o.subject, io.ErrUnexpectedEOF)
	}
	n := copy(p, o.data[from:])
	o.at += int64(n)
	return n, nil
}

func (o *object) load(n int64) error {
	if o.places == nil {
		if err := o.locate(); err != nil {
			return err
		}
	}
	if n >= int64(len(o.places)) {
		return fmt.Errorf("chunk %d of %s: %w", n, o.subject, io.ErrUnexpectedEOF)
	}
	m, err := o.stream.GetMsg(o.ctx, o.places[n])
	if err != nil {
		return fmt.Errorf("chunk %d of %s: %w", n, o.subject, err)
	}
	o.have, o.data = n, m.Data
	return nil
}

// locateWait is how long the next chunk of an object may take to be found. One that was removed is never found.
const locateWait = 10 * time.Second

// locate finds the chunks, without their content.
func (o *object) locate() error {
	c, err := o.stream.OrderedConsumer(o.ctx, jetstream.OrderedConsumerConfig{FilterSubjects: []string{o.subject}, HeadersOnly: true})
	if err != nil {
		return fmt.Errorf("locate %s: %w", o.subject, err)
	}
	want := int((o.size + o.chunk - 1) / o.chunk)
	messages, err := c.Messages()
	if err != nil {
		return fmt.Errorf("locate %s: %w", o.subject, err)
	}
	defer messages.Stop()
	places := make([]uint64, 0, want)
	for len(places) < want {
		m, err := messages.Next(jetstream.NextMaxWait(locateWait))
		if err != nil {
			return fmt.Errorf("locate %s: %w", o.subject, err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return fmt.Errorf("locate %s: %w", o.subject, err)
		}
		places = append(places, meta.Sequence.Stream)
	}
	o.places = places
	return nil
}

// Seek implements io.Seeker.
func (o *object) Seek(offset int64, whence int) (int64, error) {
	return seek(&o.at, o.size, offset, whence)
}

// Close implements io.Closer.
func (o *object) Close() error {
	o.cancel()
	return nil
}

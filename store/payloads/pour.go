package payloads

import (
	"errors"
	"hash"
	"io"
	"sync"
)

// Of a body that trickles a small buffer is in memory. One that comes faster than that has two large ones while there are
// some left: one is hashed while the other is written or read into.
const (
	smallBuffer = 16 << 10
	largeBuffer = 256 << 10
	largePairs  = 32 // bodies with large buffers at a time: 16 MiB
)

// buffers are those of all bodies that are being received.
type buffers struct {
	small sync.Pool
	large chan *[2][]byte // nil where a pair was not made yet
}

func newBuffers() *buffers {
	b := &buffers{large: make(chan *[2][]byte, largePairs)}
	b.small.New = func() any { p := make([]byte, smallBuffer); return &p }
	for range largePairs {
		b.large <- nil
	}
	return b
}

// pour writes all of r to w and to h.
func (b *buffers) pour(w io.Writer, h hash.Hash, r io.Reader) (size int64, err error) {
	small := b.small.Get().(*[]byte)
	defer b.small.Put(small)
	for {
		n, err := r.Read(*small)
		size += int64(n)
		h.Write((*small)[:n])
		if _, werr := w.Write((*small)[:n]); werr != nil {
			return size, werr
		}
		if n == smallBuffer && err == nil {
			var more int64
			more, err = b.pourFast(w, h, r)
			size += more
		}
		if errors.Is(err, io.EOF) {
			return size, nil
		}
		if err != nil {
			return size, err
		}
	}
}

// pourFast does the same until r has less for it than a small buffer, and io.EOF is its end.
func (b *buffers) pourFast(w io.Writer, h hash.Hash, r io.Reader) (size int64, err error) {
	var pair *[2][]byte
	select {
	case pair = <-b.large:
	default:
		return 0, nil
	}
	if pair == nil {
		pair = &[2][]byte{make([]byte, largeBuffer), make([]byte, largeBuffer)}
	}
	defer func() { b.large <- pair }()
	hashed := make(chan struct{}, 1)
	hashed <- struct{}{}
	defer func() { <-hashed }() // before the buffers are another's
	for i := 0; ; i ^= 1 {
		n, err := r.Read(pair[i])
		part := pair[i][:n]
		<-hashed
		go func() { h.Write(part); hashed <- struct{}{} }()
		size += int64(n)
		if _, werr := w.Write(part); werr != nil {
			return size, werr
		}
		if err != nil || n < smallBuffer {
			return size, err
		}
	}
}

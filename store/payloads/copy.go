package payloads

import (
	"cmp"
	"errors"
	"hash"
	"io"
	"sync"

	"ledge/store/osfile"
)

// Of a body that trickles a small buffer is in memory. One that comes faster than that has two large ones while there are
// some left: one is read into while the other is hashed and written.
const (
	smallBuffer = 16 << 10
	fastRead    = smallBuffer / 2 // a read that gives less finds a body that trickles
	largeBuffer = 256 << 10
	largePairs  = 32 // bodies with large buffers at a time: 16 MiB
)

// buffers are those of all bodies that are being received.
type buffers struct {
	small, large sync.Pool // the collector empties them
	pairs        chan struct{}
}

func newBuffers() *buffers {
	b := &buffers{pairs: make(chan struct{}, largePairs)}
	b.small.New = func() any { p := make([]byte, smallBuffer); return &p }
	b.large.New = func() any { return &[2][]byte{osfile.Aligned(largeBuffer), osfile.Aligned(largeBuffer)} }
	return b
}

// pour writes all of r to w and to h.
func (b *buffers) pour(w io.Writer, h hash.Hash, r io.Reader) (size int64, err error) {
	p := &pouring{w: w, h: h, r: r}
	small := b.small.Get().(*[]byte)
	defer b.small.Put(small)
	for {
		n, last, err := 0, 0, error(nil) // the first read may have no more than what came with the header
		for n < smallBuffer && err == nil {
			last, err = p.read((*small)[n:])
			n += last
		}
		if part := (*small)[:n]; last < fastRead || err != nil {
			err = cmp.Or(p.put(part), err)
		} else {
			err = b.pourOn(p, part)
		}
		switch {
		case errors.Is(err, io.EOF):
			return p.size, nil
		case err != nil:
			return p.size, err
		}
	}
}

// pourOn pours head, and what comes fast after it where there are large buffers for that.
func (b *buffers) pourOn(p *pouring, head []byte) error {
	select {
	case b.pairs <- struct{}{}:
		pair := b.large.Get().(*[2][]byte)
		defer func() { b.large.Put(pair); <-b.pairs }()
		return p.fast(pair, head)
	default:
		return p.put(head)
	}
}

// pouring is one body on its way.
type pouring struct {
	w    io.Writer
	h    hash.Hash
	r    io.Reader
	size int64 // of what was read
}

func (p *pouring) read(part []byte) (n int, err error) {
	n, err = p.r.Read(part)
	p.size += int64(n)
	return n, err
}

// put hashes and writes a part of the body.
func (p *pouring) put(part []byte) error {
	hashed := make(chan struct{})
	go func() { p.h.Write(part); close(hashed) }()
	_, err := p.w.Write(part)
	<-hashed
	return err
}

// fast pours head and what follows until r trickles, or fails, as it does at its end.
func (p *pouring) fast(pair *[2][]byte, head []byte) error {
	written := make(chan error, 1)
	written <- nil
	for i := 0; ; i ^= 1 {
		kept := copy(pair[i], head)
		part := pair[i][:largeBuffer-int(p.size-int64(kept))%osfile.DirectAlign] // the next begins aligned in the file
		n, slow, err := p.fill(part, kept)
		head = nil
		if werr := <-written; werr != nil {
			return werr
		}
		go func() { written <- p.put(part[:n]) }()
		if slow || err != nil {
			return cmp.Or(<-written, err)
		}
	}
}

// fill reads behind the first n bytes of part until it is full, r fails, or r trickles.
func (p *pouring) fill(part []byte, n int) (filled int, slow bool, err error) {
	for n < len(part) && !slow && err == nil {
		var m int
		m, err = p.read(part[n:])
		slow = m < min(fastRead, len(part)-n)
		n += m
	}
	return n, slow, err
}

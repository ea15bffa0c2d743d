package bodies

import (
	"bytes"
	"errors"
	"io"
	"sync"
)

// blockBytes is in what pieces memory is taken for a body that is loaded: as it comes, so that a slow client holds no more
// than it has sent.
const blockBytes = 16 << 10

// LeastMemory is the least memory of [Bodies] with which anything can be loaded, in bytes.
const LeastMemory = blockBytes

var blocks = sync.Pool{New: func() any { return new([blockBytes]byte) }}

// Load returns the body where it has at most so many bytes. Of a longer one it returns false, and all of it is still to be
// read. It is for routes that are Streamed, and takes hold of memory as it goes.
func (b *Body) Load(most int64) (whole []byte, ok bool, err error) {
	if _, coded := b.r.(*unzipped); !coded && b.c.Request.ContentLength > most {
		return nil, false, nil
	}
	for left := most + 1; left > 0; {
		n, err := b.loadBlock(left)
		left -= n
		if errors.Is(err, io.EOF) && left > 0 {
			return b.join(int(most + 1 - left)), true, nil
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			b.drop(len(b.ahead))
			return nil, false, err
		}
	}
	return nil, false, nil
}

// loadBlock reads one block, or as much as is left.
func (b *Body) loadBlock(left int64) (int64, error) {
	if b.c.Request.ContentLength == 0 {
		return 0, io.EOF
	}
	if err := b.of.hold(b.c, blockBytes); err != nil {
		return 0, err
	}
	block := blocks.Get().(*[blockBytes]byte)[:min(left, blockBytes)]
	n, err := fillBlock(nextReader{b}, block)
	b.ahead = append(b.ahead, block[:n])
	return int64(n), err
}

// nextReader reads behind the blocks that are loaded.
type nextReader struct{ *Body }

func (r nextReader) Read(p []byte) (int, error) { return r.next(p) }

// join makes one piece of what was loaded.
func (b *Body) join(size int) []byte {
	whole := make([]byte, 0, size)
	for _, block := range b.ahead {
		whole = append(whole, block...)
	}
	if spare := int64(len(b.ahead))*blockBytes - int64(size); spare > 0 {
		b.of.release(b.c, spare)
	}
	for _, block := range b.ahead {
		blocks.Put((*[blockBytes]byte)(block[:blockBytes]))
	}
	b.ahead = nil
	return whole
}

// readAhead reads of what was loaded, and gives back what it leaves behind.
func (b *Body) readAhead(p []byte) int {
	n := copy(p, b.ahead[0][b.at:])
	if b.at += n; b.at == len(b.ahead[0]) {
		b.at = 0
		b.drop(1)
	}
	return n
}

// drop gives back the first n blocks.
func (b *Body) drop(n int) {
	for _, block := range b.ahead[:n] {
		blocks.Put((*[blockBytes]byte)(block[:blockBytes]))
		b.of.release(b.c, blockBytes)
	}
	b.ahead = b.ahead[n:]
}

// ReadAtMost returns the text of r, or false if the text is longer than so many bytes. It reads into blocks that are used again: a
// buffer that grows leaves as much garbage as it has in the end.
func ReadAtMost(r io.Reader, most int64) (text []byte, ok bool, err error) {
	var read [][]byte
	defer func() {
		for _, block := range read {
			blocks.Put((*[blockBytes]byte)(block[:blockBytes]))
		}
	}()
	size := int64(0)
	for err == nil && size <= most {
		block := blocks.Get().(*[blockBytes]byte)[:]
		var n int
		n, err = fillBlock(r, block)
		read = append(read, block[:n])
		size += int64(n)
	}
	switch {
	case size > most:
		return nil, false, nil
	case !errors.Is(err, io.EOF):
		return nil, false, err
	}
	return bytes.Join(read, nil), true, nil
}

// fillBlock reads until the block is full or r fails.
func fillBlock(r io.Reader, block []byte) (n int, err error) {
	for n < len(block) && err == nil {
		var m int
		m, err = r.Read(block[n:])
		n += m
	}
	return n, err
}

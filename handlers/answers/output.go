package answers

import (
	"io"
	"sync"
)

// partBytes is how much of an answer is made before it is sent, in bytes: what an answer has in memory while its client reads.
const partBytes = 64 << 10

// Output is what an answer is written to. It collects a part of the answer before it writes that to w. The first error ends it: all
// that comes after does nothing.
type Output struct {
	Err error
	// Unread says that Err is of the state or of a value, which could not be read.
	Unread bool

	w   io.Writer
	buf []byte
}

// NewOutput returns an output that writes to w.
func NewOutput(w io.Writer) *Output { return &Output{w: w, buf: *parts.Get().(*[]byte)} }

// parts are used again: a part, and the entity that completes it.
var parts = sync.Pool{New: func() any { return new(make([]byte, 0, partBytes+LargeBytes)) }}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	if o.Err == nil && len(p) >= partBytes {
		o.Flush()
		o.write(p)
	} else if o.Err == nil {
		o.buf = append(o.buf, p...)
		o.sendPart()
	}
	if o.Err != nil {
		return 0, o.Err
	}
	return len(p), nil
}

// Print is Write for a text.
func (o *Output) Print(text string) {
	if o.Err == nil {
		o.buf = append(o.buf, text...)
		o.sendPart()
	}
}

// Append has f append to what is not sent yet.
func (o *Output) Append(f func(dst []byte) ([]byte, error)) {
	if o.Err != nil {
		return
	}
	buf, err := f(o.buf)
	if err != nil {
		o.Fail(err)
		return
	}
	o.buf = buf
	o.sendPart()
}

func (o *Output) sendPart() {
	if len(o.buf) >= partBytes {
		o.Flush()
	}
}

// Fail notes that the state or a value cannot be read.
func (o *Output) Fail(err error) {
	if o.Err == nil && err != nil {
		o.Err, o.Unread = err, true
	}
}

// Buffered is how many bytes Flush would write.
func (o *Output) Buffered() int { return len(o.buf) }

// Flush writes what was collected.
func (o *Output) Flush() {
	if len(o.buf) > 0 {
		o.write(o.buf)
		o.buf = o.buf[:0]
	}
}

func (o *Output) write(p []byte) {
	if o.Err == nil {
		_, o.Err = o.w.Write(p)
	}
}

// Free gives the memory of the output back. Nothing can be written after it.
func (o *Output) Free() {
	if cap(o.buf) > 0 && cap(o.buf) <= 2*(partBytes+LargeBytes) {
		parts.Put(new(o.buf[:0]))
	}
	o.buf = nil
}

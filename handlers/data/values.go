package data

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/answers"
)

// values opens the values of readings, one after the other, and has at most one event of the log in memory. Of a client that
// reads slowly it has only the value that is being written.
type values struct {
	service
	ctx    context.Context
	memory *answers.Memory // for event

	mu      sync.Mutex // against shed
	seq     uint64     // that of event, 0 for none
	event   domain.Event
	current int64 // bytes of the value that was opened last, if it is in memory
}

func (s service) newValues(c *gin.Context) *values {
	return &values{service: s, ctx: c.Request.Context(), memory: s.AnswerMemoryOf(c)}
}

// shed gives back the memory of the event except for the value that is being written. The event is read again for the
// next value.
func (v *values) shed() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seq, v.event = 0, nil
	v.memory.Keep(v.current)
}

// open returns the value of a reading: the text of EdgeX, JSON of an Object, the bytes of a Binary. It is not ok where it
// is gone: with its reading, or just before it, by retention.
func (v *values) open(r domain.Reading) (value io.ReadSeekCloser, ok bool, err error) {
	if r.Digest != "" {
		return v.payload(r)
	}
	if r.ValueType != domain.Binary && (r.Text != "" || r.Size == 0) {
		return inMemory{strings.NewReader(r.Text)}, true, nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.load(r.Event); err != nil {
		return nil, false, err
	}
	data, ok := domain.ValueIn(v.event, r.ID)
	v.current = int64(len(data))
	return inMemory{bytes.NewReader(data)}, ok, nil
}

// payload opens the value of a reading that is beside the log. Where it is missing and the reading is still there, that is
// damage: a payload is removed after the last reading that refers to it.
func (v *values) payload(r domain.Reading) (value io.ReadSeekCloser, ok bool, err error) {
	value, err = v.payloads.Get(r.Digest)
	if errors.Is(err, fs.ErrNotExist) {
		if _, there := v.reading(r.ID); !there {
			return nil, false, nil
		}
		return nil, false, domain.Errorf(domain.Damaged, "the value of reading %s is missing: there is no file payloads/%s in the data folder; restore it from a backup, or remove the event %s", r.ID, r.Digest, r.Event)
	}
	if err != nil {
		return nil, false, err
	}
	size, err := value.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = value.Seek(0, io.SeekStart)
	}
	if err == nil && size != r.Size {
		err = domain.Errorf(domain.Damaged, "the value of reading %s is damaged: the file payloads/%s in the data folder has %d bytes, not %d; restore it from a backup, or remove the event %s", r.ID, r.Digest, size, r.Size, r.Event)
	}
	if err != nil {
		value.Close()
		return nil, false, err
	}
	return value, true, nil
}

// load reads the event of the log that has added a data event.
func (v *values) load(id string) error {
	e, seq, ok := v.lookUp(id)
	if ok && seq == v.seq {
		return nil
	}
	v.forget()
	if !ok {
		return nil
	}
	if err := v.memory.Hold(weight(e.Size)); err != nil {
		return err
	}
	event, ok, err := v.events(v.ctx, seq)
	if err != nil || !ok {
		return err
	}
	v.seq, v.event = seq, event
	v.memory.Keep(2*e.Size + 64<<10) // its text is not needed any more
	return nil
}

// weight is the memory that an event takes whose values have so many bytes: its text and what is made of it.
func weight(size int64) int64 { return min(6*size+64<<10, 4*inlineTogether) }

// release forgets the event.
func (v *values) release() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.forget()
}

func (v *values) forget() {
	v.memory.Release()
	v.seq, v.event, v.current = 0, nil, 0
}

// inMemory is a value that need not be closed.
type inMemory struct{ io.ReadSeeker }

// Close implements io.Closer.
func (inMemory) Close() error { return nil }

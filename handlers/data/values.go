package data

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"

	"ledge/domain"
)

// values opens the values of readings, one after the other, and has at most one event of the log in memory.
type values struct {
	service
	ctx   context.Context
	seq   uint64 // that of event, 0 for none
	event domain.Event
	held  int64
}

// open returns the value of a reading: the text of EdgeX, JSON of an Object, the bytes of a Binary. It is not ok where it
// is gone: with its reading, or just before it, by retention.
func (v *values) open(r domain.Reading) (value io.ReadSeekCloser, ok bool, err error) {
	if r.Digest != "" {
		value, err = v.payloads.Get(r.Digest)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, false, nil
		}
		return value, err == nil, err
	}
	if r.ValueType != domain.Binary && (r.Text != "" || r.Size == 0) {
		return inMemory{strings.NewReader(r.Text)}, true, nil
	}
	if err := v.load(r.Event); err != nil {
		return nil, false, err
	}
	data, ok := domain.ValueIn(v.event, r.ID)
	return inMemory{bytes.NewReader(data)}, ok, nil
}

// load reads the event of the log that has added a data event.
func (v *values) load(id string) error {
	e, seq, ok := v.lookUp(id)
	if ok && seq == v.seq {
		return nil
	}
	v.release()
	if !ok {
		return nil
	}
	if err := v.hold(e.Size); err != nil {
		return err
	}
	event, ok, err := v.events(v.ctx, seq)
	if err != nil || !ok {
		return err
	}
	v.seq, v.event = seq, event
	return nil
}

// hold waits for the memory that an event takes whose values have so many bytes: its text and what is made of it. It is
// not kept up for longer than an answer that makes no progress can be.
func (v *values) hold(size int64) error {
	ctx, cancel := context.WithTimeout(v.ctx, v.WriteTimeout)
	defer cancel()
	n := min(6*size+64<<10, 4*inlineTogether, v.BodyMemory)
	if err := v.values.Acquire(ctx, n); err != nil {
		return domain.Errorf(domain.Unavailable, "answers have values of %d bytes in memory, which is the limit (setting limit-body-memory); try again", v.BodyMemory)
	}
	v.held = n
	return nil
}

// release forgets the event.
func (v *values) release() {
	if v.held > 0 {
		v.values.Release(v.held)
	}
	v.seq, v.event, v.held = 0, nil, 0
}

// inMemory is a value that need not be closed.
type inMemory struct{ io.ReadSeeker }

// Close implements io.Closer.
func (inMemory) Close() error { return nil }

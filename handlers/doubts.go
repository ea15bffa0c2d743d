package handlers

import (
	"sync"

	"ledge/domain"
)

// Releaser ends the hold of a payload that was put; used says that there is a reading that refers to it.
type Releaser interface {
	Release(digest string, used bool)
}

// Doubts are the payloads of readings of which it is not known whether they are on record: the log could not tell, because
// it was failing. They stay held until a later reading is recorded: by then the log has been read again, and what of the
// earlier ones it has is in the state.
type Doubts struct {
	payloads Releaser

	mu    sync.Mutex
	held  []string
	ended uint64 // how many were released
	last  uint64 // the latest sequence of a reading; one that was recorded before and is recalled has an earlier one
}

// NewDoubts returns none so far.
func NewDoubts(payloads Releaser) *Doubts { return &Doubts{payloads: payloads} }

// Settle has a command recorded and releases the payloads of its readings, which may be none.
func (d *Doubts) Settle(digests []string, submit func() (seq uint64, err error)) error {
	before := d.begun()
	seq, err := submit()
	if uncertain(err) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.held = append(d.held, digests...)
		return err
	}
	d.end(before, seq)
	for _, digest := range digests {
		d.payloads.Release(digest, seq > 0)
	}
	return err
}

// uncertain reports whether err leaves open what became of a command.
func uncertain(err error) bool {
	code := domain.CodeOf(err)
	return err != nil && (code == domain.Unavailable || code == domain.Internal)
}

// begun is how many there were so far.
func (d *Doubts) begun() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ended + uint64(len(d.held))
}

// end releases those that were there before a command that was recorded at seq, if it was. Nobody knows which of them are
// used.
func (d *Doubts) end(before, seq uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if seq <= d.last {
		return
	}
	d.last = seq
	for ; d.ended < before; d.ended++ {
		d.payloads.Release(d.held[0], false)
		d.held = d.held[1:]
	}
}

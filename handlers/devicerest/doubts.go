package devicerest

import (
	"sync"

	"ledge/domain"
)

// doubts are the payloads of readings of which it is not known whether they are on record: the log could not tell, because
// it was failing. They stay held until a later reading is recorded: by then the log has been read again, and what of the
// earlier ones it has is in the state.
type doubts struct {
	payloads Payloads

	mu    sync.Mutex
	held  []string
	ended uint64 // how many were released
	last  uint64 // the latest sequence of a reading; one that was recorded before and is recalled has an earlier one
}

// settle has a command recorded and releases its payload, if it has one: digest is not empty then.
func (d *doubts) settle(digest string, submit func() (seq uint64, err error)) error {
	before := d.begun()
	seq, err := submit()
	if err != nil && domain.CodeOf(err) == domain.Unavailable && digest != "" {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.held = append(d.held, digest)
		return err
	}
	d.end(before, seq)
	if digest != "" {
		d.payloads.Release(digest, seq > 0)
	}
	return err
}

// begun is how many there were so far.
func (d *doubts) begun() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ended + uint64(len(d.held))
}

// end releases those that were there before a command that was recorded at seq, if it was. Nobody knows which of them are
// used.
func (d *doubts) end(before, seq uint64) {
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

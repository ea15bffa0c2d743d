package store

import (
	"context"

	"ledge/domain"
)

// Event returns the event at a sequence; ok is false where retention has removed it. It asks the server for this one
// message, which neither reads what is around it nor verifies the chain, as [Log.Read] does.
func (l *Log) Event(ctx context.Context, seq uint64) (e domain.Event, ok bool, err error) {
	f, err := l.newFetch()
	if err != nil {
		return nil, false, err
	}
	defer f.close()
	l.store.gate.RLock() // as in pages
	p := f.page(ctx, seq, seq)
	l.store.gate.RUnlock()
	if p.err != nil || len(p.messages) == 0 {
		return nil, false, p.err
	}
	e, err = l.event(p.messages[0])
	return e, err == nil, err
}

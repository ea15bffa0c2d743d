package retention

import (
	"context"
	"time"

	"ledge/projections"
)

// maxAge is the limit readings-max-age: whole block files from the front of the log, with their state and their payload files, and then
// single data events from the block that younger ones are in.
type maxAge struct {
	stream
	age time.Duration
}

func (m maxAge) keep(ctx context.Context) error {
	end, err := m.Log.OlderThan(ctx, m.node.Now().Add(-m.age))
	if err != nil || end <= m.Log.First() {
		return err
	}
	if _, err := m.dropBefore(ctx, end); err != nil {
		return err
	}
	_, _, err = m.remove(ctx, "readings-max-age="+m.age.String(), 0, before(end))
	return err
}

// before picks the data events before a sequence.
func before(end uint64) func(projections.RecordedEvent) (goes, more bool) {
	return func(e projections.RecordedEvent) (goes, more bool) { return e.Seq < end, e.Seq < end }
}

package callback

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"ledge/domain"
)

// When the position is recorded: so long after a call was made, so that the calls of that time share a record, and
// after so many events without any.
const (
	recordAfter = time.Second
	recordEvery = 10_000
)

// position is how far the services are, as it is on record. It is guarded by Callbacks.mu.
type position struct {
	upTo   uint64
	behind map[string]uint64 // the services that are not as far as upTo
	moved  bool              // a call was made or given up since
}

// recordLater puts the position on record again and again, if it has moved. What the log refuses is recorded with the next position.
func (c *Callbacks) recordLater(ctx context.Context) error {
	every := time.NewTicker(recordAfter)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil // Close records it
		case <-every.C:
			c.record(ctx, false)
		}
	}
}

// record puts the position on record, at the end only if that is worth it.
func (c *Callbacks) record(ctx context.Context, last bool) {
	command, ok := c.where(last)
	if !ok {
		return
	}
	err := c.submit(ctx, command)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.position.recorded(command)
		return
	}
	c.position.moved = true
	if ctx.Err() == nil {
		c.Logger.Warn("position of the callbacks not recorded; a crash would repeat some", "event", command.UpTo, "error", err)
	}
}

// behindTogether is how many services one event names.
const behindTogether = 4096

// submit records a position. If more services are behind than one event names, it takes several events, of which the last moves UpTo. After
// a crash between two of them some calls are made again.
func (c *Callbacks) submit(ctx context.Context, command domain.RecordCallbacks) error {
	names := slices.Sorted(maps.Keys(command.Behind))
	for last := false; !last; {
		n := min(len(names), behindTogether)
		part := domain.RecordCallbacks{Behind: map[string]uint64{}}
		for _, name := range names[:n] {
			part.Behind[name] = command.Behind[name]
		}
		names = names[n:]
		if last = len(names) == 0; last {
			part.UpTo = command.UpTo
		}
		stamp := domain.Stamp{EventID: uuid.Must(uuid.NewV7()).String(), At: c.Now(), Actor: "ledge", Origin: "bridge"}
		outcomes, err := c.Notifications.Submit(ctx, domain.Request{Stamp: stamp, Command: part})
		if err != nil {
			return err
		}
		if outcomes[0].Err != nil {
			return outcomes[0].Err
		}
	}
	return nil
}

// where returns the position of this moment, if it is to be recorded. While the events up to the one on record are followed again for a
// service that is behind, the others have theirs and nothing is recorded.
func (c *Callbacks) where(last bool) (command domain.RecordCallbacks, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	every := uint64(recordEvery)
	if last {
		every /= 10
	}
	if c.followed < c.position.upTo || !c.position.moved && c.followed < c.position.upTo+every {
		return command, false
	}
	c.position.moved = false
	command = domain.RecordCallbacks{UpTo: c.followed, Behind: map[string]uint64{}}
	for name := range c.position.behind {
		command.Behind[name] = 0
	}
	for name, s := range c.services {
		if len(s.waiting) > 0 {
			command.Behind[name] = s.waiting[0].seq - 1
		}
	}
	return command, true
}

func (p *position) recorded(command domain.RecordCallbacks) {
	p.upTo, p.behind = command.UpTo, command.Behind
	maps.DeleteFunc(p.behind, func(_ string, seq uint64) bool { return seq == 0 })
}

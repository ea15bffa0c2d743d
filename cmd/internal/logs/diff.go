package logs

import (
	"context"
	"fmt"
	"io"
	"time"

	"ledge/cmd/internal/node"
	"ledge/domain/history"
	"ledge/domain/moment"
)

// Diff returns the difference that the events after one moment up to another make to the entities that want chooses. The zero moment to is
// the end of the log.
func (l *Reader) Diff(ctx context.Context, from, to moment.Moment, want func(entity, name string) bool) (*history.Net, error) {
	log := l.Logs()[0]
	changes, now := node.NewChangeLog(log), time.Now()
	source := history.Source{
		Last: changes.Last, UpTo: func(ctx context.Context, t time.Time) (uint64, error) { return node.UpTo(ctx, log, t) },
	}
	first, err := source.Resolve(ctx, from, now)
	if err != nil {
		return nil, node.WithCode(fmt.Errorf("--from: %w", err))
	}
	end := source.Last()
	if to != (moment.Moment{}) {
		if end, err = source.Resolve(ctx, to, now); err != nil {
			return nil, node.WithCode(fmt.Errorf("--to: %w", err))
		}
	}
	if first > end {
		return nil, fmt.Errorf("--from is event %d and --to is event %d; swap them", first, end)
	}
	net := &history.Net{Log: changes, Want: want}
	return net, node.WithCode(net.Read(ctx, first, end))
}

// PrintDiff prints the difference of an entity for people.
func PrintDiff(w io.Writer, c history.NetChange) error {
	_, err := fmt.Fprintf(w, "%s %s: %s\n", c.Entity, shownText(c.Name), c.Verb)
	for _, f := range c.Changes {
		if err == nil {
			_, err = fmt.Fprintf(w, "  %s: %s → %s\n", shownPath(f.Field), shownValue(f.Was), shownValue(f.Is))
		}
	}
	return err
}

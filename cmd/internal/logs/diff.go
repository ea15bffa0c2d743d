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
	last, _ := log.Last()
	first, err := l.resolve(ctx, from, "--from")
	end := last
	if err == nil && to != (moment.Moment{}) {
		end, err = l.resolve(ctx, to, "--to")
	}
	if err == nil && first > end {
		err = fmt.Errorf("--from is event %d and --to is event %d; swap them", first, end)
	}
	if err != nil {
		return nil, err
	}
	net := &history.Net{Log: node.NewChangeLog(log), Want: want}
	if first == end {
		return net, nil
	}
	for r, err := range log.Read(ctx, first+1, end) {
		if err == nil {
			err = net.Add(ctx, r)
		}
		if err != nil {
			return nil, err
		}
	}
	return net, ctx.Err()
}

// resolve returns the sequence of a moment.
func (l *Reader) resolve(ctx context.Context, m moment.Moment, flag string) (uint64, error) {
	log := l.Logs()[0]
	last, _ := log.Last()
	if m.Time.IsZero() && m.Sequence > last {
		return 0, fmt.Errorf("%s: event %d is not recorded yet, the last one is %d", flag, m.Sequence, last)
	}
	if m.Time.IsZero() {
		return m.Sequence, nil
	}
	if m.Time.After(time.Now()) {
		return 0, fmt.Errorf("%s: %s is in the future", flag, m.Time.Format(time.RFC3339))
	}
	return node.UpTo(ctx, log, m.Time)
}

// PrintDiff prints the difference of an entity for people.
func PrintDiff(w io.Writer, c history.NetChange) error {
	_, err := fmt.Fprintf(w, "%s %s: %s\n", c.Entity, shownText(c.Name), c.Verb)
	for _, f := range c.Changes {
		if err == nil {
			_, err = fmt.Fprintf(w, "  %s: %s → %s\n", shownText(f.Field), shownValue(f.Was), shownValue(f.Is))
		}
	}
	return err
}

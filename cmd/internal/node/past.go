package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"ledge/domain"
	"ledge/domain/history"
	"ledge/projections"
	"ledge/store"
)

// pastOf reads the log of changes from event 1 on without its archives: what is archived is told as the additions of what
// was there at the end of it.
func pastOf(ctx context.Context, s *store.Store, to uint64, f func(domain.Recorded) error) error {
	from := uint64(1)
	for _, snapshot := range s.Snapshots() {
		if snapshot.Seq <= to {
			if err := snapshot.Read(func(r io.Reader) error { return additions(r, snapshot.Seq, f) }); err != nil {
				return err
			}
			from = snapshot.Seq + 1
			break
		}
	}
	if from > to {
		return nil
	}
	return Each(s.Events().Read(ctx, from, to), f)
}

// additions tells the devices and provision watchers of a snapshot.
func additions(snapshot io.Reader, seq uint64, f func(domain.Recorded) error) error {
	for in := json.NewDecoder(snapshot); ; {
		var row projections.SnapshotRow
		if err := in.Decode(&row); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		r := domain.Recorded{Seq: seq}
		switch row.Table {
		case "devices":
			var e domain.DeviceAdded
			if err := json.Unmarshal(row.Value, &e.Device); err != nil {
				return err
			}
			r.Event = e
		case "watchers":
			var e domain.WatcherAdded
			if err := json.Unmarshal(row.Value, &e.Watcher); err != nil {
				return err
			}
			r.Event = e
		default:
			continue
		}
		if err := f(r); err != nil {
			return err
		}
	}
}

// history reads a part of the event stream. Of what is archived, a part from event 1 on tells only what was there in the end.
func (n *Node) history(ctx context.Context, from, to uint64, f func(domain.Recorded) error) error {
	if from == 1 && n.Changes.Log.First() > 1 {
		return pastOf(ctx, n.Store, to, f)
	}
	if from == to { // as in a walk from an update to the one before
		if r, ok, err := n.Changes.Log.RecordedAt(ctx, from); ok && err == nil {
			return f(r)
		}
	}
	return Each(n.Changes.Log.Read(ctx, from, to), f)
}

// ChangeLog reads single events and spans of the log of changes, archived ones too.
type ChangeLog struct {
	log  *store.Log
	last func() uint64
}

// NewChangeLog returns a log of changes without a state.
func NewChangeLog(log *store.Log) ChangeLog {
	return ChangeLog{log, func() uint64 { last, _ := log.Last(); return last }}
}

// ChangeLog returns the log of changes for readers of the past.
func (n *Node) ChangeLog() ChangeLog { return ChangeLog{n.Changes.Log, n.Changes.Recorded} }

// Past returns the source of histories.
func (n *Node) Past() history.Source {
	return history.Source{
		State: n.Changes.View, Log: n.ChangeLog(), First: n.Changes.Log.First, Last: n.Changes.Recorded,
		Notifications: n.Events().History,
		UpTo:          func(ctx context.Context, t time.Time) (uint64, error) { return UpTo(ctx, n.Changes.Log, t) },
	}
}

// Last is the sequence of the last event that the state shows.
func (l ChangeLog) Last() uint64 { return l.last() }

// At implements history.Reader. An archived event takes a read of its archive up to it.
func (l ChangeLog) At(ctx context.Context, seq uint64) (r domain.Recorded, ok bool, err error) {
	log := l.log
	if r, ok, err = log.RecordedAt(ctx, seq); ok || err != nil || seq == 0 || seq >= log.First() {
		return r, ok, err
	}
	for r, err := range log.Read(ctx, seq, seq) {
		if IsGap(err) {
			return domain.Recorded{}, false, nil
		}
		return r, err == nil, err
	}
	return r, false, ctx.Err()
}

// Read implements history.Reader.
func (l ChangeLog) Read(ctx context.Context, from, to uint64, f func(domain.Recorded) error) error {
	err := Each(l.log.Read(ctx, from, to), f)
	switch {
	case IsGap(err):
		return fmt.Errorf("%w: %w", history.ErrUnread, err)
	case err == nil:
		return ctx.Err()
	}
	return err
}

// UpTo returns the last event that was stored at a time or before, archived ones too; 0 for none. If the clock was set back, all events up
// to that one count as stored before. In an archive all events from the first later one on count as stored after. It reads one block file,
// or two archives. The error is history.ErrUnread if the archive is missing.
func UpTo(ctx context.Context, log *store.Log, t time.Time) (uint64, error) {
	after := t.Add(time.Nanosecond)
	behind, err := log.OlderThan(ctx, after)
	if err != nil || behind > log.First() || behind == 1 {
		return behind - 1, err
	}
	from, err := log.Begin(ctx, after)
	if err != nil {
		return 0, err
	}
	// The event before is read too: it may be in an archive that is missing.
	for m, err := range log.ReadRaw(ctx, max(min(from, behind)-1, 1), behind-1) {
		if IsGap(err) {
			return 0, fmt.Errorf("%w: %w", history.ErrUnread, err)
		}
		if err != nil {
			return 0, err
		}
		if m.At.After(t) {
			return m.Seq - 1, nil
		}
	}
	return behind - 1, ctx.Err()
}

// ReadHistory returns a page of the history of an entity.
func (n *Node) ReadHistory(ctx context.Context, q history.Query) (page history.Page, err error) {
	err = n.Try(func() (err error) {
		page, err = n.Past().Read(ctx, q)
		return err
	})
	return page, err
}

// Each calls f with each event until one of them fails.
func Each(events iter.Seq2[domain.Recorded, error], f func(domain.Recorded) error) error {
	for r, err := range events {
		if err == nil {
			err = f(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

package history

import (
	"context"
	"time"

	"ledge/domain"
	"ledge/domain/moment"
)

// Source is the state with the log that it is folded from.
type Source struct {
	State func() (domain.View, func())
	Log   Reader
	// First is the first event that is not in an archive, and Last the last one that State shows.
	First, Last func() uint64
	// Notifications returns a page of the history of a notification.
	Notifications func(context.Context, Query) (Page, error)
	// UpTo returns the last event that was stored at a time or before; 0 for none. The error is ErrUnread if an archive is missing.
	UpTo func(ctx context.Context, t time.Time) (uint64, error)
}

// Resolve returns the sequence of the event that a moment means: of a time the last event that was stored at it or before, 0 for none. It
// refuses a moment that is not recorded yet. It needs Last and UpTo only.
func (s Source) Resolve(ctx context.Context, m moment.Moment, now time.Time) (uint64, error) {
	last := s.Last()
	if m.Time.IsZero() && m.Sequence > last {
		const says = "event %d is not recorded yet, the last one is %d; use its sequence or a lower one"
		return 0, domain.Errorf(domain.Invalid, says, m.Sequence, last)
	}
	if m.Time.IsZero() {
		return m.Sequence, nil
	}
	if m.Time.After(now) {
		const says = "%s is in the future, the clock shows %s; use an earlier time"
		return 0, domain.Errorf(domain.Invalid, says, m.Time.Format(time.RFC3339), now.Format(time.RFC3339))
	}
	seq, err := s.UpTo(ctx, m.Time)
	return min(seq, last), err
}

// Latest is the last event of a name, and the entity that it has left.
type Latest struct {
	Lives
	Seq      uint64 // of the event; 0 if the state knows of none
	Entity   any    // nil if it is not there
	Revision uint64 // of the entity
}

// LatestOf returns the last event of a name.
func LatestOf(s domain.State, k Kind, name string) Latest {
	l := Latest{Lives: k.Lives(s, name)}
	if entity, revision, ok := k.Current(s, name); ok {
		l.Entity, l.Revision = entity, revision
	}
	l.Seq = max(l.Revision, l.Last)
	return l
}

// IsRemoved reports whether the entity was there and is not any more.
func (l Latest) IsRemoved() bool { return l.Entity == nil && l.Seq > 0 }

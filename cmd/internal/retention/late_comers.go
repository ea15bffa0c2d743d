package retention

import (
	"context"

	"ledge/domain"
	"ledge/store"
)

// lateComers are the notifications that a cleanup leaves alone because they came after its request, as the log says: a
// notification that was on record then, and has changed since, is not a late comer.
type lateComers struct {
	kind     string
	revision uint64 // of the request
	read     uint64 // up to this sequence
	ids      map[string]bool
}

// mostLate bounds the ids in memory, some 100 bytes each. Beyond that, each notification that has changed since the request
// is left alone.
const mostLate = 100_000

// readTo reads what came after the request of a cleanup of a kind, which is 0 if none is under way, up to a sequence.
func (l *lateComers) readTo(ctx context.Context, log *store.Log, kind string, request, upTo uint64) error {
	if l.kind != kind || l.revision != request {
		*l = lateComers{kind: kind, revision: request, read: request, ids: map[string]bool{}}
	}
	if request == 0 || l.read >= upTo {
		return nil
	}
	for r, err := range log.Read(ctx, l.read+1, upTo) {
		if err != nil {
			return err
		}
		l.note(r.Event)
		l.read = r.Seq
	}
	return nil
}

func (l *lateComers) note(e domain.Event) {
	if len(l.ids) > mostLate {
		return
	}
	switch e := e.(type) {
	case domain.NotificationAdded:
		l.ids[e.Notification.ID] = true
	case domain.NotificationsRaised:
		for _, one := range e.Raised {
			l.ids[one.Notification.ID] = true
		}
	case domain.NotificationProcessed:
		if l.kind == domain.CleanupProcessed { // it was not what the request is about
			l.ids[e.Notification.ID] = true
		}
	}
}

func (l *lateComers) has(id string) bool { return l.ids[id] || len(l.ids) > mostLate }

package projections

import (
	"math"

	"ledge/domain"
	"ledge/projections/fold"
)

// room is how much one part of a cleanup may name, and how many bytes of rows the fold will read for it.
type room struct{ names, bytes int }

var partOfCleanup = room{names: 1000, bytes: 4 << 20}

func (r *room) take(names, bytes int) { r.names, r.bytes = r.names-names, r.bytes-bytes }
func (r *room) full() bool            { return r.names <= 0 || r.bytes <= 0 }

// CleanupAfter returns the first cleanup that goes on, in the order of their kinds, behind a kind; false for none.
func (v *View) CleanupAfter(kind string) (next domain.Cleanup, ok bool, err error) {
	err = v.Read(func() error { next, ok = cleanups.After(v.View, kind); return nil })
	return next, ok, err
}

// CleanUp returns the next part of a cleanup, oldest first, and the cleanup's revision, which is 0 where none of that kind
// goes on. An empty part says that nothing is left. Ids, times and revisions are in the indexes.
//
// What no event after the request has put was on record. Of a notification that a later event has put, only the log says
// whether it was: late is told the revision and the checkpoint that the View lists, and returns what reports whether a
// notification came, or came to be PROCESSED for the cleanup of those, between the two. A nil late says so of all. Data events and
// transmissions that are finished have no later events that matter.
func (v *View) CleanUp(kind string, late func(revision, upTo uint64) (func(id string) bool, error)) (part domain.CleanUp, revision uint64, err error) {
	part.Kind = kind
	err = v.Read(func() error {
		c, ok := v.Cleanups.Get(kind)
		if !ok {
			return nil
		}
		revision = domain.Revision(v.Cleanups, kind)
		since := func(string) bool { return true }
		if late != nil {
			upTo, _ := v.Checkpoint()
			if since, err = late(revision, upTo); err != nil {
				return err
			}
		}
		left, until := partOfCleanup, c.Until
		if c.Everything() {
			until = math.MaxInt64
		}
		young := func(_ string, seq uint64) bool { return seq >= revision }
		youngNote := func(id string, seq uint64) bool { return seq >= revision && since(id) }
		switch kind {
		case domain.CleanupTransmissions:
			for _, status := range []string{domain.StatusSent, domain.StatusAcknowledged, domain.StatusEscalated} {
				list, err := removals(v.View, transmissions, until, young, &left, is(domain.IndexStatus, status))
				if err != nil {
					return err
				}
				part.Transmissions = append(part.Transmissions, list...)
			}
		case domain.CleanupProcessed:
			part.Notifications, err = removals(v.View, notifications, until, youngNote, &left, is(domain.IndexStatus, domain.StatusProcessed))
		case domain.CleanupEvents:
			part.DataEvents, err = removals(v.View, dataEvents, c.Until, young, &left)
		default:
			if device, ok := c.Device(); ok {
				part.DataEvents, err = removals(v.View, dataEvents, math.MaxInt64, young, &left, is(domain.IndexDevice, device))
				return err
			}
			part.Notifications, err = removals(v.View, notifications, until, youngNote, &left)
		}
		return err
	})
	return part, revision, err
}

// Old returns what retention by age removes, without a reason: notifications that were last modified until a time in
// milliseconds since the Unix epoch, with their transmissions, the oldest first, as many as one part of a cleanup may name;
// and where there are none, open transmissions of that age whose notification has left the log before them.
func (v *View) Old(until int64) (part domain.CleanUp, err error) {
	err = v.Read(func() error {
		left := partOfCleanup
		if part.Notifications, err = removals(v.View, notifications, until, nil, &left); err != nil || len(part.Notifications) > 0 {
			return err
		}
		part.Transmissions, err = leftBehind(v.View, until)
		return err
	})
	return part, err
}

// leftBehind lists open transmissions that were created until a time and have no notification any more. Others never are
// without one: their last event is one of the notification's.
func leftBehind(v *fold.View, until int64) (list []domain.Removal, err error) {
	open, err := transmissions.Walk(v, is(domain.IndexStatus, domain.StatusResending))
	if err != nil {
		return nil, err
	}
	for entry := range open {
		if entry.Time() > until || len(list) == partOfCleanup.names {
			break
		}
		if t := transmissions.Entity(v, entry); !notifications.Has(v, t.NotificationID) {
			list = append(list, domain.Removal{ID: t.ID, Revision: entry.Seq()})
		}
	}
	return list, nil
}

func is(index, value string) fold.Filter { return fold.Filter{Index: index, Value: value} }

// removals lists the entities of a table that the filter keeps, if there is one, until a time, while there is room, but for those of which
// young, which is asked with the sequence of the event that put them, says so; notifications with their transmissions.
func removals[S any](v *fold.View, t *fold.Table[S], last int64, young func(name string, seq uint64) bool, left *room, filters ...fold.Filter) (list []domain.Removal, err error) {
	entries, err := t.Walk(v, filters...)
	if err != nil {
		return nil, err
	}
	for entry := range entries {
		if left.full() || entry.Time() > last {
			break
		}
		r := domain.Removal{ID: entry.Name(), Revision: entry.Seq()}
		if young != nil && young(r.ID, r.Revision) {
			continue
		}
		parts := 0
		switch t.ID {
		case notificationsID:
			if r.Transmissions, err = idsOfTransmissions(v, r.ID); err != nil {
				return nil, err
			}
			parts = len(r.Transmissions)
		case dataEventsID:
			parts = len(dataEvents.Entity(v, entry).Readings)
		}
		left.take(1+parts, t.Size(v, entry))
		list = append(list, r)
	}
	return list, nil
}

// TransmissionIDs returns the ids of a notification's transmissions, in no order.
func (v *View) TransmissionIDs(notification string) (ids []string, err error) {
	err = v.Read(func() error {
		ids, err = idsOfTransmissions(v.View, notification)
		return err
	})
	return ids, err
}

func idsOfTransmissions(v *fold.View, notification string) (ids []string, err error) {
	entries, err := transmissions.Walk(v, is(domain.IndexNotification, notification))
	if err != nil {
		return nil, err
	}
	for entry := range entries {
		ids = append(ids, entry.Name())
	}
	return ids, nil
}

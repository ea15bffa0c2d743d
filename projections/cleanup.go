package projections

import (
	"bytes"
	"math"

	"go.etcd.io/bbolt"

	"ledge/domain"
)

// room is how much one part of a cleanup may name, and how many bytes of rows the fold will read for it.
type room struct{ names, bytes int }

var partOfCleanup = room{names: 1000, bytes: 4 << 20}

func (r *room) take(names, bytes int) { r.names, r.bytes = r.names-names, r.bytes-bytes }
func (r *room) full() bool            { return r.names <= 0 || r.bytes <= 0 }

// CleanupAfter returns the first cleanup that goes on, in the order of their kinds, behind a kind; false for none.
func (v *View) CleanupAfter(kind string) (next domain.Cleanup, ok bool, err error) {
	err = v.reading(func() error {
		last := appendRow(nil, cleanupsID, kind)
		c := v.rows.Cursor()
		key, _ := c.Seek(last)
		if bytes.Equal(key, last) {
			key, _ = c.Next()
		}
		if len(key) > 0 && key[0] == cleanupsID {
			next, _, ok = cleanups.read(v.rows, key)
		}
		return nil
	})
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
	err = v.reading(func() error {
		c, ok := v.Cleanups.Get(kind)
		if !ok {
			return nil
		}
		revision = domain.Revision(v.Cleanups, kind)
		since := func(string) bool { return true }
		if late != nil {
			if since, err = late(revision, v.filed.seq); err != nil {
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
				list, err := transmissions.until(v.rows, until, young, &left, Status(status))
				if err != nil {
					return err
				}
				part.Transmissions = append(part.Transmissions, list...)
			}
		case domain.CleanupProcessed:
			part.Notifications, err = notifications.until(v.rows, until, youngNote, &left, Status(domain.StatusProcessed))
		case domain.CleanupEvents:
			part.DataEvents, err = dataEvents.until(v.rows, c.Until, young, &left)
		default:
			if device, ok := c.Device(); ok {
				part.DataEvents, err = dataEvents.until(v.rows, math.MaxInt64, young, &left, ByDevice(device))
				return err
			}
			part.Notifications, err = notifications.until(v.rows, until, youngNote, &left)
		}
		return err
	})
	return part, revision, err
}

// Old returns what retention by age removes, without a reason: notifications that were last modified until a time in
// milliseconds since the Unix epoch, with their transmissions, the oldest first, as many as one part of a cleanup may name;
// and where there are none, open transmissions of that age whose notification has left the log before them.
func (v *View) Old(until int64) (part domain.CleanUp, err error) {
	err = v.reading(func() error {
		left := partOfCleanup
		if part.Notifications, err = notifications.until(v.rows, until, nil, &left); err != nil || len(part.Notifications) > 0 {
			return err
		}
		part.Transmissions, err = leftBehind(v.rows, until)
		return err
	})
	return part, err
}

// leftBehind lists open transmissions that were created until a time and have no notification any more. Others never are
// without one: their last event is one of the notification's.
func leftBehind(rows *bbolt.Bucket, until int64) (list []domain.Removal, err error) {
	s, err := transmissions.search(rows, []Filter{Status(domain.StatusResending)})
	if err != nil {
		return nil, err
	}
	for suffix := range s.passing(rows, true, 0) {
		if timeOf(suffix) > until || len(list) == partOfCleanup.names {
			break
		}
		t, seq, _ := transmissions.read(rows, append([]byte{transmissions.id}, suffix[suffixHead:]...))
		if fetch(rows, appendRow(nil, notificationsID, t.NotificationID)) == nil {
			list = append(list, domain.Removal{ID: t.ID, Revision: seq})
		}
	}
	return list, nil
}

// until lists the entities that the filter keeps, if there is one, until a time, while there is room, but for those of which
// young, which is asked with the sequence of the event that put them, says so; notifications with their transmissions.
func (k *kind[S]) until(rows *bbolt.Bucket, last int64, young func(name string, seq uint64) bool, left *room, filters ...Filter) (list []domain.Removal, err error) {
	s, err := k.search(rows, filters)
	if err != nil {
		return nil, err
	}
	for suffix := range s.passing(rows, true, 0) {
		if left.full() || timeOf(suffix) > last {
			break
		}
		name := suffix[suffixHead:]
		if young != nil && young(nameIn(name), seqOf(suffix)) {
			continue
		}
		r := domain.Removal{ID: nameIn(name), Revision: seqOf(suffix)}
		if k.id == notificationsID {
			r.Transmissions = idsOfTransmissions(rows, r.ID)
		}
		row := append([]byte{k.id}, name...)
		left.take(1+len(r.Transmissions)+readingsOf(k.id, rows, row), len(rows.Get(row)))
		list = append(list, r)
	}
	return list, nil
}

// readingsOf counts the readings of a row, if it is that of a data event.
func readingsOf(table byte, rows *bbolt.Bucket, row []byte) int {
	if table != dataEventsID {
		return 0
	}
	e, _, _ := dataEvents.read(rows, row)
	return len(e.Readings)
}

// TransmissionIDs returns the ids of a notification's transmissions, in no order.
func (v *View) TransmissionIDs(notification string) (ids []string, err error) {
	err = v.reading(func() error { ids = idsOfTransmissions(v.rows, notification); return nil })
	return ids, err
}

func idsOfTransmissions(rows *bbolt.Bucket, notification string) (ids []string) {
	x, err := transmissions.find(ByNotification(notification))
	if err != nil {
		panic(err) // the table of indexes is a constant
	}
	for suffix := range suffixes(rows, appendRange(nil, x.id, notification), nil) {
		ids = append(ids, nameIn(suffix[suffixHead:]))
	}
	return ids
}

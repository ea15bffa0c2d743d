package projections

import (
	"bytes"

	"go.etcd.io/bbolt"

	"ledge/domain"
)

// room is how much one part of a cleanup may name, and how many bytes of rows the fold will read for it.
type room struct{ names, bytes int }

var partOfCleanup = room{names: 1000, bytes: 4 << 20}

func (r *room) take(names, bytes int) { r.names, r.bytes = r.names-names, r.bytes-bytes }
func (r *room) full() bool            { return r.names <= 0 || r.bytes <= 0 }

// CleanUp returns the next part of a cleanup, oldest first, and the cleanup's revision, which is 0 where none of that kind
// goes on. A part without notifications and transmissions says that nothing is left. No entity is decoded: the indexes have
// ids, times and revisions.
func (v *View) CleanUp(kind string) (part domain.CleanUp, revision uint64, err error) {
	part.Kind = kind
	err = v.reading(func() error {
		c, ok := v.Cleanups.Get(kind)
		if !ok {
			return nil
		}
		revision = domain.Revision(v.Cleanups, kind)
		left := partOfCleanup
		switch kind {
		case domain.CleanupTransmissions:
			for _, status := range []string{domain.StatusSent, domain.StatusAcknowledged, domain.StatusEscalated} {
				list, err := transmissions.until(v.rows, c.Until, revision, &left, Status(status))
				if err != nil {
					return err
				}
				part.Transmissions = append(part.Transmissions, list...)
			}
		case domain.CleanupProcessed:
			part.Notifications, err = notifications.until(v.rows, c.Until, revision, &left, Status(domain.StatusProcessed))
		default:
			part.Notifications, err = notifications.until(v.rows, c.Until, revision, &left)
		}
		return err
	})
	return part, revision, err
}

// until lists the entities that the filter keeps, if there is one, until a time, put by events before a sequence, while there
// is room; notifications with their transmissions.
func (k *kind[S]) until(rows *bbolt.Bucket, last int64, before uint64, left *room, filters ...Filter) (list []domain.Removal, err error) {
	s, err := k.search(rows, filters)
	if err != nil {
		return nil, err
	}
	end := after(appendTime(bytes.Clone(s.prefix), last))
	c := rows.Cursor()
	for key, _ := s.end(c, true); !left.full() && key != nil && bytes.Compare(key, end) < 0; key, _ = c.Next() {
		suffix := key[len(s.prefix):]
		if seqOf(suffix) >= before {
			continue
		}
		name := suffix[suffixHead:]
		r := domain.Removal{ID: string(name), Revision: seqOf(suffix)}
		if k.id == notificationsID {
			r.Transmissions = idsOfTransmissions(rows, r.ID)
		}
		left.take(1+len(r.Transmissions), len(rows.Get(append([]byte{k.id}, name...))))
		list = append(list, r)
	}
	return list, nil
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
	prefix := appendRange(nil, x.id, notification)
	c := rows.Cursor()
	for key, _ := c.Seek(prefix); bytes.HasPrefix(key, prefix); key, _ = c.Next() {
		ids = append(ids, string(key[len(prefix)+suffixHead:]))
	}
	return ids
}

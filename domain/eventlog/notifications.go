package eventlog

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"

	"ledge/domain"
	"ledge/domain/history"
)

// puts is a table that notes the values that an event puts, and nil for each key that it removes.
type puts[T any] map[string]*T

// Get implements domain.Table.
func (p puts[T]) Get(string) (none T, ok bool) { return none, false }

// Put implements domain.Table.
func (p puts[T]) Put(key string, value T) { p[key] = &value }

// Delete implements domain.Table.
func (p puts[T]) Delete(key string) { p[key] = nil }

// noted has the notifications and transmissions that one event records.
type noted struct {
	notifications puts[domain.Notification]
	transmissions puts[domain.Transmission]
}

// notedBy returns the notifications and transmissions that an event records. There are none if it cannot be decoded.
func notedBy(e Event) noted {
	n := noted{puts[domain.Notification]{}, puts[domain.Transmission]{}}
	if event, err := domain.DecodeStored(e.Wire); err == nil {
		state := domain.Overlay(domain.State{})
		state.Notifications, state.Transmissions = n.notifications, n.transmissions
		event.Evolve(state)
	}
	return n
}

// isAbout reports whether an event is about a notification with a name that the filter chooses. The subject of an event names one
// notification only.
func (f *Filter) isAbout(e Event) bool {
	if e.Log != Notifications || f.Entity != "" && !f.like(f.Entity, history.Notification) {
		return false
	}
	if f.isExact() && !bytes.Contains(e.Wire.Data, []byte(f.Name)) {
		return false
	}
	n := notedBy(e)
	for id := range n.notifications {
		if f.isName(id) {
			return true
		}
	}
	for _, t := range n.transmissions {
		if t != nil && f.isName(t.NotificationID) {
			return true
		}
	}
	return false
}

// History returns a page of the history of a notification that is kept. [history.Source.Read] checks the query. An entry has the changed
// fields of the notification, and below transmissions.<id> those of its transmissions. The values before the oldest event that was read are
// left out.
func (s Source) History(ctx context.Context, q history.Query) (p history.Page, err error) {
	of := Query{Log: Notifications, Newest: true, Limit: history.MostEntries}
	of.Entity, of.Name, of.ExactName = history.Notification, q.Name, true
	created, last, err := s.findNotification(q.Name)
	if err != nil {
		return p, err
	}
	log, err := s.find(Notifications)
	if err == nil {
		of.From, err = log.Begin(ctx, created)
	}
	if of.To = last; q.Before > 0 {
		of.To = min(of.To, q.Before-1)
	}
	p.Entries = []history.Entry{}
	if err != nil || of.To == 0 {
		return p, err
	}
	if of.From > of.To { // the clock was set back after the notification was added, or Before is earlier
		of.From = 0
	}
	page, err := s.Read(ctx, of)
	if err != nil {
		return p, err
	}
	if p.Before = page.Next; p.Before > 0 {
		p.Before++
	}
	p.Incomplete = page.Incomplete
	changes := changesOf(q.Name, page.Events)
	for i, bytes := 0, 0; i < len(page.Events); i++ {
		e := page.Events[i]
		entry, size := history.NewEntry(q, domain.Recorded{Stamp: e.Stamp, Seq: e.Seq}, VerbOf(e.Wire.Type), changes[i])
		if bytes += size; i == q.Limit || i > 0 && bytes > history.MostPageBytes {
			p.Before = page.Events[i-1].Seq
			break
		}
		p.Entries = append(p.Entries, entry)
	}
	return p, nil
}

// findNotification returns when a notification was added, and its last event.
func (s Source) findNotification(id string) (created time.Time, last uint64, err error) {
	view, done := s.Notified()
	defer done()
	n, ok := view.State.Notifications.Get(id)
	if !ok {
		const text = "notification %.80q does not exist, or is not kept any more; correct the id"
		return created, 0, domain.Errorf(domain.NotFound, text, id)
	}
	last = domain.Revision(view.State.Notifications, id)
	ids, err := view.Lists.TransmissionIDs(id)
	for _, id := range ids {
		last = max(last, domain.Revision(view.State.Transmissions, id))
	}
	return time.UnixMilli(n.Created), last, err
}

// changesOf returns the changes that each event makes to a notification. The newest event is the first.
func changesOf(id string, events []Event) []domain.Changes {
	var was domain.Notification
	transmissions := map[string]domain.Transmission{}
	changes := make([]domain.Changes, len(events))
	for i, e := range slices.Backward(events) {
		n, c := notedBy(e), domain.Changes{}
		if is := n.notifications[id]; is != nil {
			maps.Copy(c, diffValues(was, *is))
			was = *is
		}
		sent := domain.Changes{}
		for key, t := range n.transmissions {
			if t != nil && t.NotificationID == id {
				sent[key] = domain.Difference{In: diffValues(transmissions[key], *t)}
				transmissions[key] = *t
			}
		}
		if len(sent) > 0 {
			c["transmissions"] = domain.Difference{In: sent}
		}
		changes[i] = c
	}
	return changes
}

// diffValues returns the changes between two values of the log, which can be encoded.
func diffValues[T any](was, is T) domain.Changes {
	c, _ := domain.Diff(was, is)
	return c
}

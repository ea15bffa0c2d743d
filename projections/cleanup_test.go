package projections

import (
	"slices"
	"strings"
	"testing"

	"ledge/domain"
)

// cleanupKinds are those of notifications.
var cleanupKinds = []string{domain.CleanupAll, domain.CleanupProcessed, domain.CleanupTransmissions}

// The cleanups that go on are found one after the other.
func TestCleanupAfter(t *testing.T) {
	f := MustOpen(t, Readings)
	kinds := []string{domain.CleanupDeviceEvents("a"), domain.CleanupDeviceEvents("a-2"), domain.CleanupEvents}
	for i, kind := range []string{kinds[2], kinds[0], kinds[1]} {
		f.add(t, domain.CleanupRequested{Cleanup: domain.Cleanup{Kind: kind, Until: int64(i)}})
	}
	f.add(t, domain.ReadingPosted{Reading: domain.Reading{ID: uuid("r", 1)}})
	var found []string
	v, release := f.View()
	defer release()
	for kind := ""; ; {
		next, ok, err := v.CleanupAfter(kind)
		if must(t, err); !ok {
			break
		}
		kind = next.Kind
		found = append(found, kind)
	}
	if !slices.Equal(found, kinds) {
		t.Errorf("got %q, want %q", found, kinds)
	}
}

// A cleanup removes, in small parts, exactly what was on record and old enough when it was asked for.
func TestCleanUp(t *testing.T) {
	short(t)
	usual := partOfCleanup
	t.Cleanup(func() { partOfCleanup = usual })
	partOfCleanup.names = 7
	for _, kind := range cleanupKinds {
		t.Run(kind, func(t *testing.T) {
			f, h := MustOpen(t, Notifications), newHistory(11)
			for range 300 {
				h.notification()
			}
			h.record(domain.CleanupRequested{Cleanup: domain.Cleanup{Kind: kind, Until: 15}}, "cleanups "+kind)
			asked := h.seq
			h.keeps = true
			for range 40 {
				h.notification()
			}
			f.feed(t, 37, h.events...)
			old := func(table, key string, at int64) bool { return at <= 15 && h.puts[table+" "+key] < asked }
			gone := map[string]bool{}
			for key, n := range h.state.Notifications.(domain.MapTable[domain.Notification]) {
				if kind != domain.CleanupTransmissions && old("notifications", key, n.Modified) && (kind == domain.CleanupAll || n.Status == domain.StatusProcessed) {
					gone[key] = true
				}
			}
			for key, x := range h.state.Transmissions.(domain.MapTable[domain.Transmission]) {
				if gone[x.NotificationID] || kind == domain.CleanupTransmissions && x.Status == domain.StatusSent && old("transmissions", key, x.Created) {
					gone[key] = true
				}
			}
			f.cleansUp(t, h, kind, gone)
		})
	}
}

// cleansUp carries a cleanup out and holds that just what is in gone goes.
func (f *fed) cleansUp(t *testing.T, h *history, kind string, gone map[string]bool) {
	t.Helper()
	parts := f.cleanUp(t, h, kind)
	if parts < 3 || len(gone) < 20 {
		t.Fatalf("%d parts for %d rows: this tries nothing", parts, len(gone))
	}
	for key := range gone {
		_, notification := h.state.Notifications.Get(key)
		_, sent := h.state.Transmissions.Get(key)
		_, event := h.state.DataEvents.Get(key)
		if notification || sent || event {
			t.Errorf("%s is still there", key)
		}
	}
	if n := f.removed(h); n != len(gone) {
		t.Errorf("%d rows were removed, want %d", n, len(gone))
	}
}

// The same of data events: all until a time, and all of a device.
func TestCleanUpDataEvents(t *testing.T) {
	usual := partOfCleanup
	t.Cleanup(func() { partOfCleanup = usual })
	partOfCleanup.names = 21
	for kind, goes := range map[string]func(domain.DataEvent) bool{
		domain.CleanupEvents:             func(e domain.DataEvent) bool { return e.Origin <= 15 },
		domain.CleanupDeviceEvents("d2"): func(e domain.DataEvent) bool { return e.Device == "d2" },
	} {
		t.Run(kind, func(t *testing.T) {
			f, h := MustOpen(t, Readings), newHistory(12)
			for range 300 {
				h.reading()
			}
			h.record(domain.CleanupRequested{Cleanup: domain.Cleanup{Kind: kind, Until: 15}}, "cleanups "+kind)
			gone := map[string]bool{}
			for key, e := range h.state.DataEvents.(domain.MapTable[domain.DataEvent]) {
				if goes(e) {
					gone[key] = true
				}
			}
			for range 40 {
				h.reading()
			}
			f.feed(t, 37, h.events...)
			f.cleansUp(t, h, kind, gone)
		})
	}
}

// cleanUp carries a cleanup out, and returns in how many parts.
func (f *fed) cleanUp(t *testing.T, h *history, kind string) (parts int) {
	t.Helper()
	for {
		v, release := f.View()
		part, revision, err := v.CleanUp(kind, nil)
		must(t, err)
		command := domain.Command(part)
		last := part.Empty()
		if last {
			command = domain.FinishCleanup{Kind: kind, Revision: revision}
		}
		if n := max(len(part.Notifications), len(part.Transmissions), 2*len(part.DataEvents)); n > partOfCleanup.names+1 { // an event and its readings are 2 or more
			t.Errorf("a part of %d", n)
		}
		e, err := command.Decide(domain.Overlay(v.State))
		must(t, err)
		release()
		h.record(e)
		f.feed(t, 1, h.events[len(h.events)-1])
		if last {
			return parts
		}
		parts++
	}
}

// removed counts what the cleanup's events name.
func (f *fed) removed(h *history) (n int) {
	for _, r := range h.events {
		switch e := r.Event.(type) {
		case domain.NotificationsRemoved:
			if e.Cleanup != "" {
				n += e.Removed()
			}
		case domain.DataEventsRemoved:
			n += e.Removed()
		}
	}
	return n
}

// A part reads only so many bytes of rows; with no cleanup there is none.
func TestPartsOfCleanupAreBounded(t *testing.T) {
	f := MustOpen(t, Notifications)
	long := strings.Repeat("x", 1<<20)
	for i := range 10 {
		f.add(t, domain.NotificationAdded{Notification: domain.Notification{ID: uuid("n", i), Content: long}})
	}
	look := func() (ids []string, revision uint64) {
		v, release := f.View()
		defer release()
		part, revision, err := v.CleanUp(domain.CleanupAll, nil)
		must(t, err)
		for _, r := range part.Notifications {
			ids = append(ids, r.ID)
		}
		return ids, revision
	}
	if ids, revision := look(); ids != nil || revision != 0 {
		t.Errorf("without a cleanup: %v of %d", ids, revision)
	}
	f.add(t, domain.CleanupRequested{Cleanup: domain.Cleanup{Kind: domain.CleanupAll}})
	ids, revision := look()
	if want := []string{uuid("n", 0), uuid("n", 1), uuid("n", 2), uuid("n", 3)}; !slices.Equal(ids, want) || revision != 11 {
		t.Errorf("got %v of %d, want %v of 11", ids, revision, want)
	}
	v, release := f.View()
	defer release()
	if got, err := v.TransmissionIDs(uuid("n", 0)); len(got) != 0 || err != nil {
		t.Errorf("transmissions: %v, %v", got, err)
	}
}

// TestOld lists what has come of age: notifications with their transmissions, and then open transmissions that were left
// behind; not the open ones of a notification that was modified later.
func TestOld(t *testing.T) {
	f := MustOpen(t, Notifications)
	note := func(n int, modified int64) domain.Notification {
		return domain.Notification{ID: uuid("n", n), Category: "c", Status: domain.StatusNew, Created: 1, Modified: modified}
	}
	open := func(n, of int, created int64) domain.Transmission {
		return domain.Transmission{ID: uuid("t", n), NotificationID: uuid("n", of), Status: domain.StatusResending, Created: created}
	}
	young := note(2, 11)
	f.add(t, domain.NotificationAdded{Notification: note(1, 10)}, domain.NotificationAdded{Notification: young},
		domain.TransmissionTried{Transmission: open(1, 1, 1)}, domain.TransmissionTried{Transmission: open(2, 2, 1)},
		domain.TransmissionTried{Transmission: open(3, 3, 10)}, domain.TransmissionTried{Transmission: open(4, 3, 11)})
	old := func() domain.CleanUp {
		t.Helper()
		v, release := f.View()
		defer release()
		part, err := v.Old(10)
		must(t, err)
		return part
	}
	if part := old(); len(part.Notifications) != 1 || part.Notifications[0].ID != uuid("n", 1) || !slices.Equal(part.Notifications[0].Transmissions, []string{uuid("t", 1)}) || part.Transmissions != nil {
		t.Errorf("got %+v", part)
	}
	f.add(t, domain.NotificationsRemoved{Rule: "r", Notifications: []string{uuid("n", 1)}, Transmissions: []string{uuid("t", 1)}})
	if part := old(); len(part.Notifications) != 0 || len(part.Transmissions) != 1 || part.Transmissions[0].ID != uuid("t", 3) || part.Transmissions[0].Revision != 5 {
		t.Errorf("got %+v", part)
	}
	f.add(t, domain.NotificationsRemoved{Rule: "r", Transmissions: []string{uuid("t", 3)}})
	if part := old(); !part.Empty() {
		t.Errorf("got %+v", part)
	}
}

// What comes between the call of View and its list is listed too, so the cleanup is told of a checkpoint that has it.
func TestCleanUpTellsHowFarItLists(t *testing.T) {
	f := MustOpen(t, Notifications)
	f.add(t, domain.NotificationAdded{Notification: domain.Notification{ID: uuid("n", 1)}},
		domain.CleanupRequested{Cleanup: domain.Cleanup{Kind: domain.CleanupAll, Until: 1, Asked: 1}})
	v, release := f.View()
	defer release()
	f.add(t, domain.NotificationAdded{Notification: domain.Notification{ID: uuid("n", 2)}})
	part, _, err := v.CleanUp(domain.CleanupAll, func(revision, upTo uint64) (func(string) bool, error) {
		if revision != 2 || upTo != 3 {
			t.Errorf("revision %d, up to %d, want 2 and 3", revision, upTo)
		}
		return func(id string) bool { return id == uuid("n", 2) }, nil
	})
	if must(t, err); len(part.Notifications) != 1 || part.Notifications[0].ID != uuid("n", 1) {
		t.Errorf("got %v", part.Notifications)
	}
}

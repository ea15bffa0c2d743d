package projections

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ledge/domain"
	"ledge/projections/fold"
)

// sameRevisions holds that each entity is at the event that put it last, and that what is gone is at none.
func sameRevisions(t *testing.T, h *history, s domain.State) {
	t.Helper()
	sameRevision(t, h, "profiles", h.state.Profiles, s.Profiles)
	sameRevision(t, h, "services", h.state.Services, s.Services)
	sameRevision(t, h, "devices", h.state.Devices, s.Devices)
	sameRevision(t, h, "watchers", h.state.Watchers, s.Watchers)
	sameRevision(t, h, "subscriptions", h.state.Subscriptions, s.Subscriptions)
	sameRevision(t, h, "notifications", h.state.Notifications, s.Notifications)
}

func sameRevision[S any](t *testing.T, h *history, name string, want, got domain.Table[S]) {
	t.Helper()
	for at, seq := range h.puts {
		key, ok := strings.CutPrefix(at, name+" ")
		if !ok {
			continue
		}
		if _, there := want.Get(key); !there {
			seq = 0
		}
		if got := domain.Revision(got, key); got != seq {
			t.Errorf("%s: got revision %d, want %d", at, got, seq)
		}
	}
}

// The revisions are the same in memory, in the file, after it was closed, and after a rebuild in batches of any size.
func TestRevisions(t *testing.T) {
	for name, tables := range map[string]Tables{"events": Events, "notifications": Notifications} {
		t.Run(name, func(t *testing.T) {
			h := newHistory(7)
			for range 400 {
				if tables == Events {
					h.metadata()
				} else {
					h.notification()
				}
			}
			for _, size := range []int{1, 7, 400} {
				for _, l := range []fold.Limits{{After: time.Hour}, direct, {After: time.Millisecond, Events: 8}} {
					f := MustOpen(t, tables)
					f.reopen(t, l)
					f.feed(t, size, h.events...)
					asWritten := func() {
						s, release := f.State()
						defer release()
						sameRevisions(t, h, s)
					}
					asWritten()
					f.reopen(t, l)
					asWritten()
				}
			}
		})
	}
}

// A device that is removed and added again, as it was and with its id, is at a revision that the name never had.
func TestRevisionsDoNotReturn(t *testing.T) {
	for _, l := range []fold.Limits{{After: time.Hour}, direct} {
		f := MustOpen(t, Events)
		f.reopen(t, l)
		var seen []uint64
		for range 3 {
			for _, e := range []domain.Event{domain.DeviceAdded{Device: camera(1)}, domain.DeviceUpdated{Device: camera(1)}, domain.DeviceRemoved{Device: camera(1)}} {
				f.add(t, e)
				s, release := f.State()
				seen = append(seen, domain.Revision(s.Devices, camera(1).Name))
				release()
			}
		}
		if want := []uint64{1, 2, 0, 4, 5, 0, 7, 8, 0}; !slices.Equal(seen, want) {
			t.Errorf("got %v, want %v", seen, want)
		}
	}
}

// What retention leaves keeps its revisions.
func TestRevisionsAfterForget(t *testing.T) {
	f, h := MustOpen(t, Notifications), newHistory(3)
	for range 300 {
		h.notification()
	}
	f.feed(t, 50, h.events...)
	const first = 200
	if _, err := f.Forget(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	f.events = f.events[first-1:] // as a rebuild would find them
	s, release := f.State()
	defer release()
	for key := range h.state.Notifications.(domain.MapTable[domain.Notification]) {
		want := h.puts["notifications "+key]
		if want < first {
			want = 0
		}
		if got := domain.Revision(s.Notifications, key); got != want {
			t.Errorf("%s: got revision %d, want %d", key, got, want)
		}
	}
}

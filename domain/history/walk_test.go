package history_test

import (
	"context"
	"fmt"
	"testing"

	"ledge/domain"
	"ledge/domain/history"
)

// events is a log of changes; its first event has sequence 1.
type events []domain.Event

func (l events) At(_ context.Context, seq uint64) (domain.Recorded, bool, error) {
	if seq == 0 || seq > uint64(len(l)) || l[seq-1] == nil {
		return domain.Recorded{}, false, nil
	}
	return domain.Recorded{Seq: seq, Event: l[seq-1]}, true, nil
}

func (l events) Read(ctx context.Context, from, to uint64, f func(domain.Recorded) error) error {
	for seq := from; seq <= to; seq++ {
		r, ok, err := l.At(ctx, seq)
		if !ok {
			return history.ErrUnread
		}
		if err == nil {
			err = f(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func newPatch(prev uint64, was, is string) domain.Event {
	return domain.DevicePatched{Update: domain.Update{
		Name: "d", Prev: prev, Modified: int64(prev) + 1,
		Changes: domain.Changes{"description": {
			Was: fmt.Appendf(nil, "%q", was), Is: fmt.Appendf(nil, "%q", is),
		}},
	}}
}

func newDevice(description string) domain.Device {
	return domain.Device{Name: "d", Description: description}
}

// TestWalk goes from the last event of a device to its first, and takes each change back.
func TestWalk(t *testing.T) {
	other := domain.DeviceAdded{Device: domain.Device{Name: "e"}}
	added := domain.DeviceAdded{Device: newDevice("a")}
	old := domain.DeviceUpdated{Device: newDevice("b"), Changed: []string{"description"}}
	removed := func(prev uint64) domain.Event { return domain.DeviceRemoved{Device: newDevice("a"), Prev: prev} }
	for name, tt := range map[string]struct {
		log    events
		looks  uint64
		lives  history.Lives
		want   string // the sequences with the descriptions after and before each
		before uint64 // of a further look
		end    history.End
	}{
		"from the addition on": {
			log: events{added, other, newPatch(1, "a", "b"), newPatch(3, "b", "c")}, lives: history.Lives{All: true},
			want: "4: c<b 3: b<a 1: a<- ", end: history.Complete,
		},
		"an addition that may be a later one": {log: events{other, added}, want: "2: a<- ", end: history.Unnamed},
		"an update of an old version": {
			log: events{added, old, newPatch(2, "b", "c")}, want: "3: c<b 2: b<- ", end: history.Unnamed,
		},
		"an update of an old version, with a look": {
			log: events{added, old, newPatch(2, "b", "c")}, looks: 9, lives: history.Lives{All: true},
			want: "3: c<b 2: b<- 1: a<- ", end: history.Complete,
		},
		"an earlier life": {
			log:   events{added, removed(1), domain.DeviceAdded{Device: newDevice("c"), Prev: 2}},
			lives: history.Lives{Gone: domain.Gone{First: 2, Last: 2}, All: true}, want: "3: c<- 2: -<a 1: a<- ", end: history.Complete,
		},
		"an earlier life of an old version": {
			log: events{added, removed(0), domain.DeviceAdded{Device: newDevice("c")}}, looks: 9,
			lives: history.Lives{Gone: domain.Gone{First: 2, Last: 2}, All: true}, want: "3: c<- 2: -<a 1: a<- ", end: history.Complete,
		},
		"too few looks": {
			log: events{added, other, other, other, old}, looks: 2, want: "5: b<- ", end: history.Unnamed, before: 3,
		},
		"an event that cannot be read": {log: events{nil, newPatch(1, "b", "c")}, want: "2: c<b ", end: history.Unread},
		"an event of another device":   {log: events{other, newPatch(1, "b", "c")}, want: "2: c<b ", end: history.Unread},
	} {
		w := history.Walk{Log: tt.log, Kind: history.Kinds["device"], Name: "d", Looks: tt.looks, Lives: tt.lives}
		w.Next = uint64(len(tt.log))
		got, entity := "", any(newDevice("c"))
		for {
			c, ok, err := w.Step(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			after := c.After(entity)
			entity = c.Before(after)
			got += fmt.Sprintf("%d: %s<%s ", c.Seq, descriptionOf(after), descriptionOf(entity))
		}
		if got != tt.want || w.End != tt.end || tt.before != 0 && w.Before != tt.before {
			t.Errorf("%s: got %q and end %d, want %q and %d", name, got, w.End, tt.want, tt.end)
		}
	}
}

func descriptionOf(entity any) string {
	if d, ok := entity.(domain.Device); ok {
		return d.Description
	}
	return "-"
}

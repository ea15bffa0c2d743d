package history_test

import (
	"context"
	"fmt"
	"testing"

	"ledge/domain"
	"ledge/history"
)

// events is a log of changes; its first event has sequence 1.
type events []domain.Event

func (l events) At(_ context.Context, seq uint64) (domain.Recorded, bool, error) {
	if seq == 0 || seq > uint64(len(l)) || l[seq-1] == nil {
		return domain.Recorded{}, false, nil
	}
	return domain.Recorded{Seq: seq, Event: l[seq-1]}, true, nil
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
	for name, tt := range map[string]struct {
		log  events
		want string // the sequences with the descriptions after and before each
		end  history.End
	}{
		"from the addition on": {
			events{added, other, newPatch(1, "a", "b"), newPatch(3, "b", "c")}, "4: c<b 3: b<a 1: a<- ", history.Complete,
		},
		"an update of an old version":  {events{added, old, newPatch(2, "b", "c")}, "3: c<b 2: b<- ", history.Unnamed},
		"an event that cannot be read": {events{nil, newPatch(1, "b", "c")}, "2: c<b ", history.Unread},
		"an event of another device":   {events{other, newPatch(1, "b", "c")}, "2: c<b ", history.Unread},
	} {
		w := history.Walk{Log: tt.log, Kind: history.Kinds["device"], Name: "d", Next: uint64(len(tt.log))}
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
		if got != tt.want || w.End != tt.end {
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

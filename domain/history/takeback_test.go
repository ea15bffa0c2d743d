package history

import (
	"context"
	"strings"
	"testing"

	"ledge/domain"
)

// largeUpdates is a log of updates of one device, behind its addition. Each has as many bytes as a window has room for 33 of.
type largeUpdates struct{ reads int }

func (l *largeUpdates) At(_ context.Context, seq uint64) (domain.Recorded, bool, error) {
	l.reads++
	text := []byte(`"` + largeText + `"`)
	u := domain.Update{Name: "d", Prev: seq - 1, Changes: domain.Changes{"description": {Was: text, Is: text}}}
	if seq == 1 {
		return domain.Recorded{Seq: 1, Event: domain.DeviceAdded{Device: domain.Device{Name: "d", Description: largeText}}}, true, nil
	}
	return domain.Recorded{Seq: seq, Event: domain.DevicePatched{Update: u}}, true, nil
}

var largeText = strings.Repeat("x", windowBytes/66)

func (l *largeUpdates) Read(ctx context.Context, from, to uint64, f func(domain.Recorded) error) error {
	for seq := from; seq <= to; seq++ {
		if r, _, _ := l.At(ctx, seq); f(r) != nil {
			return ctx.Err()
		}
	}
	return nil
}

// TestLargeWindows takes large events back. Few of them are read twice, and no more than the bound counts.
func TestLargeWindows(t *testing.T) {
	const updates = 1000
	state := domain.NewMapState()
	state.Devices = &found[domain.Device]{"d", domain.Device{Name: "d", Description: largeText}, updates, len(largeText)}
	log := &largeUpdates{}
	past := NewPast(Source{
		State: func() (domain.View, func()) { return domain.View{State: state}, func() {} },
		Log:   log, First: func() uint64 { return 1 }, Last: func() uint64 { return updates },
	})
	if _, err := past.AsOf(t.Context(), 1).List(domain.ListDevices); err != nil {
		t.Fatal(err)
	}
	if log.reads > 4*updates {
		t.Errorf("%d events are read to take %d back", log.reads, updates)
	}
}

// TestPackCountsOnce holds that an entity counts once, whatever it was in the windows before.
func TestPackCountsOnce(t *testing.T) {
	back := takeBack{overlay: &overlay{kind: devices}}
	for _, description := range []string{"", "short", strings.Repeat("long", 10), "short", "", ""} {
		one := back.of["d"]
		if one == nil {
			one = &taken{}
			back.of = map[string]*taken{"d": one}
		}
		if description != "" {
			one.entity = domain.Device{Name: "d", Description: description}
		}
		if err := back.pack("d", one); err != nil {
			t.Fatal(err)
		}
		if want := formerBytes + len("d") + len(one.text); back.bytes != want {
			t.Errorf("%q: %d bytes are counted, want %d", description, back.bytes, want)
		}
	}
}

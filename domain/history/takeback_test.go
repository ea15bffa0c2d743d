package history

import (
	"context"
	"strconv"
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

// deviceLog is a log of changes that counts the events that are read. An event that is nil is in an archive that is missing.
type deviceLog struct {
	events          []domain.Event
	single, inSpans int
}

func (l *deviceLog) At(_ context.Context, seq uint64) (domain.Recorded, bool, error) {
	l.single++
	return domain.Recorded{Seq: seq, Event: l.events[seq-1]}, l.events[seq-1] != nil, nil
}

func (l *deviceLog) Read(_ context.Context, from, to uint64, f func(domain.Recorded) error) error {
	for seq := from; seq <= to; seq++ {
		l.inSpans++
		if l.events[seq-1] == nil {
			return ErrUnread
		}
		if err := f(domain.Recorded{Seq: seq, Event: l.events[seq-1]}); err != nil {
			return err
		}
	}
	return nil
}

// revisedDevices are devices with their revisions.
type revisedDevices struct {
	domain.MapTable[domain.Device]
	of map[string]uint64
}

func (t revisedDevices) Revision(key string) uint64 { return t.of[key] }

// changedOnce returns a log of n additions, each at the time of its sequence, and behind them an update of some of the devices. The name of
// a device is its sequence.
func changedOnce(n uint64, updated ...uint64) (*deviceLog, *Past) {
	log := &deviceLog{}
	table := revisedDevices{domain.MapTable[domain.Device]{}, map[string]uint64{}}
	for seq := uint64(1); seq <= n; seq++ {
		d := domain.Device{Name: strconv.FormatUint(seq, 10), Modified: int64(seq)}
		log.events = append(log.events, domain.DeviceAdded{Device: d})
		table.MapTable[d.Name], table.of[d.Name] = d, seq
	}
	for _, seq := range updated {
		d := table.MapTable[strconv.FormatUint(seq, 10)]
		d.Description, d.Modified = "new", 9000
		changes := domain.Changes{"description": {Is: []byte(`"new"`)}}
		u := domain.Update{Name: d.Name, Prev: seq, Modified: d.Modified, Changes: changes}
		log.events = append(log.events, domain.DevicePatched{Update: u})
		table.MapTable[d.Name], table.of[d.Name] = d, uint64(len(log.events))
	}
	state := domain.NewMapState()
	state.Devices = table
	return log, NewPast(Source{
		State: func() (domain.View, func()) { return domain.View{State: state}, func() {} },
		Log:   log, First: func() uint64 { return 1 }, Last: func() uint64 { return uint64(len(log.events)) },
	})
}

// TestCompleteTogether takes back changes of devices, of which most were added near one another: these additions are read together.
func TestCompleteTogether(t *testing.T) {
	const added, last = 140, 39
	updated := []uint64{120, 60, 90}
	for seq := uint64(1); seq <= last; seq += 2 {
		updated = append(updated, seq)
	}
	log, past := changedOnce(added, updated...)
	o, err := past.overlayOf(t.Context(), devices, added)
	if err != nil {
		t.Fatal(err)
	}
	for _, seq := range updated {
		f := o.of[strconv.FormatUint(seq, 10)]
		entity, err := devices.decode(f.text)
		d, _ := entity.(domain.Device)
		if err != nil || f.revision != seq || f.modified != int64(seq) || d.Modified != f.modified || d.Description != "" {
			t.Errorf("device %d was %+v of event %d at %d, %v", seq, d, f.revision, f.modified, err)
		}
	}
	if want := len(updated) + last; log.single != 3 || log.inSpans != want {
		t.Errorf("%d events are read alone and %d together, want 3 and %d", log.single, log.inSpans, want)
	}
	for _, seq := range []uint64{1, 3, 39, 60} {
		for _, event := range []domain.Event{nil, domain.DeviceAdded{Device: domain.Device{Name: "other"}}} {
			log, past := changedOnce(added, updated...)
			log.events[seq-1] = event
			if _, err := past.overlayOf(t.Context(), devices, added); err == nil || err.Error() != unreadError(added).Error() {
				t.Errorf("event %d is %v: %v", seq, event, err)
			}
		}
	}
}

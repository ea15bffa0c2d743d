package console

import (
	"context"
	"testing"

	"ledge/domain"
)

// endlessChanges is a log of changes in which each event changes the device hall and names the event before.
type endlessChanges struct{ read int }

func (*endlessChanges) Last() uint64 { return 100_000 }

func (c *endlessChanges) At(_ context.Context, seq uint64) (domain.Recorded, bool, error) {
	c.read++
	return domain.Recorded{Seq: seq, Event: domain.DevicePatched{Update: domain.Update{Name: "hall", Prev: seq - 1}}}, true, nil
}

func (*endlessChanges) Read(context.Context, uint64, uint64, func(domain.Recorded) error) error {
	return nil
}

// TestHistoryIsBounded looks for a version that is further back than one page goes: the page says so, and offers the changes before.
func TestHistoryIsBounded(t *testing.T) {
	log := &endlessChanges{}
	for seq, further := range map[uint64]uint64{100_000 - mostUndone + 1: 0, 100_000 - mostUndone: 100_000 - mostUndone} {
		h := historyData{historyKind: historyKinds[0], Name: "hall"}
		log.read = 0
		wanted := func(r domain.Recorded) bool { return r.Seq == seq }
		err := history{changes: log}.version(t.Context(), &h, domain.Device{Name: "hall"}, log.Last(), wanted)
		if err != nil || h.Further != further || (h.Then == nil) != (further > 0) || (h.Missing == "") != (further == 0) || log.read != mostUndone {
			t.Errorf("event %d: further %d, want %d; %d events read, want %d; %q, %v", seq, h.Further, further, log.read, mostUndone, h.Missing, err)
		}
	}
}

// TestStateSet looks for the change that set the admin state no further back than the limit.
func TestStateSet(t *testing.T) {
	log := &endlessChanges{}
	set, err := history{changes: log}.stateSet(t.Context(), "hall", log.Last())
	if err != nil || log.read != mostStateLook || set.Actor != "" || set.Before == 0 {
		t.Errorf("read %d events, want %d: %+v, %v", log.read, mostStateLook, set, err)
	}
}

func TestEndpointName(t *testing.T) {
	for endpoint, want := range map[string]string{
		"REST/127.0.0.1/8080":              "REST 127.0.0.1:8080",
		"REST/127.0.0.1/8080/in/a":         "REST 127.0.0.1:8080/in/a",
		"REST/::1/8080/in":                 "REST [::1]:8080/in",
		"MQTT/broker/8883/tls/site/alarms": "MQTT broker:8883/tls/site/alarms",
		"EMAIL//0":                         "EMAIL",
		"EMAIL/mail/0":                     "EMAIL mail",
	} {
		if got := endpointName(endpoint); got != want {
			t.Errorf("%s: got %q, want %q", endpoint, got, want)
		}
	}
}

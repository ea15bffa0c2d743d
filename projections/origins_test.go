package projections

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ledge/domain"
)

// TestOrigins posts bursts of readings: a burst is one time, and other devices are left out.
func TestOrigins(t *testing.T) {
	f := MustOpen(t, Readings)
	var events []domain.Event
	post := func(device string, origins ...time.Duration) {
		for _, at := range origins {
			r := domain.Reading{ID: uuid(device, len(events)), Device: device, Resource: "r", Origin: int64(at)}
			events = append(events, domain.ReadingPosted{Reading: r})
		}
	}
	const ms = time.Millisecond
	post("hall", 10*time.Second, 10*time.Second+ms, 10*time.Second+2*ms, 70*time.Second, 70*time.Second+ms, 130*time.Second)
	post("gate", 140*time.Second)
	f.add(t, events...)
	v, release := f.View()
	defer release()
	for _, one := range []struct {
		device string
		apart  time.Duration
		most   int
		want   []time.Duration
	}{
		{"hall", time.Second, 9, []time.Duration{130 * time.Second, 70*time.Second + ms, 10*time.Second + 2*ms}},
		{"hall", time.Second, 2, []time.Duration{130 * time.Second, 70*time.Second + ms}},
		{"hall", ms, 4, []time.Duration{130 * time.Second, 70*time.Second + ms, 70 * time.Second, 10*time.Second + 2*ms}},
		{"gate", time.Second, 9, []time.Duration{140 * time.Second}},
		{"cellar", time.Second, 9, nil},
	} {
		got, err := v.Origins(one.device, one.apart, one.most)
		must(t, err)
		var want []int64
		for _, at := range one.want {
			want = append(want, int64(at))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s, apart %s: got %v, want %v", one.device, one.apart, got, want)
		}
	}
}

// TestAttention counts the notifications and the devices that an operator should look at, without a walk.
func TestAttention(t *testing.T) {
	f := MustOpen(t, Notifications)
	note := func(i, failed int, severity string, acknowledged bool) domain.Notification {
		return domain.Notification{ID: uuid("n", i), Category: "c", Severity: severity, Failed: failed, Acknowledged: acknowledged}
	}
	for _, n := range []domain.Notification{
		note(0, 0, domain.SeverityNormal, false), note(1, 2, domain.SeverityNormal, false),
		note(2, 1, domain.SeverityCritical, true), note(3, 1, domain.SeverityCritical, false),
	} {
		f.add(t, domain.NotificationAdded{Notification: n})
	}
	d := MustOpen(t, Events)
	for i, states := range [][2]string{{"UNLOCKED", "UP"}, {"UNLOCKED", "DOWN"}, {"LOCKED", "DOWN"}, {"LOCKED", "UNKNOWN"}} {
		one := domain.Device{ID: uuid("d", i), Name: fmt.Sprint("d-", i), AdminState: states[0], OperatingState: states[1]}
		d.add(t, domain.DeviceAdded{Device: one})
	}
	for _, one := range []struct {
		f         *fed
		list      string
		index, at string
		want      int
	}{
		{f, domain.ListNotifications, domain.IndexAttention, domain.AttentionFailed, 3},
		{f, domain.ListNotifications, domain.IndexAttention, domain.AttentionFailedOpen, 2},
		{f, domain.ListNotifications, domain.IndexAttention, domain.AttentionCriticalOpen, 1},
		{d, domain.ListDevices, domain.IndexState, domain.StateDown, 2},
		{d, domain.ListDevices, domain.IndexState, domain.StateLocked, 2},
		{d, domain.ListDevices, domain.IndexState, domain.StateUp, 0},
	} {
		v, release := one.f.View()
		_, got, err := v.Keys(one.list, domain.Page{}, domain.Filter{Index: one.index, Value: one.at})
		release()
		if must(t, err); got != one.want {
			t.Errorf("%s %s: got %d, want %d", one.list, one.at, got, one.want)
		}
	}
}

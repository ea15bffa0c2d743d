package eventlog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ledge/domain"
)

// TestFilterOfNotifications chooses events by the id of a notification that their subjects do not name.
func TestFilterOfNotifications(t *testing.T) {
	const first, second, other = "10000000-0000-4000-8000-000000000001", "10000000-0000-4000-8000-000000000002", "x-3"
	note := func(id string) domain.Notification { return domain.Notification{ID: id, Category: "c", Sender: "me"} }
	raised := func(id string) domain.Raised { return domain.Raised{Notification: note(id)} }
	sent := func(id string) domain.Transmission { return domain.Transmission{ID: "t-" + id, NotificationID: id} }
	escalated := raised(second)
	events := []domain.Event{
		domain.NotificationAdded{Notification: note(second)},
		domain.NotificationsRaised{Raised: []domain.Raised{raised(first), raised(second)}},
		domain.TransmissionTried{Topic: "c", Transmission: sent(first), Escalated: &escalated},
		domain.TransmissionTried{Topic: "gone", Transmission: sent(second)},
		domain.TransmissionsResent{Notifications: []domain.Notification{note(first), note(second)}, Transmissions: nil},
		domain.NotificationsAcknowledged{Notifications: []domain.Notification{note(first), note(second)}},
		domain.NotificationsRemoved{Rule: "age", Notifications: []string{first, second}},
		domain.NotificationsAcknowledged{Notifications: []domain.Notification{note(first), note(other)}},
		domain.NotificationAdded{Notification: domain.Notification{ID: first, Category: "c", Content: second}},
	}
	for _, tt := range []struct {
		f    Filter
		want []uint64
	}{
		{Filter{Entity: "notification", Name: second}, []uint64{1, 2, 3, 4, 5, 6, 7}},
		{Filter{Entity: "notification", Name: second, ExactName: true}, []uint64{1, 2, 3, 4, 5, 6, 7}},
		{Filter{Name: "*0002"}, []uint64{1, 2, 3, 4, 5, 6, 7}},
		{Filter{Name: "X-*", AnyCase: true}, []uint64{8}},
		{Filter{Entity: "device", Name: second}, nil},
		{Filter{Entity: "notification", Name: "x"}, nil},
		{Filter{Entity: "notif*", Name: other}, []uint64{8}},
	} {
		var got []uint64
		for i, event := range events {
			w, err := domain.Encode(event)
			if err != nil {
				t.Fatal(err)
			}
			e := Event{Log: Notifications, Seq: uint64(i) + 1, Subject: "ledge.notification." + strings.Join(w.Subject, "."), Wire: w}
			if tt.f.Matches(e) {
				got = append(got, e.Seq)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", fmt.Sprintf("%+v", tt.f), got, tt.want)
		}
	}
}

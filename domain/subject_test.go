package domain

import (
	"slices"
	"testing"
)

func wantSubject(t *testing.T, e Event, want ...string) {
	t.Helper()
	if got := e.Subject(); !slices.Equal(got, want) {
		t.Errorf("%T: got subject %q, want %q", e, got, want)
	}
}

func TestSubjects(t *testing.T) {
	wantSubject(t, ProfileAdded{Profile: imageProfile()}, "profile", "image", "added")
	wantSubject(t, ProfileRemoved{Profile: imageProfile()}, "profile", "image", "removed")
	wantSubject(t, ServiceAdded{Service: restService()}, "service", DeviceREST, "added")
	wantSubject(t, ServiceUpdated{Service: restService()}, "service", DeviceREST, "updated")
	wantSubject(t, ServiceRemoved{Service: restService()}, "service", DeviceREST, "removed")
	wantSubject(t, DeviceAdded{Device: camera()}, "device", "cam-1", "added")
	wantSubject(t, DeviceUpdated{Device: camera()}, "device", "cam-1", "updated")
	wantSubject(t, DeviceRemoved{Device: camera()}, "device", "cam-1", "removed")
	wantSubject(t, WatcherAdded{Watcher: finder()}, "watcher", "finder", "added")
	wantSubject(t, WatcherUpdated{Watcher: finder()}, "watcher", "finder", "updated")
	wantSubject(t, WatcherRemoved{Watcher: finder()}, "watcher", "finder", "removed")
	wantSubject(t, SubscriptionAdded{Subscription: gate()}, "subscription", "gate", "added")
	wantSubject(t, SubscriptionUpdated{Subscription: gate()}, "subscription", "gate", "updated")
	wantSubject(t, SubscriptionRemoved{Subscription: gate()}, "subscription", "gate", "removed")
	wantSubject(t, UserAdded{User: anna()}, "user", "anna", "added")
	wantSubject(t, UserUpdated{Name: "anna"}, "user", "anna", "updated")
	wantSubject(t, UserPassword{Name: "anna"}, "user", "anna", "password")
	wantSubject(t, UserRemoved{User: anna()}, "user", "anna", "removed")
	wantSubject(t, TokenAdded{Token: till()}, "token", "pos-7", "added")
	wantSubject(t, TokenRotated{Name: "pos-7"}, "token", "pos-7", "rotated")
	wantSubject(t, TokenRemoved{Token: till()}, "token", "pos-7", "removed")
	wantSubject(t, CommandIssued{Device: "cam-1"}, "command", "cam-1", "issued")
	wantSubject(t, CommandAnswered{Device: "cam-1"}, "command", "cam-1", "answered")
	wantSubject(t, SamplesSeeded{}, "samples", "ledge", "seeded")
	wantSubject(t, RetentionSet{}, "retention", "ledge", "set")
	wantSubject(t, picture(), "image", "cam-1", "jpeg")
}

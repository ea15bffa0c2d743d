package domain

import (
	"reflect"
	"strings"
	"testing"
)

func cleanup(kind string, until int64) RequestCleanup {
	return RequestCleanup{Cleanup{Kind: kind, Until: until}}
}

func TestRequestCleanup(t *testing.T) {
	going := []Event{CleanupRequested{Cleanup{Kind: CleanupAll, Until: created}}}
	runDecisions(t, []decision{
		{name: "first", when: cleanup(CleanupAll, created), want: CleanupRequested{Cleanup{Kind: CleanupAll, Until: created}}},
		{name: "until later", given: going, when: cleanup(CleanupAll, later), want: CleanupRequested{Cleanup{Kind: CleanupAll, Until: later}}},
		{name: "until the same time, for what came since", given: going, when: cleanup(CleanupAll, created), want: CleanupRequested{Cleanup{Kind: CleanupAll, Until: created}}},
		{name: "until earlier", given: going, when: cleanup(CleanupAll, created-1)},
		{name: "of another kind", given: going, when: cleanup(CleanupProcessed, created-1), want: CleanupRequested{Cleanup{Kind: CleanupProcessed, Until: created - 1}}},
		{name: "after it was finished", given: append(going, CleanupFinished{CleanupAll}), when: cleanup(CleanupAll, created-1), want: CleanupRequested{Cleanup{Kind: CleanupAll, Until: created - 1}}},
	})
}

// recordedNotices has a notification at revision 1, one at 3 with the transmission, and a cleanup at 4.
func recordedNotices() State {
	other := with(notice(), func(n *Notification) { n.ID = raisedID })
	sent := with(transmission(), func(t *Transmission) { t.NotificationID = raisedID })
	return recorded(NotificationAdded{notice()}, NotificationAdded{other}, NotificationProcessed{other, []Transmission{sent}}, CleanupRequested{Cleanup{Kind: CleanupAll, Until: later}})
}

func wantDecision(t *testing.T, s State, when Command, want Event) {
	t.Helper()
	if got := mustDecide(t, s, when); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v: got %+v, want %+v", when, got, want)
	}
}

func TestCleanUp(t *testing.T) {
	s := recordedNotices()
	one, two := Removal{ID: noticeID, Revision: 1}, Removal{ID: raisedID, Revision: 3, Transmissions: []string{otherID}}
	wantDecision(t, s, CleanUp{Kind: CleanupAll, Notifications: []Removal{one, two}}, NotificationsRemoved{
		Cleanup: CleanupAll, Notifications: []string{noticeID, raisedID}, Transmissions: []string{otherID},
	})
	changed := with(two, func(r *Removal) { r.Revision = 2 })
	wantDecision(t, s, CleanUp{Kind: CleanupAll, Notifications: []Removal{one, changed, {ID: otherID, Revision: 1}}}, NotificationsRemoved{
		Cleanup: CleanupAll, Notifications: []string{noticeID},
	})
	wantDecision(t, s, CleanUp{Kind: CleanupAll, Notifications: []Removal{changed}}, nil)
	wantDecision(t, s, CleanUp{Kind: CleanupTransmissions, Transmissions: []Removal{{ID: otherID, Revision: 3}, {ID: otherID, Revision: 2}}}, NotificationsRemoved{
		Cleanup: CleanupTransmissions, Transmissions: []string{otherID},
	})
	byRule := NotificationsRemoved{Rule: "notifications-max-age=6h", Notifications: []string{noticeID}}
	wantDecision(t, s, CleanUp{Rule: byRule.Rule, Notifications: []Removal{one}}, byRule)
	wantSubject(t, byRule, "cleanup", "retention", "removed")
}

func TestCleanUpDataEvents(t *testing.T) {
	s := recorded(climate(), picture())
	one, changed, none := Removal{ID: noticeID, Revision: 1}, Removal{ID: otherID, Revision: 1}, Removal{ID: raisedID, Revision: 1}
	kind := CleanupDeviceEvents("cam-1")
	wantDecision(t, s, CleanUp{Kind: kind, DataEvents: []Removal{changed, one, none}}, DataEventsRemoved{Cleanup: kind, Events: []string{noticeID}})
	wantDecision(t, s, CleanUp{Kind: kind, DataEvents: []Removal{changed}}, nil)
	wantDecision(t, s, CleanUp{Rule: "*.*.* age=1h", DataEvents: []Removal{one}}, DataEventsRemoved{Rule: "*.*.* age=1h", Events: []string{noticeID}})
	wantSubject(t, DataEventsRemoved{Cleanup: kind, Events: []string{noticeID}}, "cleanup", "device:cam-1", "removed")
	if device, ok := (Cleanup{Kind: kind}).Device(); device != "cam-1" || !ok {
		t.Errorf("device: %q, %t", device, ok)
	}
}

func TestFinishCleanup(t *testing.T) {
	s := recordedNotices()
	wantDecision(t, s, FinishCleanup{Kind: CleanupAll, Revision: 4}, CleanupFinished{CleanupAll})
	wantDecision(t, s, FinishCleanup{Kind: CleanupAll, Revision: 3}, nil)
	wantDecision(t, s, FinishCleanup{Kind: CleanupProcessed}, nil)
}

func TestRemoveNotifications(t *testing.T) {
	s := recordedNotices()
	one, two := Removal{ID: noticeID, Revision: 1}, Removal{ID: raisedID, Revision: 3, Transmissions: []string{otherID}}
	wantDecision(t, s, RemoveNotifications{[]Removal{two, one}}, NotificationsRemoved{
		Topic: DeviceChanged, Notifications: []string{raisedID, noticeID}, Transmissions: []string{otherID},
	})
	got, err := RemoveNotifications{[]Removal{one, {ID: otherID}}}.Decide(s)
	wantRefusal(t, got, err, NotFound, `notification id "`+otherID+`" does not exist`)
	got, err = RemoveNotifications{[]Removal{one, {ID: raisedID, Revision: 2}}}.Decide(s)
	wantRefusal(t, got, err, Unavailable, `notification id "`+raisedID+`" has changed meanwhile; try again`)
}

func TestNotificationsRemoved(t *testing.T) {
	s := recordedNotices()
	NotificationsRemoved{Notifications: []string{raisedID, subscriptionID}, Transmissions: []string{otherID, noticeID}}.Evolve(s)
	_, one := s.Notifications.Get(noticeID)
	_, two := s.Notifications.Get(raisedID)
	_, sent := s.Transmissions.Get(otherID)
	if !one || two || sent {
		t.Errorf("got %t, %t, %t, want the first notification and nothing else", one, two, sent)
	}
	wantSubject(t, NotificationsRemoved{Topic: "FIRE", Notifications: []string{"n", "m"}}, "FIRE", "n", "removed")
	wantSubject(t, NotificationsRemoved{Cleanup: CleanupProcessed, Notifications: []string{"n"}}, "cleanup", "processed", "removed")
	wantSubject(t, CleanupRequested{Cleanup{Kind: CleanupAll}}, "cleanup", "all", "requested")
	wantSubject(t, CleanupFinished{CleanupAll}, "cleanup", "all", "finished")
}

// TestSetRetention holds which settings can be set, and that values which are in force make no event.
func TestSetRetention(t *testing.T) {
	const age = "readings-max-age"
	values := func(value string) map[string]string { return map[string]string{age: value} }
	set := []Event{RetentionSet{values("30d")}}
	runDecisions(t, []decision{
		{name: "first", when: SetRetention{map[string]string{age: "30d", "readings-max-bytes": ""}}, want: set[0]},
		{name: "the same again", given: set, when: SetRetention{values("30d")}},
		{name: "another value", given: set, when: SetRetention{values("1d")}, want: RetentionSet{values("1d")}},
		{name: "back to the configuration", given: set, when: SetRetention{values("")}, want: RetentionSet{values("")}},
		{
			name: "another setting", when: SetRetention{map[string]string{"secure": "false"}},
			code: Invalid, says: "is not a setting of retention",
		},
		{
			name: "too long", when: SetRetention{values(strings.Repeat("1", mostRetention+1))},
			code: Invalid, says: age + ": is 16385 bytes long",
		},
	})
	both := given(append(set, RetentionSet{map[string]string{"readings-max-bytes": "1GiB"}})...)
	if got := RetentionOf(both); len(got) != 2 || got[age] != "30d" {
		t.Errorf("set: %v", got)
	}
	if got := RetentionOf(given(append(set, RetentionSet{values("")})...)); len(got) != 0 {
		t.Errorf("after the end of it: %v", got)
	}
}

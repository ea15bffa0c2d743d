package domain

import (
	"slices"
	"strings"
	"testing"
)

func addNotice(edit func(*Notification)) AddNotification {
	return AddNotification{Notification: with(notice(), edit)}
}

func TestAddNotification(t *testing.T) {
	labelled := with(notice(), func(n *Notification) { n.Category, n.Labels = "", []string{"fire"} })
	runDecisions(t, []decision{
		{name: "posted", when: AddNotification{Notification: notice()}, want: NotificationAdded{notice()}},
		{name: "by label", when: AddNotification{Notification: labelled}, want: NotificationAdded{labelled}},
		{name: "id taken", given: []Event{NotificationAdded{notice()}}, when: AddNotification{Notification: notice()},
			code: Conflict, says: `notification id "` + noticeID + `" exists already; leave the id out to get a new one`},
		{name: "bad id", when: addNotice(func(n *Notification) { n.ID = "17" }), code: Invalid, says: `id: "17" is no UUID`},
		{name: "neither category nor labels", when: addNotice(func(n *Notification) { n.Category = "" }),
			code: Invalid, says: "category: is missing or empty, and so is labels; give one of them"},
		{name: "no content", when: addNotice(func(n *Notification) { n.Content = "" }),
			code: Invalid, says: "content: is missing or empty; give a value"},
		{name: "content too long", when: addNotice(func(n *Notification) { n.Content = strings.Repeat("c", MaxContent+1) }),
			code: Invalid, says: "content: is 1048577 bytes long; use at most 1048576"},
		{name: "description too long", when: addNotice(func(n *Notification) { n.Description = strings.Repeat("d", MaxDescription+1) }),
			code: Invalid, says: "description: is 65537 bytes long; use at most 65536"},
		{name: "content type too long", when: addNotice(func(n *Notification) { n.ContentType = strings.Repeat("t", MaxName+1) }),
			code: Invalid, says: "is 257 bytes long; use at most 256"},
		{name: "too many labels", when: addNotice(func(n *Notification) { n.Labels = slices.Repeat([]string{"l"}, MaxTags+1) }),
			code: Invalid, says: "categories: and labels have 257 entries together; use at most 256"},
		{name: "no sender", when: addNotice(func(n *Notification) { n.Sender = "" }),
			code: Invalid, says: "sender: is missing or empty; give a name"},
		{name: "unknown severity", when: addNotice(func(n *Notification) { n.Severity = "HIGH" }),
			code: Invalid, says: `severity: "HIGH" is unknown; use one of MINOR, NORMAL, CRITICAL`},
		{name: "unknown status", when: addNotice(func(n *Notification) { n.Status = "DONE" }),
			code: Invalid, says: `status: "DONE" is unknown; use one of NEW, PROCESSED, ESCALATED`},
	})
}

// A device change raises its notification once, however often its consequences are worked out.
func TestRaiseNotificationsOnce(t *testing.T) {
	raised := func(id string, cause uint64) Raised {
		return Raised{Notification: with(notice(), func(n *Notification) { n.ID, n.Cause, n.Matched = id, cause, []string{"gate"} })}
	}
	raise := func(after uint64, list ...Raised) RaiseNotifications {
		return RaiseNotifications{Raised: list, After: after}
	}
	one, two := raised(noticeID, 7), raised(otherID, 9)
	wrong := Raised{Notification: with(two.Notification, func(n *Notification) { n.Content = "" })}
	seven := []Event{NotificationsRaised{Raised: []Raised{one}}}
	posted := two
	posted.Notification.Cause = 0
	runDecisions(t, []decision{
		{name: "first", when: raise(0, one), want: NotificationsRaised{Raised: []Raised{one}}},
		{name: "several", when: raise(0, one, two), want: NotificationsRaised{Raised: []Raised{one, two}}},
		{name: "the same again", given: seven, when: raise(0, one)},
		{name: "the same under another id", given: seven, when: raise(0, raised(otherID, 7))},
		{name: "an earlier change", given: seven, when: raise(0, raised(otherID, 6))},
		{name: "a later change", given: seven, when: raise(7, two), want: NotificationsRaised{Raised: []Raised{two}}},
		{name: "partly on record", given: seven, when: raise(0, one, two), want: NotificationsRaised{Raised: []Raised{two}}},
		{name: "one that waits for another", given: seven, when: raise(8, two), code: Unavailable, says: "waits for the notification of that event"},
		{name: "none", given: seven, when: RaiseNotifications{After: 7, UpTo: 8}, want: NotificationsRaised{Raised: []Raised{}, UpTo: 8}},
		{name: "none, before a later change", given: []Event{NotificationsRaised{UpTo: 8}}, when: raise(7, one, two), want: NotificationsRaised{Raised: []Raised{two}}},
		{name: "none, which is on record", given: seven, when: RaiseNotifications{UpTo: 7}},
		{name: "none, which waits for another", given: seven, when: RaiseNotifications{After: 8, UpTo: 9}, code: Unavailable, says: "what follows event 8"},
		{name: "not in order", when: raise(0, two, one), code: Invalid, says: "the notification of event 7 comes after that of event 9"},
		{name: "one of several is wrong", when: raise(0, one, wrong), code: Invalid, says: "content: is missing or empty; give a value"},
		{name: "its id is taken", given: []Event{NotificationAdded{posted.Notification}}, when: raise(0, one, two), code: Conflict, says: "exists already"},
		{name: "a posted one does not move the cursor", given: append(seven, NotificationAdded{posted.Notification}), when: raise(0, one)},
	})
}

func TestNotificationsRaisedKeepsTransmissions(t *testing.T) {
	s := given(NotificationsRaised{Raised: []Raised{{Notification: notice(), Transmissions: []Transmission{transmission()}}}})
	if got, ok := s.Transmissions.Get(otherID); !ok || got.SubscriptionName != "gate" {
		t.Errorf("got %#v, %t, want the transmission", got, ok)
	}
}

func TestProcessNotification(t *testing.T) {
	done := with(notice(), func(n *Notification) { n.Status, n.Modified = StatusProcessed, later })
	sent := []Transmission{transmission()}
	when := ProcessNotification{ID: noticeID, Transmissions: sent, At: later}
	runDecisions(t, []decision{
		{name: "sent", given: []Event{NotificationAdded{notice()}}, when: when, want: NotificationProcessed{done, sent}},
		{name: "nobody asked for it", given: []Event{NotificationAdded{notice()}}, when: ProcessNotification{ID: noticeID, Transmissions: nil, At: later},
			want: NotificationProcessed{done, nil}},
		{name: "has its outcome", given: []Event{NotificationAdded{notice()}, NotificationProcessed{done, sent}}, when: when},
		{name: "is gone", when: when},
	})
}

func TestNotificationProcessedKeepsTransmissions(t *testing.T) {
	s := given(NotificationAdded{notice()}, NotificationProcessed{notice(), []Transmission{transmission()}})
	if got, ok := s.Transmissions.Get(otherID); !ok || got.SubscriptionName != "gate" {
		t.Errorf("got %#v, %t, want the transmission", got, ok)
	}
}

func TestNotificationSubject(t *testing.T) {
	tests := []struct {
		notification Notification
		want         string
	}{
		{Notification{ID: "n", Category: "FIRE", Labels: []string{"a"}}, "FIRE"},
		{Notification{ID: "n", Labels: []string{"a", "b"}}, "a"},
	}
	for _, tt := range tests {
		wantSubject(t, NotificationAdded{tt.notification}, tt.want, "n", "added")
		wantSubject(t, NotificationsRaised{Raised: []Raised{{Notification: tt.notification}, {}}}, tt.want, "n", "raised")
		wantSubject(t, NotificationProcessed{Notification: tt.notification}, tt.want, "n", "processed")
	}
}

package domain

import "testing"

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
		{name: "no sender", when: addNotice(func(n *Notification) { n.Sender = "" }),
			code: Invalid, says: "sender: is missing or empty; give a name"},
		{name: "unknown severity", when: addNotice(func(n *Notification) { n.Severity = "HIGH" }),
			code: Invalid, says: `severity: "HIGH" is unknown; use one of MINOR, NORMAL, CRITICAL`},
		{name: "unknown status", when: addNotice(func(n *Notification) { n.Status = "DONE" }),
			code: Invalid, says: `status: "DONE" is unknown; use one of NEW, PROCESSED, ESCALATED`},
	})
}

// A device change raises its notification once, however often its consequences are worked out.
func TestAddNotificationByCauseOnce(t *testing.T) {
	raised := func(id string, cause uint64) Notification {
		return with(notice(), func(n *Notification) { n.ID, n.Cause, n.Matched = id, cause, []string{"gate"} })
	}
	seven := []Event{NotificationAdded{raised(noticeID, 7)}}
	runDecisions(t, []decision{
		{name: "first", when: AddNotification{Notification: raised(noticeID, 7)}, want: NotificationAdded{raised(noticeID, 7)}},
		{name: "the same again", given: seven, when: AddNotification{Notification: raised(noticeID, 7)}},
		{name: "the same under another id", given: seven, when: AddNotification{Notification: raised(otherID, 7)}},
		{name: "an earlier change", given: seven, when: AddNotification{Notification: raised(otherID, 6)}},
		{name: "a later change", given: seven, when: AddNotification{Notification: raised(otherID, 9)}, want: NotificationAdded{raised(otherID, 9)}},
		{name: "one that waits for another", given: seven, when: AddNotification{Notification: raised(otherID, 9), After: 8}, code: Unavailable, says: "event 9 waits for that of event 8"},
		{name: "one that waits no more", given: seven, when: AddNotification{Notification: raised(otherID, 9), After: 7}, want: NotificationAdded{raised(otherID, 9)}},
		{name: "a posted one after it", given: seven, when: AddNotification{Notification: raised(otherID, 0)}, want: NotificationAdded{raised(otherID, 0)}},
		{name: "a posted one does not move the cursor", given: append(seven, NotificationAdded{raised(otherID, 0)}),
			when: AddNotification{Notification: raised(otherID, 7)}},
	})
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
		wantSubject(t, NotificationProcessed{Notification: tt.notification}, tt.want, "n", "processed")
	}
}

package domain

import (
	"slices"
	"strings"
	"testing"
)

func TestAcknowledgeNotifications(t *testing.T) {
	two := []Event{NotificationAdded{notice()}, NotificationAdded{with(notice(), func(n *Notification) { n.ID = otherID })}}
	taken := with(notice(), func(n *Notification) { n.Acknowledged, n.Modified = true, later })
	other := with(taken, func(n *Notification) { n.ID = otherID })
	back := with(taken, func(n *Notification) { n.Acknowledged, n.Modified = false, later+1 })
	acknowledge := func(ids ...string) AcknowledgeNotifications {
		return AcknowledgeNotifications{IDs: ids, Acknowledged: true, At: later}
	}
	acknowledged := NotificationsAcknowledged{Acknowledged: true, Notifications: []Notification{taken}}
	runDecisions(t, []decision{
		{name: "one", given: two, when: acknowledge(noticeID), want: acknowledged},
		{name: "one twice", given: two, when: acknowledge(noticeID, noticeID), want: acknowledged},
		{name: "two", given: two, when: acknowledge(otherID, noticeID), want: NotificationsAcknowledged{true, []Notification{taken, other}}},
		{name: "again", given: append(two, acknowledged), when: acknowledge(noticeID)},
		{name: "one of two again", given: append(two, acknowledged), when: acknowledge(noticeID, otherID), want: NotificationsAcknowledged{true, []Notification{other}}},
		{name: "taken back", given: append(two, acknowledged), when: AcknowledgeNotifications{IDs: []string{noticeID}, At: later + 1}, want: NotificationsAcknowledged{false, []Notification{back}}},
		{name: "taken back again", given: two, when: AcknowledgeNotifications{IDs: []string{noticeID}, At: later}},
		{name: "one of two is unknown", given: two, when: acknowledge(noticeID, raisedID), code: NotFound, says: `notification id "` + raisedID + `" does not exist`},
		{name: "no id", given: two, when: acknowledge(""), code: NotFound, says: `notification id "" does not exist`},
		{name: "too many", when: acknowledge(slices.Repeat([]string{noticeID}, MaxTogether+1)...), code: Invalid, says: "1001 ids; name at most 1000"},
	})
}

// One event has no more content than the log takes.
func TestAcknowledgedContentIsBounded(t *testing.T) {
	s, ids := given(), []string(nil)
	for i := range MaxContentTogether/MaxContent + 1 {
		n := with(notice(), func(n *Notification) { n.ID, n.Content = n.ID[1:]+string(rune('a'+i)), strings.Repeat("c", MaxContent) })
		NotificationAdded{n}.Evolve(s)
		ids = append(ids, n.ID)
	}
	mustDecide(t, s, AcknowledgeNotifications{IDs: ids[1:], Acknowledged: true})
	got, err := AcknowledgeNotifications{IDs: ids, Acknowledged: true}.Decide(s)
	wantRefusal(t, got, err, Invalid, "longer than 8388608 bytes together; name fewer ids")
	for _, id := range ids { // the same length, of which JSON makes six times as much
		n, _ := s.Notifications.Get(id)
		n.Content = strings.Repeat("<", MaxContent)
		s.Notifications.Put(id, n)
	}
	got, err = AcknowledgeNotifications{IDs: ids[5:], Acknowledged: true}.Decide(s)
	wantRefusal(t, got, err, Invalid, "take more than 25165824 bytes on the log together; name fewer ids")
	wire, err := Encode(mustDecide(t, s, AcknowledgeNotifications{IDs: ids[6:], Acknowledged: true}))
	if err != nil || len(wire.Data) > maxTogetherBytes {
		t.Errorf("%d bytes, %v", len(wire.Data), err)
	}
}

func TestAcknowledgedSubject(t *testing.T) {
	for verb, acknowledged := range map[string]bool{"acknowledged": true, "unacknowledged": false} {
		wantSubject(t, NotificationsAcknowledged{acknowledged, []Notification{{ID: "n", Category: "FIRE"}, {ID: "m"}}}, "FIRE", "n", verb)
	}
}

package domain

import (
	"fmt"
	"slices"
	"testing"
)

// open is a transmission of notice that waits for its first try.
func open(id string) Transmission {
	return with(transmission(), func(t *Transmission) {
		t.ID, t.Status, t.Records, t.Created, t.Next, t.ResendLimit = id, StatusResending, nil, created, created, 1
	})
}

// routed has put notice on record with two open transmissions.
func routed() NotificationProcessed {
	ts := []Transmission{open(otherID), open(raisedID)}
	return NotificationProcessed{notice().Route(ts), ts}
}

func TestRoute(t *testing.T) {
	for _, tt := range []struct {
		name   string
		ts     []Transmission
		open   int
		status string
	}{
		{"nobody", nil, 0, StatusProcessed},
		{"delivered", []Transmission{transmission()}, 0, StatusProcessed},
		{"some open", []Transmission{transmission(), open(otherID), open(raisedID)}, 2, StatusNew},
	} {
		n := notice().Route(tt.ts)
		if n.Open != tt.open || n.Status != tt.status || !n.Routed() {
			t.Errorf("%s: got %d open, %s, want %d, %s", tt.name, n.Open, n.Status, tt.open, tt.status)
		}
	}
	if notice().Routed() {
		t.Error("a new notification is routed")
	}
}

func TestProcessNotificationOnce(t *testing.T) {
	runDecisions(t, []decision{
		{name: "routed, with open transmissions", given: []Event{routed()}, when: ProcessNotification{ID: noticeID, At: later}},
	})
}

func TestRecordTry(t *testing.T) {
	failed := TransmissionRecord{StatusFailed, "refused", later}
	sent := TransmissionRecord{StatusSent, "ok", later}
	again := RecordTry{ID: otherID, Record: failed, Status: StatusResending, Next: later + 5, At: later}
	first := TransmissionTried{Topic: DeviceChanged, Transmission: with(open(otherID), func(t *Transmission) {
		t.Records, t.Next = []TransmissionRecord{failed}, later+5
	})}
	done := RecordTry{ID: otherID, Record: sent, Status: StatusSent, Next: 9, At: later}
	second := with(first.Transmission, func(t *Transmission) {
		t.Records, t.Status, t.Next, t.ResendCount = []TransmissionRecord{failed, sent}, StatusSent, 0, 1
	})
	oneLess := with(routed().Notification, func(n *Notification) { n.Open = 1 })
	processed := with(oneLess, func(n *Notification) { n.Open, n.Status, n.Modified = 0, StatusProcessed, later })
	lost := with(oneLess, func(n *Notification) { n.Failed = 1 })
	escalation := &Raised{Notification: notice()}
	escalated := RecordTry{ID: otherID, Record: failed, Status: StatusEscalated, Escalation: escalation, At: later}
	given := []Event{routed()}
	runDecisions(t, []decision{
		{name: "to be tried again", given: given, when: again, want: first},
		{name: "sent, another one is open", given: append(slices.Clone(given), first), when: done,
			want: TransmissionTried{Topic: DeviceChanged, Transmission: second, Notification: &oneLess}},
		{name: "sent, the last one", given: append(slices.Clone(given), first, TransmissionTried{Transmission: transmission(), Notification: &oneLess}, first), when: done,
			want: TransmissionTried{Topic: DeviceChanged, Transmission: second, Notification: &processed}},
		{name: "escalated", given: given, when: escalated, want: TransmissionTried{
			Topic: DeviceChanged, Notification: &lost, Escalated: escalation,
			Transmission: with(first.Transmission, func(t *Transmission) { t.Status, t.Next = StatusEscalated, 0 }),
		}},
		{name: "has its outcome", given: append(slices.Clone(given), TransmissionTried{Transmission: second}), when: again},
		{name: "is gone", when: again},
		{name: "too often", given: []Event{TransmissionTried{Transmission: with(open(otherID), func(t *Transmission) {
			t.Records = make([]TransmissionRecord, MaxTries)
		})}}, when: again, code: Invalid, says: "100 tries already"},
		{name: "notification is gone", given: []Event{TransmissionTried{Transmission: open(otherID)}}, when: again,
			want: TransmissionTried{Topic: "gone", Transmission: first.Transmission}},
	})
}

func TestTransmissionTriedEvolves(t *testing.T) {
	n := with(notice(), func(n *Notification) { n.Open = 7 })
	told := with(notice(), func(n *Notification) { n.ID = raisedID })
	s := given(TransmissionTried{
		Topic: "FIRE", Transmission: open(otherID), Notification: &n,
		Escalated: &Raised{Notification: told, Transmissions: []Transmission{open(raisedID)}},
	})
	if got, _ := s.Notifications.Get(noticeID); got.Open != 7 {
		t.Errorf("got %d open, want 7", got.Open)
	}
	if _, ok := s.Notifications.Get(raisedID); !ok {
		t.Error("what is escalated is not there")
	}
	for _, id := range []string{otherID, raisedID} {
		if got, _ := s.Transmissions.Get(id); !got.IsOpen() {
			t.Errorf("transmission %s: got %+v, want it open", id, got)
		}
	}
	wantSubject(t, TransmissionTried{Topic: "FIRE", Transmission: open(otherID)}, "FIRE", noticeID, "tried")
}

func TestResendTransmissions(t *testing.T) {
	failed := with(open(otherID), func(t *Transmission) {
		t.Status, t.Next, t.Records = StatusFailed, 0, []TransmissionRecord{{StatusFailed, "refused", created}}
	})
	n := with(routed().Notification, func(n *Notification) { n.Open, n.Failed, n.Acknowledged, n.Status = 0, 1, true, StatusProcessed })
	given := []Event{TransmissionTried{Transmission: failed, Notification: &n}}
	moved := with(failed.Channel, func(c *Channel) { c.Port = 7777 })
	want := TransmissionsResent{
		Notifications: []Notification{with(n, func(n *Notification) { n.Open, n.Failed, n.Modified = 1, 0, later })},
		Transmissions: []Transmission{with(failed, func(t *Transmission) {
			t.Channel, t.Status, t.Next, t.ResentAt, t.TriesBefore = moved, StatusResending, later, later, 1
		})},
	}
	resend := func(skip bool, ids ...string) Command {
		c := ResendTransmissions{SkipOthers: skip, At: later}
		for _, id := range ids {
			c.Resends = append(c.Resends, Resend{id, moved})
		}
		return c
	}
	tried := func(tries int) []Event {
		return []Event{TransmissionTried{Notification: &n, Transmission: with(failed, func(t *Transmission) {
			t.Records = make([]TransmissionRecord, tries)
		})}}
	}
	runDecisions(t, []decision{
		{name: "failed", given: given, when: resend(false, otherID), want: want},
		{name: "the others are left out", given: given, when: resend(true, raisedID, otherID, otherID[:35]+"9"), want: want},
		{name: "is gone", given: given, when: resend(false, raisedID), code: NotFound, says: "correct the id"},
		{name: "nothing but others", given: given, when: resend(true, raisedID)},
		{name: "waits already", given: append(slices.Clone(given), want), when: resend(false, otherID),
			code: Conflict, says: "is RESENDING"},
		{name: "waits already, among others", given: append(slices.Clone(given), want), when: resend(true, otherID)},
		{name: "99 tries", given: tried(MaxTries - 1), when: resend(true, otherID), want: TransmissionsResent{
			Notifications: want.Notifications, Transmissions: []Transmission{with(want.Transmissions[0], func(t *Transmission) {
				t.Records, t.TriesBefore = make([]TransmissionRecord, MaxTries-1), MaxTries-1
			})},
		}},
		{name: "100 tries", given: tried(MaxTries), when: resend(false, otherID), code: Conflict, says: "100 tries, which is the limit"},
		{name: "too many", when: resend(true, make([]string, MaxTogether+1)...), code: Invalid, says: fmt.Sprint("at most ", MaxTogether)},
		{name: "a failure after an acknowledgement", given: append(slices.Clone(given), want),
			when: RecordTry{ID: otherID, Record: TransmissionRecord{StatusFailed, "refused", later}, Status: StatusFailed, At: later},
			want: TransmissionTried{Topic: DeviceChanged,
				Notification: new(with(n, func(n *Notification) { n.Acknowledged, n.Modified = false, later })),
				Transmission: with(want.Transmissions[0], func(t *Transmission) {
					t.Status, t.Next, t.ResendCount = StatusFailed, 0, 1
					t.Records = append(slices.Clone(t.Records), TransmissionRecord{StatusFailed, "refused", later})
				})}},
	})
}

// TestResendMail sends an e-mail again: the recipients that have it do not get it twice.
func TestResendMail(t *testing.T) {
	to := Channel{Type: ChannelEmail, Recipients: []string{"ann", "ben", "cat"}}
	for _, one := range []struct{ left, refused, want []string }{
		{nil, nil, nil}, {[]string{"ben"}, nil, []string{"ben"}}, {[]string{"ben"}, []string{"cat", "dan"}, []string{"ben", "cat"}},
	} {
		got := Transmission{Channel: to, Left: one.left, Refused: one.refused}.again(to, later)
		if !slices.Equal(got.Left, one.want) || got.Refused != nil {
			t.Errorf("left %v, refused %v: got left %v, refused %v", one.left, one.refused, got.Left, got.Refused)
		}
	}
}

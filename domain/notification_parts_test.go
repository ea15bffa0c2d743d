package domain

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// to is a transmission of notice to a subscription, without an outcome.
func to(subscription string) Transmission {
	return with(open(subscription+"/0"), func(t *Transmission) { t.SubscriptionName = subscription })
}

func part(after string, more bool, names ...string) ProcessNotification {
	c := ProcessNotification{ID: noticeID, Matched: names, After: after, More: more, At: later}
	for _, name := range names {
		c.Transmissions = append(c.Transmissions, to(name))
	}
	return c
}

// Parts are recorded once and in order, however they are cut, and the notification is not PROCESSED before the last.
func TestNotificationInParts(t *testing.T) {
	note := func(upto string, open int, names ...string) Notification {
		return with(notice(), func(n *Notification) {
			n.Partial, n.Upto, n.Open, n.Matched, n.Modified = upto != "", upto, open, names, later
		})
	}
	added := NotificationAdded{notice()}
	first := NotificationProcessed{note("b", 2, "a", "b"), []Transmission{to("a"), to("b")}}
	last := NotificationProcessed{note("", 3, "a", "b", "c"), []Transmission{to("c")}}
	sent := with(to("a"), func(t *Transmission) {
		t.Status, t.Next, t.Records = StatusSent, 0, []TransmissionRecord{{StatusSent, "ok", later}}
	})
	tried := func(n Notification) TransmissionTried {
		return TransmissionTried{Topic: DeviceChanged, Transmission: sent, Notification: &n}
	}
	runDecisions(t, []decision{
		{name: "the first", given: []Event{added}, when: part("", true, "a", "b"), want: first},
		{name: "the first again", given: []Event{added, first}, when: part("", true, "a", "b")},
		{name: "the first, cut otherwise", given: []Event{added, first}, when: part("", true, "a")},
		{name: "a longer one", given: []Event{added, first}, when: part("", true, "a", "b", "c"), want: NotificationProcessed{note("c", 3, "a", "b", "c"), []Transmission{to("c")}}},
		{name: "all in one", given: []Event{added, first}, when: part("", false, "a", "b", "c"), want: last},
		{name: "the last", given: []Event{added, first}, when: part("b", false, "c"), want: last},
		{name: "the last again", given: []Event{added, first, last}, when: part("b", false, "c")},
		{name: "without those between", given: []Event{added, first}, when: part("c", false, "d"), code: Conflict, says: `come after those up to "c", which are not on record`},
		{name: "without the first", given: []Event{added}, when: part("b", false, "c"), code: Conflict, says: "not on record"},
		{name: "of one that is gone", when: part("b", false, "c")},
		{name: "an outcome between", given: []Event{added, first}, when: RecordTry{ID: "a/0", Record: sent.Records[0], Status: StatusSent, At: later},
			want: tried(note("b", 1, "a", "b"))},
	})
	s := given(added, NotificationProcessed{note("a", 1, "a"), []Transmission{to("a")}}, tried(note("a", 0, "a")))
	if n, _ := s.Notifications.Get(noticeID); n.Routed() || n.Status != StatusNew {
		t.Errorf("with one part on record that is delivered: %+v", n)
	}
	e := mustDecide(t, s, ProcessNotification{ID: noticeID, After: "a", Matched: []string{"b"}, At: later}).(NotificationProcessed)
	if n := e.Notification; n.Status != StatusProcessed || !n.Routed() {
		t.Errorf("after the last part, and nothing open: %+v", n)
	}
}

// The last part of what a device change raised moves the cursor, so that a crash before it has all parts recorded again.
func TestRaisedInParts(t *testing.T) {
	begun := Raised{Notification: with(notice(), func(n *Notification) { n.Cause, n.Partial = 7, true })}
	whole := Raised{Notification: with(notice(), func(n *Notification) { n.Cause, n.Status = 7, StatusProcessed })}
	next := Raised{Notification: with(notice(), func(n *Notification) { n.ID, n.Cause = otherID, 9 })}
	raised := NotificationsRaised{Raised: []Raised{begun}}
	raise := func(after uint64, list ...Raised) RaiseNotifications {
		return RaiseNotifications{Raised: list, After: after}
	}
	runDecisions(t, []decision{
		{name: "begun", when: raise(0, begun), want: raised},
		{name: "begun again", given: []Event{raised}, when: raise(0, begun)},
		{name: "whole in a later version", given: []Event{raised}, when: raise(0, whole), want: NotificationsRaised{Raised: []Raised{whole}}},
		{name: "the next one", given: []Event{raised}, when: raise(7, next), code: Unavailable, says: "what follows event 7 waits"},
		{name: "the next one with it", when: raise(0, begun, next), code: Invalid, says: "before the rest of that of event 7"},
	})
	s := given(raised)
	for _, c := range []ProcessNotification{part("", true, "a"), part("a", false, "b")} {
		if done, _ := s.Cursors.Get(CursorDeviceChanges); done != 0 {
			t.Errorf("the cursor is at %d before part %+v", done, c)
		}
		mustDecide(t, s, c).Evolve(s)
	}
	if done, _ := s.Cursors.Get(CursorDeviceChanges); done != 7 {
		t.Errorf("the cursor is at %d after the last part, want 7", done)
	}
}

// What is refused for good is cut until only one subscription is left out.
func TestSmaller(t *testing.T) {
	empty := with(part("a", true, "b"), func(c *ProcessNotification) { c.Transmissions = nil })
	for _, tt := range []struct {
		from ProcessNotification
		want []ProcessNotification
	}{
		{part("", false, "a", "b"), []ProcessNotification{part("", true, "a"), part("a", false, "b")}},
		{part("a", true, "b", "c"), []ProcessNotification{part("a", true, "b"), part("b", true, "c")}},
		{part("a", true, "b"), []ProcessNotification{empty}},
		{empty, nil},
	} {
		if got := tt.from.Smaller(); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%+v: got\n%+v, want\n%+v", tt.from, got, tt.want)
		}
	}
}

// The names that each event repeats are bounded.
func TestMatchedOfPartsIsBounded(t *testing.T) {
	s := given(NotificationAdded{notice()})
	names := make([]string, 1000)
	for i := range names {
		names[i] = strings.Repeat("s", 196) + string([]rune{rune('a' + i/100), rune('a' + i/10%10), rune('a' + i%10)})
	}
	for i := 0; i < len(names); i += 100 {
		c := ProcessNotification{ID: noticeID, Matched: names[i : i+100], More: true}
		if i > 0 {
			c.After = names[i-1]
		}
		mustDecide(t, s, c).Evolve(s)
	}
	if n, _ := s.Notifications.Get(noticeID); len(n.Matched)*199 > maxMatchedBytes || len(n.Matched) < 300 || n.Upto != names[999] {
		t.Errorf("%d names, up to %q", len(n.Matched), n.Upto)
	}
}

// A hundred tries with long answers make a record that is short: the first answer and the last ones are whole, and every try is there.
func TestAnswersOnRecordAreBounded(t *testing.T) {
	s := given(NotificationAdded{notice()}, routed())
	for range MaxTries {
		record := TransmissionRecord{StatusFailed, strings.Repeat("é", 2048), later}
		mustDecide(t, s, RecordTry{ID: otherID, Record: record, Status: StatusResending, At: later}).Evolve(s)
	}
	got, _ := s.Transmissions.Get(otherID)
	if len(got.Records) != MaxTries {
		t.Fatalf("%d records", len(got.Records))
	}
	for i, r := range got.Records {
		if want := i == 0 || i >= MaxTries-lastAnswers; (len(r.Response) == 4096) != want || r.Status != StatusFailed || !strings.HasPrefix(r.Response, "é") {
			t.Errorf("record %d: %s, %d bytes", i, r.Status, len(r.Response))
		}
	}
	if text, _ := json.Marshal(got); len(text) > 64<<10 {
		t.Errorf("%d bytes on the log", len(text))
	}
}

// The channels of one subscription take no more of an event than [MaxChannelsBytes], however they are escaped.
func TestChannelsBytes(t *testing.T) {
	mail := func(channels int, recipient string) Subscription {
		return with(gate(), func(s *Subscription) {
			one := Channel{Type: ChannelEmail}
			for i := range MaxRecipients {
				one.Recipients = append(one.Recipients, recipient+string([]rune{rune('a' + i/10), rune('a' + i%10)})+".example")
			}
			s.Channels = make([]Channel, channels)
			for i := range s.Channels {
				s.Channels[i] = one
			}
		})
	}
	for _, tt := range []struct {
		name string
		s    Subscription
		says string
	}{
		{"long addresses", mail(MaxChannels, strings.Repeat("a", 64)+"@"+strings.Repeat("b", 170)), ""},
		{"addresses that JSON escapes", mail(MaxChannels, strings.Repeat("&", 60)+"@"), "channels: take 1"},
		{"fewer of them", mail(MaxChannels/2, strings.Repeat("&", 60)+"@"), ""},
	} {
		problems := tt.s.Check().Err()
		if tt.says == "" && problems != nil || tt.says != "" && (problems == nil || !strings.Contains(problems.Error(), tt.says)) {
			t.Errorf("%s: got %v, want %q", tt.name, problems, tt.says)
		}
	}
}

// TestAddedWithCause holds that the event with which the first versions recorded the notification of a device change still moves the cursor of
// device changes. Without that, their logs would be notified of a second time.
func TestAddedWithCause(t *testing.T) {
	s := given(mustDecode(t, mustReadGolden(t, "notification.added/1")))
	if at, _ := s.Cursors.Get(CursorDeviceChanges); at != 42 {
		t.Errorf("got the cursor at %d, want 42", at)
	}
}

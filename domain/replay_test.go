package domain

import "testing"

func TestRecordReplay(t *testing.T) {
	some := Replay{Subscription: "gate", From: 3, Last: 9, Count: 2, Dropped: 1}
	runDecisions(t, []decision{
		{name: "some", when: RecordReplay{some}, want: NotificationsReplayed{some}},
		{name: "nothing was there", when: RecordReplay{Replay{Subscription: "gate", From: 3, Last: 2}}},
	})
	wantSubject(t, NotificationsReplayed{some}, "replays", "gate", "replayed")
}

package domain

import "testing"

func TestRecordCallbacks(t *testing.T) {
	ten := CallbacksMade{UpTo: 10, Behind: map[string]uint64{"device-onvif": 4}}
	runDecisions(t, []decision{
		{name: "first", when: RecordCallbacks(ten), want: ten},
		{name: "nothing new", given: []Event{ten}, when: RecordCallbacks(ten)},
		{name: "an earlier one", given: []Event{ten}, when: RecordCallbacks{UpTo: 9}},
		{name: "a later one", given: []Event{ten}, when: RecordCallbacks{UpTo: 11}, want: CallbacksMade{UpTo: 11}},
		{name: "one that was behind comes on", given: []Event{ten}, when: RecordCallbacks{UpTo: 10, Behind: map[string]uint64{"device-onvif": 6}},
			want: CallbacksMade{UpTo: 10, Behind: map[string]uint64{"device-onvif": 6}}},
		{name: "and is behind no more", given: []Event{ten}, when: RecordCallbacks{UpTo: 10, Behind: map[string]uint64{"device-onvif": 0}},
			want: CallbacksMade{UpTo: 10, Behind: map[string]uint64{"device-onvif": 0}}},
		{name: "as it is on record", given: []Event{ten, CallbacksMade{UpTo: 12, Behind: map[string]uint64{"device-onvif": 0}}},
			when: RecordCallbacks{UpTo: 12, Behind: map[string]uint64{"device-onvif": 0}}},
	})
}

func TestCallbacksMadeMovesCursors(t *testing.T) {
	s := given(CallbacksMade{UpTo: 10, Behind: map[string]uint64{"a": 4, "b": 5}}, CallbacksMade{UpTo: 12, Behind: map[string]uint64{"a": 0}})
	for key, want := range map[string]uint64{CursorCallbacks: 12, CursorCallbacksOf("a"): 0, CursorCallbacksOf("b"): 5} {
		if got, ok := s.Cursors.Get(key); got != want || ok != (want > 0) {
			t.Errorf("%s: got %d, %t, want %d", key, got, ok, want)
		}
	}
	wantSubject(t, CallbacksMade{UpTo: 12}, "callbacks", "12", "made")
}

package domain

import "testing"

func TestSubscriptionMatches(t *testing.T) {
	both := Subscription{Categories: []string{"FIRE"}, Labels: []string{"a"}}
	change := Notification{Category: DeviceChanged, Labels: []string{"metadata"}, Cause: 7}
	tests := []struct {
		name         string
		subscription Subscription
		notification Notification
		want         bool
	}{
		{"its category", Subscription{Categories: []string{"FIRE", "DOOR"}}, Notification{Category: "DOOR"}, true},
		{"another category", Subscription{Categories: []string{"FIRE"}}, Notification{Category: "DOOR"}, false},
		{"case matters", Subscription{Categories: []string{"FIRE"}}, Notification{Category: "fire"}, false},
		{"one of its labels", Subscription{Labels: []string{"a", "b"}}, Notification{Labels: []string{"b"}}, true},
		{"none of its labels", Subscription{Labels: []string{"a"}}, Notification{Labels: []string{"x"}}, false},
		{"a label, but not the category", both, Notification{Category: "DOOR", Labels: []string{"a"}}, false},
		{"the category, but no label", both, Notification{Category: "FIRE", Labels: []string{"x"}}, false},
		{"the category and one of two labels", both, Notification{Category: "FIRE", Labels: []string{"a", "x"}}, false},
		{"one of two labels, no category", both, Notification{Labels: []string{"a", "x"}}, false},
		{"the category and the label", both, Notification{Category: "FIRE", Labels: []string{"a"}}, true},
		{"the category alone", both, Notification{Category: "FIRE"}, true},
		{"the label alone", both, Notification{Labels: []string{"a"}}, true},
		{"the category and a label, of a subscription without labels", Subscription{Categories: []string{"FIRE"}},
			Notification{Category: "FIRE", Labels: []string{"a"}}, false},
		{"all of several labels, twice", Subscription{Labels: []string{"a", "b", "c"}}, Notification{Labels: []string{"b", "a", "b"}}, true},
		{"raised: the category alone", Subscription{Categories: []string{DeviceChanged}}, change, true},
		{"raised: the label alone", Subscription{Labels: []string{"metadata"}}, change, true},
		{"raised: both", Subscription{Categories: []string{DeviceChanged}, Labels: []string{"metadata"}}, change, true},
		{"raised: neither", both, change, false},
		{"posted in the category and with the label of changes", Subscription{Categories: []string{DeviceChanged}},
			Notification{Category: DeviceChanged, Labels: []string{"metadata"}}, false},
		{"a label is not a category", Subscription{Categories: []string{"a"}}, Notification{Labels: []string{"a"}}, false},
		{"a category is not a label", Subscription{Labels: []string{"a"}}, Notification{Category: "a"}, false},
		{"no category is not a match", Subscription{Categories: []string{""}}, Notification{Labels: []string{"x"}}, false},
		{"nothing on either side", Subscription{}, Notification{}, false},
	}
	for _, tt := range tests {
		for state, unlocked := range map[string]bool{StateUnlocked: true, StateLocked: false, "": false} {
			tt.subscription.AdminState = state
			if got, want := tt.subscription.Matches(tt.notification), tt.want && unlocked; got != want {
				t.Errorf("%s, adminState %q: got %t, want %t", tt.name, state, got, want)
			}
		}
	}
}

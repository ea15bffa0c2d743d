package domain

import "testing"

func TestSubscriptionMatches(t *testing.T) {
	tests := []struct {
		name         string
		subscription Subscription
		notification Notification
		want         bool
	}{
		{"its category", Subscription{Categories: []string{"FIRE", "DOOR"}}, Notification{Category: "DOOR"}, true},
		{"another category", Subscription{Categories: []string{"FIRE"}}, Notification{Category: "DOOR"}, false},
		{"case matters", Subscription{Categories: []string{"FIRE"}}, Notification{Category: "fire"}, false},
		{"one of its labels", Subscription{Labels: []string{"a", "b"}}, Notification{Labels: []string{"x", "b"}}, true},
		{"none of its labels", Subscription{Labels: []string{"a"}}, Notification{Labels: []string{"x"}}, false},
		{"a label, though not the category", Subscription{Categories: []string{"FIRE"}, Labels: []string{"a"}},
			Notification{Category: "DOOR", Labels: []string{"a"}}, true},
		{"the category, though no label", Subscription{Categories: []string{"FIRE"}, Labels: []string{"a"}},
			Notification{Category: "FIRE", Labels: []string{"x"}}, true},
		{"a label is no category", Subscription{Categories: []string{"a"}}, Notification{Labels: []string{"a"}}, false},
		{"a category is no label", Subscription{Labels: []string{"a"}}, Notification{Category: "a"}, false},
		{"no category is no match", Subscription{Categories: []string{""}}, Notification{Labels: []string{"x"}}, false},
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

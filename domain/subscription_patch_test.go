package domain

import (
	"reflect"
	"slices"
	"testing"
)

func patchGate(edit func(*SubscriptionPatch)) UpdateSubscription {
	return UpdateSubscription{Patch: with(SubscriptionPatch{Name: new("gate")}, edit), At: later}
}

func TestUpdateSubscription(t *testing.T) {
	locked := with(gate(), func(d *Subscription) { d.AdminState, d.Modified = StateLocked, later })
	runDecisions(t, []decision{
		{name: "by id", given: subscribed(), when: UpdateSubscription{SubscriptionPatch{ID: new(subscriptionID), AdminState: new(StateLocked)}, later},
			want: SubscriptionUpdated{locked, gate(), []string{"adminState"}}},
		{name: "by name", given: subscribed(), when: patchGate(func(p *SubscriptionPatch) { p.AdminState = new(StateLocked) }),
			want: SubscriptionUpdated{locked, gate(), []string{"adminState"}}},
		{name: "values as they are", given: subscribed(), when: patchGate(func(p *SubscriptionPatch) {
			p.Channels, p.Categories, p.Labels, p.Receiver = []Channel{zeroMQ()}, []string{DeviceChanged}, []string{}, new("guards")
		})},
		{name: "neither id nor name", given: subscribed(), when: UpdateSubscription{SubscriptionPatch{}, later},
			code: Invalid, says: "name: is missing, and so is id; give one of them"},
		{name: "no such name", given: subscribed(), when: UpdateSubscription{SubscriptionPatch{Name: new("door")}, later},
			code: NotFound, says: `subscription "door" does not exist`},
		{name: "id of one, name of another", given: subscribed(),
			when: UpdateSubscription{SubscriptionPatch{ID: new(subscriptionID), Name: new("door")}, later},
			code: Invalid, says: `subscription id "` + subscriptionID + `" belongs to "gate", not to "door"`},
		{name: "unknown adminState", given: subscribed(), when: patchGate(func(p *SubscriptionPatch) { p.AdminState = new("OPEN") }),
			code: Invalid, says: `adminState: "OPEN" is unknown; use one of LOCKED, UNLOCKED`},
		{name: "no channels", given: subscribed(), when: patchGate(func(p *SubscriptionPatch) { p.Channels = []Channel{} }),
			code: Invalid, says: "channels: is empty; give at least one channel, or leave it out"},
		{name: "bad channel", given: subscribed(), when: patchGate(func(p *SubscriptionPatch) { p.Channels = []Channel{zeroMQ(), {Type: "FAX"}} }),
			code: Invalid, says: `channels[1].type: "FAX" is unknown; use one of REST, EMAIL, MQTT, ZeroMQ`},
		{name: "nothing left to match", given: subscribed(), when: patchGate(func(p *SubscriptionPatch) { p.Categories = []string{} }),
			code: Invalid, says: "categories: is missing or empty, and so is labels"},
		{name: "negative resendLimit", given: subscribed(), when: patchGate(func(p *SubscriptionPatch) { p.ResendLimit = new(-1) }),
			code: Invalid, says: "resendLimit: -1 is negative; use 0 or more"},
		{name: "bad resendInterval", given: subscribed(), when: patchGate(func(p *SubscriptionPatch) { p.ResendInterval = new("soon") }),
			code: Invalid, says: `resendInterval: "soon" is no duration`},
	})
}

func TestUpdateSubscriptionNamesWhatChanged(t *testing.T) {
	tests := []struct {
		edit func(*SubscriptionPatch)
		want []string
	}{
		{func(p *SubscriptionPatch) { p.Description = new("north") }, []string{"description"}},
		{func(p *SubscriptionPatch) { p.Receiver = new("police") }, []string{"receiver"}},
		{func(p *SubscriptionPatch) { p.Channels = []Channel{zeroMQ(), zeroMQ()} }, []string{"channels"}},
		{func(p *SubscriptionPatch) { p.Categories = []string{"FIRE"} }, []string{"categories"}},
		{func(p *SubscriptionPatch) { p.Categories, p.Labels = []string{}, []string{"fire"} }, []string{"categories", "labels"}},
		{func(p *SubscriptionPatch) { p.ResendLimit = new(3) }, []string{"resendLimit"}},
		{func(p *SubscriptionPatch) { p.ResendInterval = new("1s") }, []string{"resendInterval"}},
		{func(p *SubscriptionPatch) { p.Receiver, p.AdminState = new("police"), new(StateLocked) }, []string{"adminState", "receiver"}},
	}
	for _, tt := range tests {
		cmd := patchGate(tt.edit)
		got, ok := Whole(given(subscribed()...), mustDecide(t, given(subscribed()...), cmd)).(SubscriptionUpdated)
		if !ok || !slices.Equal(got.Changed, tt.want) {
			t.Errorf("got %#v, want Changed %v", got, tt.want)
			continue
		}
		want := cmd.Patch.Apply(gate())
		want.Modified = later
		if !reflect.DeepEqual(got.Subscription, want) || !reflect.DeepEqual(got.Before, gate()) {
			t.Errorf("got  %#v\nwant %#v before and %#v after", got, gate(), want)
		}
	}
}

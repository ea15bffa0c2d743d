package domain

import (
	"reflect"
	"slices"
	"testing"
)

func patchGate(edit ...any) UpdateSubscription {
	return UpdateSubscription{Patch: PatchOf[Subscription](append(fields{"name", "gate"}, edit...)...), At: later}
}

func TestUpdateSubscription(t *testing.T) {
	locked := with(gate(), func(d *Subscription) { d.AdminState, d.Modified = StateLocked, later })
	runDecisions(t, []decision{
		{name: "by id", given: subscribed(),
			when: UpdateSubscription{PatchOf[Subscription]("id", subscriptionID, "adminState", StateLocked), later},
			want: SubscriptionUpdated{locked, gate(), []string{"adminState"}}},
		{name: "by name", given: subscribed(), when: patchGate("adminState", StateLocked),
			want: SubscriptionUpdated{locked, gate(), []string{"adminState"}}},
		{name: "values as they are", given: subscribed(), when: patchGate("channels", []Channel{zeroMQ()},
			"categories", []string{DeviceChanged}, "labels", []string{}, "receiver", "guards")},
		{name: "neither id nor name", given: subscribed(), when: UpdateSubscription{PatchOf[Subscription](), later},
			code: Invalid, says: "name: is missing, and so is id; give one of them"},
		{name: "no such name", given: subscribed(), when: UpdateSubscription{PatchOf[Subscription]("name", "door"), later},
			code: NotFound, says: `subscription "door" does not exist`},
		{name: "id of one, name of another", given: subscribed(),
			when: UpdateSubscription{PatchOf[Subscription]("id", subscriptionID, "name", "door"), later},
			code: Invalid, says: `subscription id "` + subscriptionID + `" belongs to "gate", not to "door"`},
		{name: "unknown adminState", given: subscribed(), when: patchGate("adminState", "OPEN"),
			code: Invalid, says: `adminState: "OPEN" is unknown; use one of LOCKED, UNLOCKED`},
		{name: "no channels", given: subscribed(), when: patchGate("channels", []Channel{}),
			code: Invalid, says: "channels: is empty; give at least one channel, or leave it out"},
		{name: "bad channel", given: subscribed(), when: patchGate("channels", []Channel{zeroMQ(), {Type: "FAX"}}),
			code: Invalid, says: `channels[1].type: "FAX" is unknown; use one of REST, EMAIL, MQTT, ZeroMQ`},
		{name: "nothing left to match", given: subscribed(), when: patchGate("categories", []string{}),
			code: Invalid, says: "categories: is missing or empty, and so is labels"},
		{name: "negative resendLimit", given: subscribed(), when: patchGate("resendLimit", -1),
			code: Invalid, says: "resendLimit: -1 is negative; use 0 or more"},
		{name: "bad resendInterval", given: subscribed(), when: patchGate("resendInterval", "soon"),
			code: Invalid, says: `resendInterval: "soon" is not a duration`},
	})
}

func TestUpdateSubscriptionNamesWhatChanged(t *testing.T) {
	tests := []struct {
		edit fields
		want []string
	}{
		{fields{"description", "north"}, []string{"description"}},
		{fields{"receiver", "police"}, []string{"receiver"}},
		{fields{"channels", []Channel{zeroMQ(), zeroMQ()}}, []string{"channels"}},
		{fields{"categories", []string{"FIRE"}}, []string{"categories"}},
		{fields{"categories", []string{}, "labels", []string{"fire"}}, []string{"categories", "labels"}},
		{fields{"resendLimit", 3}, []string{"resendLimit"}},
		{fields{"resendInterval", "1s"}, []string{"resendInterval"}},
		{fields{"receiver", "police", "adminState", StateLocked}, []string{"adminState", "receiver"}},
	}
	for _, tt := range tests {
		cmd := patchGate(tt.edit...)
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

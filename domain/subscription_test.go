package domain

import "testing"

func addGate(edit func(*Subscription)) AddSubscription { return AddSubscription{with(gate(), edit)} }

func subscribed() []Event { return []Event{SubscriptionAdded{Subscription: gate()}} }

func TestAddSubscription(t *testing.T) {
	byLabel := with(gate(), func(d *Subscription) { d.Categories, d.Labels = nil, []string{"fire"} })
	resent := with(gate(), func(d *Subscription) { d.ResendLimit, d.ResendInterval = 3, "10s" })
	runDecisions(t, []decision{
		{name: "by category", when: AddSubscription{gate()}, want: SubscriptionAdded{Subscription: gate()}},
		{name: "by label", when: AddSubscription{byLabel}, want: SubscriptionAdded{Subscription: byLabel}},
		{name: "with resends", when: AddSubscription{resent}, want: SubscriptionAdded{Subscription: resent}},
		{name: "name taken", given: subscribed(), when: addGate(func(d *Subscription) { d.ID = otherID }),
			code: Conflict, says: `subscription name "gate" exists already; choose another name`},
		{name: "id taken", given: subscribed(), when: addGate(func(d *Subscription) { d.Name = "door" }),
			code: Conflict, says: `subscription id "` + subscriptionID + `" exists already, for "gate"; leave the id out`},
		{name: "bad id", when: addGate(func(d *Subscription) { d.ID = "17" }), code: Invalid, says: `id: "17" is no UUID`},
		{name: "no receiver", when: addGate(func(d *Subscription) { d.Receiver = "" }),
			code: Invalid, says: "receiver: is missing or empty; give a name"},
		{name: "no adminState", when: addGate(func(d *Subscription) { d.AdminState = "" }),
			code: Invalid, says: "adminState: is missing or empty; use one of LOCKED, UNLOCKED"},
		{name: "no channels", when: addGate(func(d *Subscription) { d.Channels = nil }),
			code: Invalid, says: "channels: is missing or empty; give at least one channel"},
		{name: "neither categories nor labels", when: addGate(func(d *Subscription) { d.Categories = nil }),
			code: Invalid, says: `categories: is missing or empty, and so is labels; give one of them, such as "DEVICE_CHANGED"`},
		{name: "negative resendLimit", when: addGate(func(d *Subscription) { d.ResendLimit = -1 }),
			code: Invalid, says: "resendLimit: -1 is negative; use 0 or more"},
		{name: "bad resendInterval", when: addGate(func(d *Subscription) { d.ResendInterval = "10" }),
			code: Invalid, says: `resendInterval: "10" is not a duration; write it as 300ms, 10s or 24h`},
	})
}

func TestRemoveSubscription(t *testing.T) {
	runDecisions(t, []decision{
		{name: "removed", given: subscribed(), when: RemoveSubscription{"gate"}, want: SubscriptionRemoved{Subscription: gate()}},
		{name: "no such subscription", given: subscribed(), when: RemoveSubscription{"door"},
			code: NotFound, says: `subscription "door" does not exist`},
		{name: "name and id free again", given: append(subscribed(), SubscriptionRemoved{Subscription: gate()}),
			when: AddSubscription{gate()}, want: SubscriptionAdded{Subscription: gate()}},
	})
}

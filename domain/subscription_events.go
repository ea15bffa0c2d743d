package domain

// SubscriptionAdded records a new subscription.
type SubscriptionAdded struct {
	Subscription Subscription `json:"subscription"`
	// Prev is the sequence of the last removal of the name; 0 for none, and in events of older versions.
	Prev uint64 `json:"prev,omitempty"`
}

// Evolve adds the subscription.
func (e SubscriptionAdded) Evolve(s State) {
	s.Subscriptions.Put(e.Subscription.Name, e.Subscription)
	s.IDs.Put(idKey("subscription", e.Subscription.ID), e.Subscription.Name)
}

// AddedID is the answer to who asked for it.
func (e SubscriptionAdded) AddedID() string { return e.Subscription.ID }

// Subject implements Event.
func (e SubscriptionAdded) Subject() Subject {
	return Subject{"subscription", e.Subscription.Name, "added"}
}

// SubscriptionUpdated records what a subscription is after and before a change, and names the JSON fields that differ.
// Before lets a reader of the log go back from today's subscriptions to those of an earlier sequence. Versions before
// [SubscriptionPatched] wrote it; now it is what [Whole] makes of that.
type SubscriptionUpdated struct {
	Subscription Subscription `json:"subscription"`
	Before       Subscription `json:"before"`
	Changed      []string     `json:"changed"`
}

// Evolve replaces the subscription.
func (e SubscriptionUpdated) Evolve(s State) {
	s.Subscriptions.Put(e.Subscription.Name, e.Subscription)
}

// Subject implements Event.
func (e SubscriptionUpdated) Subject() Subject {
	return Subject{"subscription", e.Subscription.Name, "updated"}
}

// SubscriptionRemoved records that a subscription is gone; Subscription is what it last was.
type SubscriptionRemoved struct {
	Subscription Subscription `json:"subscription"`
	// Prev is the sequence of the event before it of the entity; 0 in events of older versions.
	Prev uint64 `json:"prev,omitempty"`
}

// Evolve removes the subscription.
func (e SubscriptionRemoved) Evolve(s State) {
	s.Subscriptions.Delete(e.Subscription.Name)
	s.IDs.Delete(idKey("subscription", e.Subscription.ID))
}

// Subject implements Event.
func (e SubscriptionRemoved) Subject() Subject {
	return Subject{"subscription", e.Subscription.Name, "removed"}
}

package domain

import "encoding/json"

func (d *Subscription) checkFields(c *checking) {
	c.checkField("receiver", d.Receiver, (*Problems).checkName)
	c.checkState("adminState", d.AdminState, StateLocked, StateUnlocked)
	c.checkFilled("channels", len(d.Channels), "at least one channel", "")
	c.checkChannels(d.Channels)
	switch {
	case len(d.Categories)+len(d.Labels) > 0:
		c.checkTags(d.Categories, d.Labels)
	case !c.isPatch():
		c.Add("categories", "is missing or empty, and so is labels; give one of them, such as %q", DeviceChanged)
	case d.Categories != nil && d.Labels != nil:
		c.Add("categories", "is empty, and so is labels; give one of them, or leave one out to keep what is there")
	}
	if !c.isPatch() && d.ResendLimit < 0 {
		c.Add("resendLimit", "%d is negative; use 0 or more", d.ResendLimit)
	}
	if d.ResendInterval != "" {
		c.checkInterval("resendInterval", d.ResendInterval)
	}
}

// Check notes what is wrong with a subscription.
func (d Subscription) Check() Problems {
	c := newChecking(d.ID, d.Name)
	d.checkFields(&c)
	return c.Problems
}

func (p *Problems) checkChannels(list []Channel) {
	if len(list) > MaxChannels {
		p.Add("channels", "has %d entries; use at most %d, and another subscription for more", len(list), MaxChannels)
		return
	}
	for i, c := range list {
		p.In(at("channels", i), c.Check())
	}
	if n := channelsBytes(list); n > MaxChannelsBytes {
		p.Add("channels", "take %d bytes on the log; use at most %d: give fewer or shorter recipients, or another subscription for the others", n, MaxChannelsBytes)
	}
}

// channelsBytes is how long channels are as JSON; of short ones it is an estimate.
func channelsBytes(list []Channel) (n int) {
	const around, escaped = 512, 6
	for _, c := range list {
		t := Transmission{Channel: c}
		n += around + escaped*t.Bytes()
	}
	if n <= MaxChannelsBytes {
		return n
	}
	text, _ := json.Marshal(list) // texts and numbers only: cannot fail
	return len(text)
}

func (p *Problems) checkTags(categories, labels []string) {
	if n := len(categories) + len(labels); n > MaxTags {
		p.Add("categories", "and labels have %d entries together; use at most %d", n, MaxTags)
		return
	}
	checkIndexed(p, "categories", categories, (*Problems).checkName)
	checkIndexed(p, "labels", labels, (*Problems).checkName)
}

// AddSubscription adds a subscription. Subscription carries its id and times.
type AddSubscription struct{ Subscription Subscription }

// Decide refuses a subscription that is wrong in itself or whose name or id is taken.
func (c AddSubscription) Decide(s State) (Event, error) {
	if err := c.Subscription.Check().Err(); err != nil {
		return nil, err
	}
	if err := checkFree(s, "subscription", c.Subscription.Name, c.Subscription.ID, has(s.Subscriptions)); err != nil {
		return nil, err
	}
	return SubscriptionAdded{c.Subscription, lastRemoval(s, "subscription", c.Subscription.Name)}, nil
}

// UpdateSubscription patches a subscription. At is the new modified time, in milliseconds since the Unix epoch.
type UpdateSubscription struct {
	Patch Patch[Subscription]
	At    int64
}

// Decide refuses a patch that is wrong or that names no subscription; one that changes nothing makes no event.
func (c UpdateSubscription) Decide(s State) (Event, error) {
	old, d, err := patchEntity(s, "subscription", c.Patch, s.Subscriptions)
	if err != nil {
		return nil, err
	}
	if err := d.Check().Err(); err != nil {
		return nil, err
	}
	u, ok, err := updateOf(s.Subscriptions, d.Name, old, d, c.At)
	if !ok || err != nil {
		return nil, err
	}
	return SubscriptionPatched{u}, nil
}

// RemoveSubscription removes the subscription called Name.
type RemoveSubscription struct{ Name string }

// Decide refuses a name that does not exist.
func (c RemoveSubscription) Decide(s State) (Event, error) {
	d, ok := s.Subscriptions.Get(c.Name)
	if !ok {
		return nil, Errorf(NotFound, "subscription %q does not exist; correct the name", c.Name)
	}
	return SubscriptionRemoved{d, Revision(s.Subscriptions, d.Name)}, nil
}

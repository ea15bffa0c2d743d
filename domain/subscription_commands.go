package domain

import "encoding/json"

// Check notes what is wrong with a subscription.
func (d Subscription) Check() Problems {
	var p Problems
	p.checkID("id", d.ID)
	p.checkName("name", d.Name)
	p.checkName("receiver", d.Receiver)
	p.checkOneOf("adminState", d.AdminState, StateLocked, StateUnlocked)
	if len(d.Channels) == 0 {
		p.Add("channels", "is missing or empty; give at least one channel")
	}
	p.checkChannels(d.Channels)
	if len(d.Categories) == 0 && len(d.Labels) == 0 {
		p.Add("categories", "is missing or empty, and so is labels; give one of them, such as %q", DeviceChanged)
	}
	p.checkTags(d.Categories, d.Labels)
	if d.ResendLimit < 0 {
		p.Add("resendLimit", "%d is negative; use 0 or more", d.ResendLimit)
	}
	if d.ResendInterval != "" {
		p.checkInterval("resendInterval", d.ResendInterval)
	}
	return p
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
	return SubscriptionAdded(c), nil
}

// SubscriptionPatch changes the fields that are not nil of the subscription that ID or Name, or both, name.
type SubscriptionPatch struct {
	ID             *string   `json:"id"`
	Name           *string   `json:"name"`
	Description    *string   `json:"description"`
	Receiver       *string   `json:"receiver"`
	Channels       []Channel `json:"channels"`
	Categories     []string  `json:"categories"`
	Labels         []string  `json:"labels"`
	ResendLimit    *int      `json:"resendLimit"`
	ResendInterval *string   `json:"resendInterval"`
	AdminState     *string   `json:"adminState"`
}

// Apply returns d with the patch's fields.
func (c SubscriptionPatch) Apply(d Subscription) Subscription {
	set(&d.Description, c.Description)
	set(&d.Receiver, c.Receiver)
	set(&d.ResendLimit, c.ResendLimit)
	set(&d.ResendInterval, c.ResendInterval)
	set(&d.AdminState, c.AdminState)
	if c.Channels != nil {
		d.Channels = c.Channels
	}
	if c.Categories != nil {
		d.Categories = c.Categories
	}
	if c.Labels != nil {
		d.Labels = c.Labels
	}
	return d
}

// Check notes what is wrong with the patch before the subscription is known.
func (c SubscriptionPatch) Check() Problems {
	var p Problems
	p.checkTarget(c.ID, c.Name)
	optional(&p, "receiver", c.Receiver, (*Problems).checkName)
	optional(&p, "adminState", c.AdminState, func(p *Problems, path, v string) {
		p.checkOneOf(path, v, StateLocked, StateUnlocked)
	})
	if c.Channels != nil && len(c.Channels) == 0 {
		p.Add("channels", "is empty; give at least one channel, or leave it out to keep what is there")
	}
	p.checkChannels(c.Channels)
	p.checkTags(c.Categories, c.Labels)
	if c.Categories != nil && c.Labels != nil && len(c.Categories)+len(c.Labels) == 0 {
		p.Add("categories", "is empty, and so is labels; give one of them, or leave one out to keep what is there")
	}
	optional(&p, "resendInterval", c.ResendInterval, func(p *Problems, path, v string) {
		if v != "" { // empty takes it away
			p.checkInterval(path, v)
		}
	})
	return p
}

// UpdateSubscription patches a subscription. At is the new modified time, in milliseconds since the Unix epoch.
type UpdateSubscription struct {
	Patch SubscriptionPatch
	At    int64
}

// Decide refuses a patch that is wrong or that names no subscription; one that changes nothing makes no event.
func (c UpdateSubscription) Decide(s State) (Event, error) {
	if err := c.Patch.Check().Err(); err != nil {
		return nil, err
	}
	old, err := find(s, "subscription", c.Patch.ID, c.Patch.Name, s.Subscriptions)
	if err != nil {
		return nil, err
	}
	d := c.Patch.Apply(old)
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
	return SubscriptionRemoved{Subscription: d}, nil
}

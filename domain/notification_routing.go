package domain

import "slices"

// Route gives a notification transmissions: while some of them are open, or others follow, it is NEW; else it is PROCESSED.
func (n Notification) Route(ts []Transmission) Notification {
	n.Open, n.Failed = 0, 0
	return n.routeOn(ts)
}

// routeOn is Route for transmissions beside those that the notification has.
func (n Notification) routeOn(ts []Transmission) Notification {
	for _, t := range ts {
		switch {
		case t.IsOpen():
			n.Open++
		case t.IsGivenUp():
			n.Failed++
		}
	}
	if n.Status == StatusNew && n.Open == 0 && !n.Partial {
		n.Status = StatusProcessed
	}
	return n
}

// ProcessNotification records which channels a notification matched, and what became of it on those that were tried. Where one event would
// be too large, there is a command for each part, in the order of the subscriptions' names. A part has whole subscriptions.
type ProcessNotification struct {
	ID string
	// Matched names the subscriptions of Transmissions, in order.
	Matched       []string
	Transmissions []Transmission
	// After is the last subscription of the part before; empty for the first part. More says that another part follows.
	After string
	More  bool
	At    int64
}

// Decide makes no event for a notification that is gone, for one that was routed already, and for a part that is on record. It leaves out
// the subscriptions that are on record, and refuses a part whose predecessor is not.
func (c ProcessNotification) Decide(s State) (Event, error) {
	n, ok := s.Notifications.Get(c.ID)
	if !ok || n.Routed() {
		return nil, nil
	}
	if n.Upto < c.After {
		return nil, Errorf(Conflict, "the transmissions of notification %q to subscriptions after %q come after those up to %q, which are not on record", c.ID, c.After, c.After)
	}
	if n.Partial {
		c = c.beyond(n.Upto)
	}
	if n.Partial && c.More && len(c.Matched) == 0 {
		return nil, nil
	}
	n.Matched = withMatched(n, c)
	if n.Partial, n.Upto = c.More, ""; c.More {
		n.Upto = c.Matched[len(c.Matched)-1]
	}
	n = n.routeOn(c.Transmissions)
	n.Modified = c.At
	return NotificationProcessed{Notification: n, Transmissions: c.Transmissions}, nil
}

// beyond leaves out the subscriptions up to a name.
func (c ProcessNotification) beyond(upto string) ProcessNotification {
	c.Matched = slices.DeleteFunc(slices.Clone(c.Matched), func(name string) bool { return name <= upto })
	c.Transmissions = slices.DeleteFunc(slices.Clone(c.Transmissions), func(t Transmission) bool { return t.SubscriptionName <= upto })
	return c
}

// withMatched returns the names of a notification and of one more part.
func withMatched(n Notification, c ProcessNotification) []string {
	parts := n.Partial || c.More
	switch {
	case !parts && n.Matched == nil:
		return c.Matched
	case !parts:
		return n.Matched
	}
	all, bytes := slices.Clone(n.Matched), 0
	for _, name := range all {
		bytes += len(name)
	}
	for _, name := range c.Matched {
		if bytes += len(name); bytes <= maxMatchedBytes {
			all = append(all, name)
		}
	}
	return all
}

// Smaller returns what to record in place of a command that is refused for good: a command for each subscription, so that only the one at
// fault is left out; for one subscription a command without its transmissions, so that the next ones can follow; nothing for that.
func (c ProcessNotification) Smaller() []ProcessNotification {
	if len(c.Transmissions) == 0 {
		return nil
	}
	if len(c.Matched) <= 1 {
		c.Transmissions = nil
		return []ProcessNotification{c}
	}
	each := make([]ProcessNotification, len(c.Matched))
	for i, name := range c.Matched {
		one := c
		one.Matched, one.More = c.Matched[i:i+1:i+1], c.More || i < len(c.Matched)-1
		if i > 0 {
			one.After = c.Matched[i-1]
		}
		one.Transmissions = slices.DeleteFunc(slices.Clone(c.Transmissions), func(t Transmission) bool { return t.SubscriptionName != name })
		each[i] = one
	}
	return each
}

// Bytes estimates what the command takes in memory and on the log, beside the notification.
func (c ProcessNotification) Bytes() int { return bytesOf(c.Transmissions) }

func bytesOf(ts []Transmission) (n int) {
	for i := range ts {
		n += ts[i].Bytes()
	}
	return n
}

// Bytes estimates what a transmission takes in memory and on the log: its texts, and as much around them as there is at most.
func (t *Transmission) Bytes() int {
	const around, aroundRecord = 640, 64
	c := &t.Channel
	n := around + len(t.SubscriptionName) + len(t.CorrelationID) + len(t.Entity) + len(c.Host) + len(c.Path) + len(c.Topic) + len(c.Publisher) + len(c.SecretPath)
	for _, list := range [][]string{c.Recipients, t.Left, t.Refused} {
		for _, r := range list {
			n += len(r) + len(`"",`)
		}
	}
	for _, list := range [][]string{c.Allow, c.ClientKeys} {
		for _, v := range list {
			n += len(v) + len(`"",`)
		}
	}
	for _, r := range t.Records {
		n += aroundRecord + len(r.Response)
	}
	return n
}

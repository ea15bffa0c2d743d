package domain

// Check notes what is wrong with a notification.
func (n Notification) Check() Problems {
	var p Problems
	p.checkID("id", n.ID)
	if n.Category == "" && len(n.Labels) == 0 {
		p.Add("category", "is missing or empty, and so is labels; give one of them")
	}
	p.checkToken("category", n.Category)
	p.checkTags(nil, n.Labels)
	p.checkText("content", n.Content)
	if len(n.Content) > MaxContent {
		p.Add("content", "is %d bytes long; use at most %d", len(n.Content), MaxContent)
	}
	p.checkName("sender", n.Sender)
	p.checkOneOf("severity", n.Severity, SeverityMinor, SeverityNormal, SeverityCritical)
	p.checkOneOf("status", n.Status, StatusNew, StatusProcessed, StatusEscalated)
	return p
}

// AddNotification adds a notification. Notification carries its id, its times and its status. After is, for one that a
// device change raised, the cause of the one raised before it, which must be on record first.
type AddNotification struct {
	Notification Notification
	After        uint64
}

// Decide refuses a notification that is wrong in itself or whose id is taken. One that a device change raised is
// made once: when its cause is on record already there is nothing to do.
func (c AddNotification) Decide(s State) (Event, error) {
	if cause := c.Notification.Cause; cause > 0 {
		done, _ := s.Cursors.Get(CursorDeviceChanges)
		if cause <= done {
			return nil, nil
		}
		if c.After > done {
			return nil, Errorf(Unavailable, "the notification of event %d waits for that of event %d", cause, c.After)
		}
	}
	if err := c.Notification.Check().Err(); err != nil {
		return nil, err
	}
	if _, taken := s.Notifications.Get(c.Notification.ID); taken {
		return nil, Errorf(Conflict, "notification id %q exists already; leave the id out to get a new one", c.Notification.ID)
	}
	return NotificationAdded{Notification: c.Notification}, nil
}

// ProcessNotification records what became of a notification on the channels that it matched.
type ProcessNotification struct {
	ID string
	// Matched names the subscriptions of a notification that was matched only when it was delivered.
	Matched       []string
	Transmissions []Transmission
	At            int64
}

// Decide makes no event for a notification that is gone or that has its outcome already.
func (c ProcessNotification) Decide(s State) (Event, error) {
	n, ok := s.Notifications.Get(c.ID)
	if !ok || n.Status != StatusNew {
		return nil, nil
	}
	n.Status, n.Modified = StatusProcessed, c.At
	if n.Matched == nil {
		n.Matched = c.Matched
	}
	return NotificationProcessed{Notification: n, Transmissions: c.Transmissions}, nil
}

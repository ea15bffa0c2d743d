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

// AddNotification adds a notification that was posted. Notification carries its id, its times and its status.
type AddNotification struct {
	Notification Notification
}

// Decide refuses a notification that is wrong in itself or whose id is taken.
func (c AddNotification) Decide(s State) (Event, error) {
	if err := c.Notification.fits(s); err != nil {
		return nil, err
	}
	return NotificationAdded(c), nil
}

// fits is an error where n is wrong in itself or its id is taken.
func (n Notification) fits(s State) error {
	if err := n.Check().Err(); err != nil {
		return err
	}
	if _, taken := s.Notifications.Get(n.ID); taken {
		return Errorf(Conflict, "notification id %q exists already; leave the id out to get a new one", n.ID)
	}
	return nil
}

// RaiseNotifications adds the notifications that device changes raised, in the order of their causes, with what became
// of them. After is the cause of the one raised before the first, which must be on record.
type RaiseNotifications struct {
	Raised []Raised
	After  uint64
}

// Decide leaves out what is on record already: a device change raises its notification once. It refuses all where one of
// them is wrong.
func (c RaiseNotifications) Decide(s State) (Event, error) {
	done, _ := s.Cursors.Get(CursorDeviceChanges)
	rest := c.Raised
	for len(rest) > 0 && rest[0].Notification.Cause <= done {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return nil, nil
	}
	if c.After > done {
		return nil, Errorf(Unavailable, "the notification of event %d waits for that of event %d", rest[0].Notification.Cause, c.After)
	}
	for _, r := range rest {
		if r.Notification.Cause <= done {
			return nil, Errorf(Invalid, "the notification of event %d comes after that of event %d", r.Notification.Cause, done)
		}
		done = r.Notification.Cause
		if err := r.Notification.fits(s); err != nil {
			return nil, err
		}
	}
	return NotificationsRaised{Raised: rest}, nil
}

// Route gives a notification the transmissions that it has: with open ones it is NEW until these have their outcome,
// without it is PROCESSED.
func (n Notification) Route(ts []Transmission) Notification {
	n.Open = 0
	for _, t := range ts {
		if t.IsOpen() {
			n.Open++
		}
	}
	if n.Status == StatusNew && n.Open == 0 {
		n.Status = StatusProcessed
	}
	return n
}

// ProcessNotification records which channels a notification matched, and what became of it on those that were tried.
type ProcessNotification struct {
	ID string
	// Matched names the subscriptions of a notification that was matched only when it was delivered.
	Matched       []string
	Transmissions []Transmission
	At            int64
}

// Decide makes no event for a notification that is gone or that was routed already.
func (c ProcessNotification) Decide(s State) (Event, error) {
	n, ok := s.Notifications.Get(c.ID)
	if !ok || n.Routed() {
		return nil, nil
	}
	if n.Matched == nil {
		n.Matched = c.Matched
	}
	n = n.Route(c.Transmissions)
	n.Modified = c.At
	return NotificationProcessed{Notification: n, Transmissions: c.Transmissions}, nil
}

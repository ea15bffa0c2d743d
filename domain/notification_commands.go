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
	if len(n.Description) > MaxDescription {
		p.Add("description", "is %d bytes long; use at most %d", len(n.Description), MaxDescription)
	}
	p.checkLength("contentType", n.ContentType)
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
	_, taken := s.Notifications.Get(c.Notification.ID)
	if err := c.Notification.fits(taken); err != nil {
		return nil, err
	}
	return NotificationAdded(c), nil
}

// fits is an error where n is wrong in itself or its id is taken.
func (n Notification) fits(taken bool) error {
	if err := n.Check().Err(); err != nil {
		return err
	}
	if taken {
		return Errorf(Conflict, "notification id %q exists already; leave the id out to get a new one", n.ID)
	}
	return nil
}

// RaiseNotifications adds the notifications that device changes raised, in the order of their causes, with what became
// of them. After is the cause of the one raised before the first, which must be on record. The last one may be Partial: then its
// transmissions follow, each part as a [ProcessNotification]. Without any, it records that the changes up to UpTo raise none.
type RaiseNotifications struct {
	Raised []Raised
	After  uint64
	UpTo   uint64
}

// Decide leaves out what is on record already: a device change raises its notification once. It refuses all where one of
// them is wrong.
func (c RaiseNotifications) Decide(s State) (Event, error) {
	done, _ := s.Cursors.Get(CursorDeviceChanges)
	rest := c.Raised
	for len(rest) > 0 && rest[0].Notification.Cause <= done {
		rest = rest[1:]
	}
	if len(rest) == 0 && c.UpTo <= done {
		return nil, nil
	}
	if c.After > done {
		return nil, Errorf(Unavailable, "what follows event %d waits for the notification of that event", c.After)
	}
	for i, r := range rest {
		n := r.Notification
		if n.Cause <= done {
			return nil, Errorf(Invalid, "the notification of event %d comes after that of event %d", n.Cause, done)
		}
		if done = n.Cause; n.Partial && i < len(rest)-1 {
			return nil, Errorf(Invalid, "the notification of event %d comes before the rest of that of event %d", rest[i+1].Notification.Cause, n.Cause)
		}
		begun, taken := s.Notifications.Get(n.ID)
		switch {
		case begun.Partial && begun.Cause == n.Cause && n.Partial:
			rest = rest[:i] // a crash came before the rest of its parts
		case begun.Partial && begun.Cause == n.Cause:
			// All its transmissions fit one event now: it is recorded anew.
		default:
			if err := n.fits(taken); err != nil {
				return nil, err
			}
		}
	}
	if len(rest) == 0 && c.UpTo == 0 {
		return nil, nil
	}
	return NotificationsRaised{Raised: append([]Raised{}, rest...), UpTo: c.UpTo}, nil
}

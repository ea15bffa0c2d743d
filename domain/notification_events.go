package domain

// NotificationAdded records a notification that was posted. Before there was [NotificationsRaised], it also recorded one that a device change
// raised, which has a Cause.
type NotificationAdded struct {
	Notification Notification `json:"notification"`
}

// Evolve adds the notification. One with a cause moves the cursor of device changes.
func (e NotificationAdded) Evolve(s State) {
	s.Notifications.Put(e.Notification.ID, e.Notification)
	if e.Notification.Cause > 0 {
		s.Cursors.Put(CursorDeviceChanges, e.Notification.Cause)
	}
}

// AddedID is the answer to who asked for it.
func (e NotificationAdded) AddedID() string { return e.Notification.ID }

// Subject implements Event.
func (e NotificationAdded) Subject() Subject {
	return Subject{e.Notification.topic(), e.Notification.ID, "added"}
}

// NotificationsRaised records the notifications that some device changes raised, in the order of their causes. Without any, it records how
// far the changes are followed: those up to UpTo met no subscription at all, and raised none.
type NotificationsRaised struct {
	Raised []Raised `json:"raised"`
	UpTo   uint64   `json:"upTo,omitempty"`
}

// Raised is the notification that one device change raised, with what became of it on the channels that it matched.
type Raised struct {
	Notification  Notification   `json:"notification"`
	Transmissions []Transmission `json:"transmissions,omitempty"`
	// CorrelationID is that of the request that changed the device.
	CorrelationID string `json:"correlationId,omitempty"`
}

// Bytes estimates what r takes in memory and on the log.
func (r Raised) Bytes() int {
	const around = 1 << 10
	return around + len(r.Notification.Content) + bytesOf(r.Transmissions)
}

// CursorDeviceChanges is the key in State.Cursors of the last change that is followed: it has its notification, or raises none.
const CursorDeviceChanges = "device-changes"

func (e NotificationsRaised) room() (n int) {
	for _, r := range e.Raised {
		n += usualEvent + len(r.Notification.Content) + usualEvent*len(r.Transmissions)
	}
	return n
}

// Evolve adds the notifications with their transmissions and moves the cursor of device changes.
func (e NotificationsRaised) Evolve(s State) {
	for _, r := range e.Raised {
		r.evolve(s)
		if !r.Notification.Partial { // else the last part moves it, so that a crash before that has all of them recorded
			s.Cursors.Put(CursorDeviceChanges, r.Notification.Cause)
		}
	}
	if e.UpTo > 0 {
		s.Cursors.Put(CursorDeviceChanges, e.UpTo)
	}
}

func (r Raised) evolve(s State) {
	s.Notifications.Put(r.Notification.ID, r.Notification)
	for _, t := range r.Transmissions {
		s.Transmissions.Put(t.ID, t)
	}
}

// Subject implements Event: it names the first notification, as all are of one category; without any, DEVICE_CHANGED and "none".
func (e NotificationsRaised) Subject() Subject {
	if len(e.Raised) == 0 {
		return Subject{DeviceChanged, "none", "raised"}
	}
	first := e.Raised[0].Notification
	return Subject{first.topic(), first.ID, "raised"}
}

// NotificationProcessed records which channels a notification matched, or, where Notification is Partial, some of them; those of the first
// event that is not are the last. Each part has the whole notification, because retention may remove the events before it.
// TransmissionTried records what becomes of it on the channels that are open.
type NotificationProcessed struct {
	Notification  Notification   `json:"notification"`
	Transmissions []Transmission `json:"transmissions"`
}

// Evolve replaces the notification and adds its transmissions. The last part of what a device change raised moves the cursor.
func (e NotificationProcessed) Evolve(s State) {
	s.Notifications.Put(e.Notification.ID, e.Notification)
	for _, t := range e.Transmissions {
		s.Transmissions.Put(t.ID, t)
	}
	if n := e.Notification; n.Cause > 0 && !n.Partial {
		if done, _ := s.Cursors.Get(CursorDeviceChanges); n.Cause > done {
			s.Cursors.Put(CursorDeviceChanges, n.Cause)
		}
	}
}

func (e NotificationProcessed) room() int {
	return usualEvent + len(e.Notification.Content) + bytesOf(e.Transmissions)
}

// Subject implements Event.
func (e NotificationProcessed) Subject() Subject {
	return Subject{e.Notification.topic(), e.Notification.ID, "processed"}
}

// topic is the token that NATS clients filter on: the category, or the first label without a category.
func (n Notification) topic() string {
	if n.Category == "" && len(n.Labels) > 0 {
		return n.Labels[0]
	}
	return n.Category
}

// Follows returns the last event of the log of changes that an event of the notifications follows: a notification its cause, and positions what
// they have passed. It is 0 for an event that follows none.
func Follows(e Event) (seq uint64) {
	switch e := e.(type) {
	case NotificationAdded:
		return e.Notification.Cause
	case NotificationProcessed:
		return e.Notification.Cause
	case NotificationsRaised:
		seq = e.UpTo
		for _, r := range e.Raised {
			seq = max(seq, r.Notification.Cause)
		}
	case CallbacksMade:
		return e.UpTo
	}
	return seq
}

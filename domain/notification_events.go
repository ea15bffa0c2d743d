package domain

// NotificationAdded records a new notification.
type NotificationAdded struct {
	Notification Notification `json:"notification"`
}

// CursorDeviceChanges is the key in State.Cursors of the last device change that has its notification.
const CursorDeviceChanges = "device-changes"

// Evolve adds the notification and moves the cursor of device changes.
func (e NotificationAdded) Evolve(s State) {
	s.Notifications.Put(e.Notification.ID, e.Notification)
	if e.Notification.Cause > 0 {
		s.Cursors.Put(CursorDeviceChanges, e.Notification.Cause)
	}
}

// Subject implements Event.
func (e NotificationAdded) Subject() Subject {
	return Subject{e.Notification.topic(), e.Notification.ID, "added"}
}

// NotificationProcessed records what became of a notification on every channel that it matched.
type NotificationProcessed struct {
	Notification  Notification   `json:"notification"`
	Transmissions []Transmission `json:"transmissions"`
}

// Evolve marks the notification as processed and adds its transmissions.
func (e NotificationProcessed) Evolve(s State) {
	s.Notifications.Put(e.Notification.ID, e.Notification)
	for _, t := range e.Transmissions {
		s.Transmissions.Put(t.ID, t)
	}
}

// Subject implements Event.
func (e NotificationProcessed) Subject() Subject {
	return Subject{e.Notification.topic(), e.Notification.ID, "processed"}
}

// topic is the token that taps filter on: the category, or the first label where there is none.
func (n Notification) topic() string {
	if n.Category == "" && len(n.Labels) > 0 {
		return n.Labels[0]
	}
	return n.Category
}

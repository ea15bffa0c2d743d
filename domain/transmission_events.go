package domain

// TransmissionTried records one try of a transmission, whole as it is after it, and what follows where it has its outcome
// now.
type TransmissionTried struct {
	// Topic is the token that NATS clients filter on: that of the notification.
	Topic        string       `json:"topic"`
	Transmission Transmission `json:"transmission"`
	// Notification has one open transmission less than before; nil where the transmission is open still, or where the
	// notification is gone.
	Notification *Notification `json:"notification,omitempty"`
	// Escalated tells the escalation subscription of a transmission that does not arrive. Its resends may go on.
	Escalated *Raised `json:"escalated,omitempty"`
}

// goneTopic is the Topic where the notification is gone.
const goneTopic = "gone"

// Evolve replaces the transmission and the notification, and adds what is escalated.
func (e TransmissionTried) Evolve(s State) {
	s.Transmissions.Put(e.Transmission.ID, e.Transmission)
	if n := e.Notification; n != nil {
		s.Notifications.Put(n.ID, *n)
	}
	if r := e.Escalated; r != nil {
		r.evolve(s)
	}
}

// Subject implements Event.
func (e TransmissionTried) Subject() Subject {
	return Subject{e.Topic, e.Transmission.NotificationID, "tried"}
}

// TransmissionsResent records that somebody has given-up transmissions sent again, with their notifications as they are then.
type TransmissionsResent struct {
	Notifications []Notification `json:"notifications"`
	Transmissions []Transmission `json:"transmissions"`
}

// Evolve replaces the transmissions and the notifications.
func (e TransmissionsResent) Evolve(s State) {
	for _, n := range e.Notifications {
		s.Notifications.Put(n.ID, n)
	}
	for _, t := range e.Transmissions {
		s.Transmissions.Put(t.ID, t)
	}
}

// Subject implements Event: it names the first notification.
func (e TransmissionsResent) Subject() Subject {
	if len(e.Notifications) == 0 {
		return nil
	}
	return Subject{e.Notifications[0].topic(), e.Notifications[0].ID, "resent"}
}

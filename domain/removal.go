package domain

// Removal names a notification, a transmission or a data event to be removed, as it was read.
type Removal struct {
	ID       string
	Revision uint64
	// Transmissions are the ids of a notification's transmissions. What adds one puts the notification too, so that they
	// are all there are while the notification is at Revision.
	Transmissions []string
}

// maxTransmissionsTogether bounds the transmissions of notifications that one command removes, but not those of one
// notification, which one event has added.
const maxTransmissionsTogether = MaxChannelsTogether

// Removals reads what RemoveNotifications needs to know of the ids.
func Removals(v View, ids []string) ([]Removal, error) {
	ids, err := distinct(ids)
	if err != nil {
		return nil, err
	}
	list, n := make([]Removal, len(ids)), 0
	for i, id := range ids {
		of, err := v.Lists.TransmissionIDs(id)
		if err != nil {
			return nil, err
		}
		if n += len(of); n > maxTransmissionsTogether && len(ids) > 1 {
			return nil, Errorf(Invalid, "the notifications have more than %d transmissions together; name fewer ids", maxTransmissionsTogether)
		}
		list[i] = Removal{ID: id, Revision: Revision(v.State.Notifications, id), Transmissions: of}
	}
	return list, nil
}

// RemoveNotifications removes notifications, whatever their status, with their transmissions: all of them or none.
type RemoveNotifications struct{ Removals []Removal }

// Decide refuses an id that does not exist, and, with Unavailable, a notification that has changed since it was read:
// who asks reads it again.
func (c RemoveNotifications) Decide(s State) (Event, error) {
	var e NotificationsRemoved
	for i, r := range c.Removals {
		n, ok := s.Notifications.Get(r.ID)
		if !ok {
			return nil, noNotification(r.ID)
		}
		if Revision(s.Notifications, r.ID) != r.Revision {
			return nil, Errorf(Unavailable, "notification id %q has changed meanwhile; try again", r.ID)
		}
		if i == 0 {
			e.Topic = n.topic()
		}
		e.add(r)
	}
	if len(e.Notifications) == 0 {
		return nil, nil
	}
	return e, nil
}

// NotificationsRemoved records notifications and transmissions that are gone.
type NotificationsRemoved struct {
	// Topic is the first notification's category or label, or, where Cleanup or Rule is not empty, nothing.
	Topic string `json:"topic,omitempty"`
	// Cleanup is the kind of the cleanup that has removed them, Rule the setting of retention; both are empty where a
	// request named them.
	Cleanup       string   `json:"cleanup,omitempty"`
	Rule          string   `json:"rule,omitempty"`
	Notifications []string `json:"notifications,omitempty"`
	Transmissions []string `json:"transmissions,omitempty"`
}

func (e *NotificationsRemoved) add(r Removal) {
	e.Notifications = append(e.Notifications, r.ID)
	e.Transmissions = append(e.Transmissions, r.Transmissions...)
}

// Removed returns how many notifications and transmissions are gone.
func (e NotificationsRemoved) Removed() int { return len(e.Notifications) + len(e.Transmissions) }

// Evolve removes them. What retention has taken already is not missed.
func (e NotificationsRemoved) Evolve(s State) {
	for _, id := range e.Notifications {
		s.Notifications.Delete(id)
	}
	for _, id := range e.Transmissions {
		s.Transmissions.Delete(id)
	}
}

// Subject implements Event: it says why they went, or names the first notification.
func (e NotificationsRemoved) Subject() Subject {
	return removedSubject(e.Cleanup, e.Rule, e.Topic, e.Notifications)
}

// removedSubject is the subject of a removal by a cleanup of a kind, by a rule of retention, or by a request that named ids
// of a topic; nil where none is named.
func removedSubject(cleanup, rule, topic string, ids []string) Subject {
	switch {
	case cleanup != "":
		return Subject{"cleanup", cleanup, "removed"}
	case rule != "":
		return Subject{"cleanup", "retention", "removed"}
	case len(ids) == 0:
		return nil
	}
	return Subject{topic, ids[0], "removed"}
}

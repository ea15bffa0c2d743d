package domain

import "slices"

// MaxTogether is how many notifications one command may name, and MaxContentTogether how long their content may be
// together, in bytes, where the event has it.
const (
	MaxTogether        = 1000
	MaxContentTogether = 8 << 20
)

// AcknowledgeNotifications records that a client has taken note of notifications, or, where Acknowledged is false, takes
// that back: all of them or none. At is the new modified time, in milliseconds since the Unix epoch.
type AcknowledgeNotifications struct {
	IDs          []string
	Acknowledged bool
	At           int64
}

// Decide refuses an id that does not exist; it leaves out the notifications that are as asked for.
func (c AcknowledgeNotifications) Decide(s State) (Event, error) {
	ids, err := distinct(c.IDs)
	if err != nil {
		return nil, err
	}
	e, bytes := NotificationsAcknowledged{Acknowledged: c.Acknowledged}, 0
	for _, id := range ids {
		n, ok := s.Notifications.Get(id)
		if !ok {
			return nil, noNotification(id)
		}
		if n.Acknowledged == c.Acknowledged {
			continue
		}
		n.Acknowledged, n.Modified = c.Acknowledged, c.At
		e.Notifications = append(e.Notifications, n)
		if bytes += len(n.Content); bytes > MaxContentTogether {
			return nil, Errorf(Invalid, "the content of the notifications is longer than %d bytes together; name fewer ids", MaxContentTogether)
		}
	}
	if len(e.Notifications) == 0 {
		return nil, nil
	}
	return e, nil
}

// distinct returns ids, sorted and each once.
func distinct(ids []string) ([]string, error) {
	if n := len(ids); n > MaxTogether {
		return nil, Errorf(Invalid, "%d ids; name at most %d", n, MaxTogether)
	}
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

func noNotification(id string) error {
	return Errorf(NotFound, "notification id %s does not exist; correct the id", quote(id))
}

// NotificationsAcknowledged records the notifications whose acknowledgement was given or taken back, as they are then.
type NotificationsAcknowledged struct {
	Acknowledged  bool           `json:"acknowledged"`
	Notifications []Notification `json:"notifications"`
}

// Evolve replaces the notifications.
func (e NotificationsAcknowledged) Evolve(s State) {
	for _, n := range e.Notifications {
		s.Notifications.Put(n.ID, n)
	}
}

// Subject implements Event: it names the first notification.
func (e NotificationsAcknowledged) Subject() Subject {
	if len(e.Notifications) == 0 {
		return nil
	}
	verb := "acknowledged"
	if !e.Acknowledged {
		verb = "unacknowledged"
	}
	return Subject{e.Notifications[0].topic(), e.Notifications[0].ID, verb}
}

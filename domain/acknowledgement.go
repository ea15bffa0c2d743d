package domain

import "slices"

// MaxTogether is how many notifications one command may name, and MaxContentTogether how long their content may be
// together, in bytes, where the event has it. maxTogetherBytes bounds that event: JSON takes up to six bytes for one.
const (
	MaxTogether        = 1000
	MaxContentTogether = 8 << 20
	maxTogetherBytes   = 24 << 20
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
	e, bytes, logged := NotificationsAcknowledged{Acknowledged: c.Acknowledged}, 0, 0
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
		if logged += n.logged(); logged > maxTogetherBytes {
			return nil, Errorf(Invalid, "the notifications take more than %d bytes on the log together; name fewer ids", maxTogetherBytes)
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

// logged is how many bytes n takes on the log: an upper bound for ASCII, which JSON escapes in part.
func (n Notification) logged() int {
	size := usualEvent + len(n.ID) + len(n.Sender) + len(n.Category) + escaped(n.Content) + escaped(n.Description) + escaped(n.ContentType)
	for _, list := range [][]string{n.Labels, n.Matched} {
		for _, text := range list {
			size += len(text) + len(`"",`)
		}
	}
	return size
}

// escaped is how many bytes a text takes as JSON at most.
func escaped(text string) int {
	n := len(text)
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			n++
		case c < ' ' || c == '<' || c == '>' || c == '&' || c == 0x7f:
			n += len(`\u0000`) - 1
		}
	}
	return n
}

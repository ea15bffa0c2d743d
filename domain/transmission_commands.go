package domain

import "slices"

// MaxTries bounds the tries of one transmission.
const MaxTries = 100

// RecordTry records what became of one try of an open transmission.
type RecordTry struct {
	ID     string // of the transmission
	Record TransmissionRecord
	// Status is that of the transmission after the try; RESENDING: it is tried again at Next.
	Status string
	Next   int64
	// Escalation, where there is one, is the notification that tells of a transmission that is ESCALATED.
	Escalation *Raised
	At         int64 // milliseconds since the Unix epoch
}

// Decide makes no event for a transmission that is gone or that has its outcome already.
func (c RecordTry) Decide(s State) (Event, error) {
	t, ok := s.Transmissions.Get(c.ID)
	if !ok || !t.IsOpen() {
		return nil, nil
	}
	if len(t.Records) >= MaxTries {
		return nil, Errorf(Invalid, "transmission %q has %d tries already, which is the limit", t.ID, len(t.Records))
	}
	t.ResendCount = len(t.Records)
	t.Records = append(slices.Clone(t.Records), c.Record)
	t.Status, t.Next = c.Status, 0
	if t.IsOpen() {
		t.Next = c.Next
	}
	e := TransmissionTried{Transmission: t, Topic: goneTopic}
	n, ok := s.Notifications.Get(t.NotificationID)
	if !ok {
		return e, nil
	}
	e.Topic = n.topic()
	if !t.IsOpen() {
		n = n.closeOne(c.At)
		e.Notification, e.Escalated = &n, c.Escalation
	}
	return e, nil
}

// closeOne counts one open transmission less. The last one makes a NEW notification PROCESSED.
func (n Notification) closeOne(at int64) Notification {
	n.Open = max(0, n.Open-1)
	if n.Open == 0 && n.Status == StatusNew {
		n.Status, n.Modified = StatusProcessed, at
	}
	return n
}

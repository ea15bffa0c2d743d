package domain

import (
	"slices"
	"unicode/utf8"
)

// MaxTries bounds the tries of one transmission.
const MaxTries = 100

// The first answer to a transmission and the last lastAnswers are kept whole. Of those between shortAnswer bytes are kept: the event of each
// try repeats all of them. EdgeX 2.3 keeps every answer whole and has no limit of tries.
const (
	lastAnswers = 4
	shortAnswer = 128
)

// RecordTry records what became of one try of an open transmission.
type RecordTry struct {
	ID     string // of the transmission
	Record TransmissionRecord
	// Status is that of the transmission after the try; RESENDING: it is tried again at Next.
	Status string
	Next   int64
	// Left and Refused are those of the transmission after the try.
	Left, Refused []string
	// Escalation, if there is one, tells the escalation subscription that a CRITICAL notification does not arrive. The transmission is
	// ESCALATED, or its resends go on.
	Escalation *Raised
	At         int64 // milliseconds since the Unix epoch
	// Size estimates the bytes of the transmission, which the event repeats.
	Size int
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
	t.Records = shortened(append(slices.Clone(t.Records), c.Record))
	t.Status, t.Next, t.Left, t.Refused = c.Status, 0, nil, c.Refused
	if t.IsOpen() {
		t.Next, t.Left = c.Next, c.Left
	}
	e := TransmissionTried{Transmission: t, Topic: goneTopic}
	n, ok := s.Notifications.Get(t.NotificationID)
	if !ok {
		return e, nil
	}
	e.Topic, e.Escalated = n.topic(), c.Escalation
	if !t.IsOpen() {
		n = n.closeOne(t, c.At)
		e.Notification = &n
	}
	return e, nil
}

// Bytes estimates what the command takes in memory.
func (c RecordTry) Bytes() int {
	n := c.Size + len(c.Record.Response)
	for _, r := range slices.Concat(c.Left, c.Refused) {
		n += len(r)
	}
	if c.Escalation != nil {
		n += c.Escalation.Bytes()
	}
	return n
}

// shortened cuts the answers between the first and the last ones.
func shortened(records []TransmissionRecord) []TransmissionRecord {
	for i := 1; i < len(records)-lastAnswers; i++ {
		records[i].Response = cut(records[i].Response, shortAnswer)
	}
	return records
}

// cut shortens s to at most so many bytes, between two characters.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// closeOne counts one open transmission less: t, which has its outcome now. The last one makes a NEW notification PROCESSED, unless others
// are to come.
func (n Notification) closeOne(t Transmission, at int64) Notification {
	n.Open = max(0, n.Open-1)
	if t.IsGivenUp() {
		n.Failed++
	}
	if n.Open == 0 && n.Status == StatusNew && !n.Partial {
		n.Status, n.Modified = StatusProcessed, at
	}
	return n
}

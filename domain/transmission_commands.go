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
	// Left and Refused are those of the transmission after the try. Left stays when it is given up, for when it is sent again.
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
	t.Status, t.Next, t.Left, t.Refused = c.Status, 0, c.Left, c.Refused
	if t.IsOpen() {
		t.Next = c.Next
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
		n.Acknowledged = false // nobody has seen this failure
	}
	if n.Open == 0 && n.Status == StatusNew && !n.Partial {
		n.Status, n.Modified = StatusProcessed, at
	}
	return n
}

// ResendTransmissions sends transmissions that were given up again. Each begins its tries anew.
type ResendTransmissions struct {
	Resends []Resend
	// SkipOthers leaves out transmissions that are gone, are not given up, or have too many tries. Otherwise these are refused.
	SkipOthers bool
	At         int64 // milliseconds since the Unix epoch
}

// Resend names a transmission, and the channel that it is sent to now.
type Resend struct {
	ID      string
	Channel Channel
}

// Bytes estimates the memory that the command takes.
func (c ResendTransmissions) Bytes() int { return usualEvent * len(c.Resends) }

// Decide makes no event if nothing is to be sent again.
func (c ResendTransmissions) Decide(s State) (Event, error) {
	if n := len(c.Resends); n > MaxTogether {
		return nil, Errorf(Invalid, "%d transmissions; name at most %d", n, MaxTogether)
	}
	e, notes, logged := TransmissionsResent{}, map[string]int{}, 0
	for _, one := range c.Resends {
		t, n, err := one.find(s)
		if err != nil && c.SkipOthers {
			continue
		}
		if err != nil {
			return nil, err
		}
		at, known := notes[n.ID]
		if !known {
			at = len(e.Notifications)
			notes[n.ID], e.Notifications = at, append(e.Notifications, n)
			logged += n.logged()
		}
		e.Notifications[at] = e.Notifications[at].reopenOne(c.At)
		e.Transmissions = append(e.Transmissions, t.again(one.Channel, c.At))
		if logged += t.Bytes(); logged > maxTogetherBytes {
			return nil, Errorf(Invalid, "the transmissions take more than %d bytes on the log together; name fewer", maxTogetherBytes)
		}
	}
	if len(e.Transmissions) == 0 {
		return nil, nil
	}
	return e, nil
}

// find returns the transmission with its notification, or the reason why it cannot be sent again.
func (r Resend) find(s State) (t Transmission, n Notification, err error) {
	t, ok := s.Transmissions.Get(r.ID)
	if !ok {
		return t, n, Errorf(NotFound, "transmission id %s does not exist; correct the id", quote(r.ID))
	}
	if n, ok = s.Notifications.Get(t.NotificationID); !ok {
		return t, n, Errorf(NotFound, "the notification of transmission %s was removed; post it again", quote(r.ID))
	}
	if !t.IsGivenUp() {
		return t, n, Errorf(Conflict, "transmission %s is %s; only FAILED and ESCALATED ones can be sent again", quote(r.ID), t.Status)
	}
	if tries := len(t.Records); tries >= MaxTries {
		return t, n, Errorf(Conflict, "transmission %s has %d tries, which is the limit; post the notification again", quote(r.ID), tries)
	}
	return t, n, nil
}

// again returns the transmission as it waits on a channel. Of an e-mail, the recipients that did not get it are left.
func (t Transmission) again(to Channel, at int64) Transmission {
	t.Channel, t.Status, t.Next, t.ResentAt, t.TriesBefore = to, StatusResending, at, at, len(t.Records)
	t.Left, t.Refused = slices.Compact(slices.Sorted(slices.Values(slices.Concat(t.Left, t.Refused)))), nil
	t.Left = slices.DeleteFunc(t.Left, func(r string) bool { return !slices.Contains(to.Recipients, r) })
	return t
}

// reopenOne counts one given-up transmission less, and one open one more.
func (n Notification) reopenOne(at int64) Notification {
	n.Failed, n.Open, n.Modified = max(0, n.Failed-1), n.Open+1, at
	return n
}

// Round returns the time at which the transmission was sent first, or was sent again last, in milliseconds since the Unix epoch, and its
// tries since.
func (t Transmission) Round() (begun int64, tries []TransmissionRecord) {
	if t.ResentAt == 0 {
		return t.Created, t.Records
	}
	return t.ResentAt, t.Records[min(t.TriesBefore, len(t.Records)):]
}

// LastTry is the number of tries after which the transmission is given up.
func (t Transmission) LastTry() int { return min(t.TriesBefore+t.ResendLimit, MaxTries-1) }

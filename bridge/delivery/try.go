package delivery

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"ledge/bridge/lanes"
	"ledge/bridge/outward"
	"ledge/bridge/recorder"
	"ledge/domain"
)

// attempt is one try of a transmission.
type attempt struct {
	*Delivery
	t        domain.Transmission
	n        domain.Notification
	response string
}

// open returns the next try of a transmission. If the state cannot be read for now, it waits.
func (d *Delivery) open(id string) (lanes.Attempt, bool) {
	a, found := &attempt{Delivery: d}, false
	err := recorder.Retry(d.lanes.Context(), d.Logger, func() error { return domain.Try(func() { found = a.read(id) }) })
	return a, found && err == nil
}

// read reads an open transmission with its notification. It returns false if one of them was removed.
func (a *attempt) read(id string) (ok bool) {
	look, done := a.Look()
	defer done()
	if a.t, ok = look.State.Transmissions.Get(id); !ok || !a.t.IsOpen() {
		return false
	}
	a.n, ok = look.State.Notifications.Get(a.t.NotificationID)
	return ok
}

// Send implements lanes.Attempt.
func (a *attempt) Send(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			a.Logger.Error("sender panicked", "channel", a.t.Channel.Type, "panic", outward.Cut(fmt.Sprint(p)))
			err = fmt.Errorf("internal error: %v", p)
		}
	}()
	send, ok := a.Senders[a.t.Channel.Type]
	if !ok {
		return fmt.Errorf("channels of type %q are not delivered", a.t.Channel.Type)
	}
	a.response, err = send(ctx, a.t, a.n)
	return err
}

// Record implements lanes.Attempt. What comes next of the entity need not wait for the record.
func (a *attempt) Record(err error) (final bool) {
	c := a.outcome(a.t, a.n, a.response, err)
	stamp := domain.Stamp{EventID: uuid.Must(uuid.NewV7()).String(), At: a.Now().UTC(), Actor: "ledge", Origin: "bridge", CorrelationID: a.t.CorrelationID}
	a.recorder.Add(a.lanes.Context(), domain.Request{Stamp: stamp, Command: c})
	return c.Status != domain.StatusResending
}

// between is the time from a failed try to the next one: the interval of the subscription, as in EdgeX 2.3; or one that doubles from try to
// try, and is not shorter than what the receiver asks for.
func (d *Delivery) between(t domain.Transmission, tries int, asked time.Duration) time.Duration {
	interval := time.Duration(t.ResendInterval) * time.Millisecond
	if t.FixedInterval {
		return interval
	}
	return max(lanes.BackOff(interval, tries-1, d.LongestWait), min(asked, d.LongestWait))
}

// outcome is what is recorded of a try: SENT; or to be tried again; or that it is given up, which for a critical
// notification is ESCALATED, as in EdgeX 2.3.
func (d *Delivery) outcome(t domain.Transmission, n domain.Notification, response string, err error) domain.RecordTry {
	now := d.Now()
	c := domain.RecordTry{
		Refused: t.Refused, Size: t.Bytes(),
		ID: t.ID, Status: domain.StatusSent, At: now.UnixMilli(),
		Record: domain.TransmissionRecord{Status: domain.StatusSent, Response: outward.Cut(response), Sent: now.UnixMilli()},
	}
	if err == nil && len(t.Refused) == 0 {
		return c
	}
	if err == nil {
		err = &outward.Error{Err: fmt.Errorf("%s; earlier it was refused for %s", response, strings.Join(t.Refused, ", ")), Final: true, Reply: true}
	}
	left, refused := outward.Recipients(err)
	c.Refused = append(slices.Clone(c.Refused), refused...)
	c.Record.Status, c.Record.Response = domain.StatusFailed, outward.Cut(err.Error())
	d.Logger.Debug("notification not delivered", "notification", n.ID, "subscription", t.SubscriptionName, "error", c.Record.Response)
	tries := len(t.Records) + 1
	wait := d.between(t, tries, outward.RetryAfter(err))
	old := now.Sub(time.UnixMilli(t.Created)) > d.GiveUp
	if !outward.Permanent(err) && tries <= t.ResendLimit && !old {
		c.Status, c.Next, c.Left = domain.StatusResending, now.Add(wait).UnixMilli(), left
		return d.escalateEarly(c, t, n)
	}
	c.Status = domain.StatusFailed
	if escalates(n) {
		c.Status = domain.StatusEscalated
		if !escalatedEarly(t) {
			c.Escalation = d.escalate(t, n, c.At)
		}
	}
	d.Logger.Warn("notification given up", "notification", n.ID, "subscription", t.SubscriptionName, "tries", tries, "status", c.Status, "error", c.Record.Response)
	return c
}

// escalateAfter is the age at which EdgeX 2.3 escalates with its defaults: two resends, 5 s apart.
const escalateAfter = 10 * time.Second

// escalates reports whether the escalation subscription is told that a notification does not arrive.
func escalates(n domain.Notification) bool {
	return n.Severity == domain.SeverityCritical && n.Status != domain.StatusEscalated
}

// escalateEarly escalates a critical notification at the age of [escalateAfter] if its subscription has no interval of its own: the resends
// go on for hours. A try comes due at that age.
func (d *Delivery) escalateEarly(c domain.RecordTry, t domain.Transmission, n domain.Notification) domain.RecordTry {
	due := t.Created + escalateAfter.Milliseconds()
	switch {
	case !escalates(n) || t.FixedInterval || escalatedEarly(t):
	case c.At >= due:
		c.Escalation = d.escalate(t, n, c.At)
	default:
		c.Next = min(c.Next, due)
	}
	return c
}

// escalatedEarly reports whether a try at the age of [escalateAfter] is on record.
func escalatedEarly(t domain.Transmission) bool {
	return !t.FixedInterval && slices.ContainsFunc(t.Records, func(r domain.TransmissionRecord) bool {
		return r.Sent >= t.Created+escalateAfter.Milliseconds()
	})
}

// escalate is the notification that the escalation subscription gets, with the wording of EdgeX 2.3. It is not sent again
// where that fails, and not escalated.
func (d *Delivery) escalate(t domain.Transmission, n domain.Notification, at int64) *domain.Raised {
	s, ok := d.Escalation()
	if !ok {
		return nil
	}
	n.Acknowledged = false
	n.ID, n.Cause, n.Created, n.Modified = uuid.Must(uuid.NewV7()).String(), 0, at, at
	n.Content = fmt.Sprintf("[This notification is escalated by the transmission %s] %s", t.ID, n.Content)
	n.Content = outward.CutTo(n.Content, domain.MaxContent)
	n.ContentType, n.Status, n.Matched, n.Open = "text/plain", domain.StatusEscalated, []string{s.Name}, len(s.Channels)
	r := &domain.Raised{Notification: n}
	for _, ch := range s.Channels {
		r.Transmissions = append(r.Transmissions, domain.Transmission{
			ID: uuid.Must(uuid.NewV7()).String(), NotificationID: n.ID, SubscriptionName: s.Name, Channel: ch,
			Status: domain.StatusResending, Created: at, Next: at, CorrelationID: t.CorrelationID, Critical: true,
		})
	}
	return r
}

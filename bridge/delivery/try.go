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
	since    time.Time // when the transmission began to wait; monotonic
	response string
}

// open returns the next try of a transmission, with its notification; false if one of them was removed. If the state cannot be read for
// now, it waits.
func (d *Delivery) open(it lanes.Item) (lanes.Attempt, bool) {
	a, found := &attempt{Delivery: d, since: it.Since}, false
	err := recorder.Retry(d.lanes.Context(), d.Logger, func() error {
		return domain.Try(func() {
			look, done := d.Look()
			defer done()
			if a.t, found = look.State.Transmissions.Get(it.ID); found {
				a.n, found = look.State.Notifications.Get(a.t.NotificationID)
			}
		})
	})
	return a, err == nil && found && a.t.IsOpen()
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

// Record implements lanes.Attempt. The next transmission of the entity need not wait for the record.
func (a *attempt) Record(err error) (final bool) {
	c := a.outcome(err)
	stamp := domain.Stamp{EventID: newID(), At: a.Now(), Actor: "ledge", Origin: "bridge", CorrelationID: a.t.CorrelationID}
	a.recorder.Add(a.lanes.Context(), domain.Request{Stamp: stamp, Command: c, Bytes: c.Bytes()})
	return c.Status != domain.StatusResending
}

// escalateAfter is the age at which EdgeX 2.3 escalates with its defaults: two resends, 5 s apart.
const escalateAfter = 10 * time.Second

// outcome is what is recorded of a try: SENT, RESENDING, or FAILED if it is given up. If that is critical, it is ESCALATED, as in EdgeX
// 2.3. A critical notification whose subscription has no interval of its own is escalated at the age of [escalateAfter], and a try comes
// due then: the resends go on for hours.
func (a *attempt) outcome(err error) domain.RecordTry {
	t, now := a.t, a.Now()
	c := domain.RecordTry{
		ID: t.ID, Status: domain.StatusSent, At: now.UnixMilli(), Refused: t.Refused, Size: t.Bytes(),
		Record: domain.TransmissionRecord{Status: domain.StatusSent, Response: outward.Cut(a.response), Sent: now.UnixMilli()},
	}
	if err == nil && len(t.Refused) == 0 {
		return c
	}
	if err == nil {
		refused := fmt.Errorf("%s; earlier it was refused for %s", a.response, strings.Join(t.Refused, ", "))
		err = &outward.Error{Err: refused, Final: true, Reply: true}
	}
	left, refused := outward.Recipients(err)
	if c.Left, c.Refused = left, append(slices.Clone(c.Refused), refused...); len(left)+len(refused) == 0 {
		c.Left = t.Left
	}
	c.Record.Status, c.Record.Response = domain.StatusFailed, outward.Cut(err.Error())
	a.Logger.Debug("notification not delivered", "notification", a.n.ID, "subscription", t.SubscriptionName, "error", c.Record.Response)

	tries, escalates := len(t.Records)+1, a.n.Severity == domain.SeverityCritical && a.n.Status != domain.StatusEscalated
	old := age(t, c.At)
	told := !t.FixedInterval && age(t, last(t)) >= escalateAfter
	if !outward.Permanent(err) && tries <= t.LastTry() && now.Sub(a.since) <= a.GiveUp {
		c.Status, c.Next = domain.StatusResending, now.Add(a.wait(tries-t.TriesBefore, outward.RetryAfter(err))).UnixMilli()
		switch {
		case !escalates || t.FixedInterval || told:
		case old >= escalateAfter:
			c.Escalation = a.escalation(c.At)
		default:
			c.Next = min(c.Next, c.At+(escalateAfter-old).Milliseconds())
		}
		return c
	}
	c.Status = domain.StatusFailed
	if escalates {
		c.Status = domain.StatusEscalated
	}
	if escalates && !told {
		c.Escalation = a.escalation(c.At)
	}
	a.Logger.Warn("notification given up", "notification", a.n.ID, "subscription", t.SubscriptionName, "tries", tries, "status", c.Status,
		"error", c.Record.Response)
	return c
}

// wait is the time from a failed try to the next one: the interval of the subscription, as in EdgeX 2.3; or one that doubles from try to
// try, and is not shorter than what the receiver asks for.
func (a *attempt) wait(tries int, asked time.Duration) time.Duration {
	interval := time.Duration(a.t.ResendInterval) * time.Millisecond
	if a.t.FixedInterval {
		return interval
	}
	return max(lanes.BackOff(interval, tries-1, a.LongestWait), min(asked, a.LongestWait))
}

// escalation is the notification that the escalation subscription gets, with the wording of EdgeX 2.3; nil if there is no such
// subscription. It is not sent again if that fails, and not escalated.
func (a *attempt) escalation(at int64) *domain.Raised {
	s, ok := a.Escalation()
	if !ok {
		return nil
	}
	n := a.n
	n.ID, n.Cause, n.Created, n.Modified, n.Acknowledged = newID(), 0, at, at, false
	n.Content = outward.CutTo(outward.Escalate(a.t.ID, n.Content), domain.MaxContent)
	n.ContentType, n.Status, n.Matched, n.Open = "text/plain", domain.StatusEscalated, []string{s.Name}, len(s.Channels)
	r := &domain.Raised{Notification: n}
	for _, ch := range s.Channels {
		r.Transmissions = append(r.Transmissions, domain.Transmission{
			ID: newID(), NotificationID: n.ID, SubscriptionName: s.Name, Channel: ch, Status: domain.StatusResending, Created: at, Next: at,
			CorrelationID: a.t.CorrelationID, Critical: true,
		})
	}
	return r
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

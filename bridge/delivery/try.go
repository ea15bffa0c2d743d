package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"ledge/bridge/outward"
	"ledge/bridge/turns"
	"ledge/domain"
)

// try sends one transmission and has the outcome recorded.
func (d *Delivery) try(at *target, it *item, turn *turns.Turn) {
	defer turn.End()
	t, n, ok := d.read(it.id)
	if !ok { // it was removed meanwhile
		d.gone(at, it)
		return
	}
	ctx, cancel := d.sendContext()
	defer cancel()
	turn.MayCut(cancel)
	early := d.Now().Before(it.due)
	response, err := d.send(ctx, t, n)
	if err != nil && d.ctx.Err() != nil && ctx.Err() == context.Canceled {
		return // cut off by Close: it is no fault of the receiver, and is tried again at the next start
	}
	if cut := turn.Answered(); cut && err != nil {
		d.Logger.Debug("send to a slow receiver put off, because others need its place", "endpoint", at.shown(), "transmission", t.ID)
		d.putOff(at, it)
		return
	}
	r := resultOf(err)
	if reached := err == nil || r.answered || r.permanent; reached || !early {
		d.record(at, it, d.outcome(t, n, response, err), t.CorrelationID, !reached)
		d.ended(at, it, r, false)
		return
	}
	d.ended(at, it, r, true)
}

// miss records a failed try of what is due during a pause.
func (d *Delivery) miss(at *target, it *item) {
	t, n, ok := d.read(it.id)
	d.mu.Lock()
	reason := cmp.Or(at.server.gate.reason, at.gate.reason)
	if !ok {
		at.close(it)
		delete(at.known, it.id)
	}
	d.mu.Unlock()
	if ok {
		d.record(at, it, d.outcome(t, n, "", errors.New("endpoint paused: "+reason)), t.CorrelationID, true)
	}
}

// record has the outcome of a try recorded. What comes next of the entity need not wait for the record of an outcome.
func (d *Delivery) record(at *target, it *item, c domain.RecordTry, correlation string, held bool) {
	d.recorder.Add(d.ctx, domain.Request{Stamp: d.stamp(correlation), Command: c})
	d.mu.Lock()
	defer d.mu.Unlock()
	if it.held = held; c.Status != domain.StatusResending {
		at.close(it)
		d.look(at)
	}
}

func (d *Delivery) send(ctx context.Context, t domain.Transmission, n domain.Notification) (response string, err error) {
	defer func() {
		if p := recover(); p != nil {
			d.Logger.Error("sender panicked", "channel", t.Channel.Type, "panic", outward.Cut(fmt.Sprint(p)))
			err = fmt.Errorf("internal error: %v", p)
		}
	}()
	sender, ok := d.Senders[t.Channel.Type]
	if !ok {
		return "", fmt.Errorf("channels of type %q are not delivered", t.Channel.Type)
	}
	return sender.Send(ctx, t, n)
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

func (d *Delivery) stamp(correlation string) domain.Stamp {
	return domain.Stamp{EventID: uuid.Must(uuid.NewV7()).String(), At: d.Now().UTC(), Actor: "ledge", Origin: "bridge", CorrelationID: correlation}
}

// Package delivery brings notifications to the channels that take time: those over the network, and whatever failed at its first try.
//
// What is to be delivered is on record: the open transmissions of the notification stream. [Delivery] takes those that are there at the
// start and follows the stream for new ones. The outcome of a try is recorded on the stream and comes back the same way. So a crash loses
// nothing, and repeats the tries that were under way. Package lanes decides what is sent when.
package delivery

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"ledge/bridge/lanes"
	"ledge/bridge/recorder"
	"ledge/domain"
)

// Sender delivers on the channels of one type. The response is what the receiver said. An error may say more by the methods of an
// outward.Error.
type Sender func(ctx context.Context, t domain.Transmission, n domain.Notification) (response string, err error)

// Limits bound the sends and the times of transmissions. Zero means the default.
type Limits struct {
	lanes.Limits
	// LongestWait bounds the growing time between two tries of a transmission: 10 minutes. GiveUp is the age at which a transmission is given
	// up: 24 hours.
	LongestWait, GiveUp time.Duration
}

// Options wires a Delivery.
type Options struct {
	Limits
	Log recorder.Stream // of notifications
	// Look returns one consistent look at the notifications, and what ends it.
	Look    func() (domain.View, func())
	Senders map[string]Sender // by the type of channel
	// Escalation returns the subscription that is told of critical notifications that did not arrive, if there is one.
	Escalation func() (domain.Subscription, bool)
	Now        func() time.Time
	Logger     *slog.Logger
}

// Delivery is the running delivery.
type Delivery struct {
	Options
	recorder *recorder.Recorder
	lanes    *lanes.Lanes
}

// New returns a Delivery that waits for Start.
func New(o Options) *Delivery {
	o.LongestWait, o.GiveUp = cmp.Or(o.LongestWait, 10*time.Minute), cmp.Or(o.GiveUp, 24*time.Hour)
	d := &Delivery{Options: o}
	// A try is not recorded if its transmission was removed while it was under way: the stream says nothing more of it.
	d.recorder = recorder.New(o.Log, o.Logger, func(r domain.Request) { d.lanes.Remove(r.Command.(domain.RecordTry).ID) })
	d.lanes = lanes.New(lanes.Options{
		Limits: o.Limits.Limits, Of: "notifications", Open: d.open, Now: o.Now, Logger: o.Logger,
		Load: func(target string, add func(lanes.Item) bool) error {
			return d.each(domain.Filter{Index: domain.IndexEndpoint, Value: target}, add)
		},
	})
	return d
}

// Start takes up what is open and follows the stream from the sequence after at, the checkpoint of the notifications. Nothing is sent
// before all that is open is queued, so that no change overtakes an earlier one of the same device.
func (d *Delivery) Start(at uint64) error {
	isOpen := domain.Filter{Index: domain.IndexStatus, Value: domain.StatusResending}
	if err := d.each(isOpen, func(it lanes.Item) bool { d.lanes.Add(it); return true }); err != nil {
		return fmt.Errorf("list open transmissions: %w", err)
	}
	d.lanes.Start()
	d.lanes.Run(d.recorder.Run)
	d.lanes.Run(func(ctx context.Context) error { return d.Log.Follow(ctx, at+1, d.follow) })
	return nil
}

// follow takes one group of the stream.
func (d *Delivery) follow(group []domain.Recorded) error {
	for _, r := range group {
		switch e := r.Event.(type) {
		case domain.NotificationsRaised:
			for _, raised := range e.Raised {
				d.add(raised.Transmissions)
			}
		case domain.NotificationProcessed:
			d.add(e.Transmissions)
		case domain.TransmissionsResent:
			d.add(e.Transmissions)
		case domain.TransmissionTried:
			if t := e.Transmission; !t.IsOpen() {
				d.lanes.End(t.Channel.Target(), t.ID)
			}
			d.again(e.Transmission)
			if e.Escalated != nil {
				d.add(e.Escalated.Transmissions)
			}
		}
	}
	return nil
}

// add queues the open ones of transmissions.
func (d *Delivery) add(ts []domain.Transmission) {
	for _, t := range ts {
		if t.IsOpen() {
			d.lanes.Add(d.item(t))
		}
	}
}

// again queues a transmission that has just failed. Its wait was decided a moment ago, so it is not longer than that, whatever the clock says now.
func (d *Delivery) again(t domain.Transmission) {
	if t.IsOpen() {
		it, now := d.item(t), d.Now()
		it.Due = now.Add(min(time.UnixMilli(t.Next).Sub(now), time.Duration(t.Next-last(t))*time.Millisecond))
		d.lanes.Add(it)
	}
}

// item returns an open transmission as it waits. What is on record are times of the clock; from here on they are monotonic. If its last try
// is in the future, the clock was set back and does not tell how long the transmission has waited: it is due at once.
func (d *Delivery) item(t domain.Transmission) lanes.Item {
	now, wait := d.Now(), time.Duration(0)
	if last(t) <= now.UnixMilli() {
		wait = time.UnixMilli(t.Next).Sub(now)
	}
	return lanes.Item{
		ID: t.ID, Endpoint: lanes.Endpoint{Server: t.Channel.Endpoint(), Host: t.Channel.Host, Target: t.Channel.Target()},
		Entity: t.Entity, Sequence: t.Sequence, Critical: t.Critical, Fixed: t.FixedInterval, Tries: len(t.Records), Limit: t.LastTry(),
		Due: now.Add(wait), Since: now.Add(-age(t, now.UnixMilli())),
	}
}

// last returns the time of the last try of a transmission, of its creation or of its resend, in milliseconds since the Unix epoch.
func last(t domain.Transmission) int64 {
	begun, tries := t.Round()
	if n := len(tries); n > 0 {
		return tries[n-1].Sent
	}
	return begun
}

// age returns the time from the creation of a transmission, or from when it was sent again, over its tries to a time in milliseconds since
// the Unix epoch. A clock that was set back in between makes it shorter, by the time between two tries at the most.
func age(t domain.Transmission, to int64) (sum time.Duration) {
	from, tries := t.Round()
	for _, r := range tries {
		sum += time.Duration(max(0, r.Sent-from)) * time.Millisecond
		from = r.Sent
	}
	return sum + time.Duration(max(0, to-from))*time.Millisecond
}

// pageLength is how many names of transmissions are in memory at once while they are listed.
const pageLength = 500

// each hands the open transmissions that a filter keeps to f, the oldest first, until that returns false. All pages are of one look: in a
// list that grows at its front meanwhile, some would move from one page into the one before, unseen. The transmissions of one millisecond are in memory.
func (d *Delivery) each(filter domain.Filter, f func(lanes.Item) bool) error {
	look, done := d.Look()
	defer done()
	_, offset, err := look.Lists.Keys(domain.ListTransmissions, domain.Page{}, filter)
	group, more := inLog{f: f}, true
	for err == nil && offset > 0 && more {
		var ids []string
		from := max(0, offset-pageLength)
		ids, _, err = look.Lists.Keys(domain.ListTransmissions, domain.Page{Offset: from, Limit: offset - from}, filter)
		for _, id := range slices.Backward(ids) {
			var t domain.Transmission
			domain.GetWithin(look.State.Transmissions, id, math.MaxInt, &t) // Get would keep all of them
			if more = !t.IsOpen() || group.add(t.Created, d.item(t)); !more {
				break
			}
		}
		offset = from
	}
	if err == nil && more {
		group.flush()
	}
	return err
}

// inLog hands on items in the order of the log: the list has them by the millisecond of their creation, and by their ids within one.
type inLog struct {
	f       func(lanes.Item) bool
	created int64
	items   []lanes.Item // of one millisecond
}

// add takes the next item of the list. It reports whether more are wanted.
func (g *inLog) add(created int64, it lanes.Item) bool {
	if created != g.created && !g.flush() {
		return false
	}
	g.created, g.items = created, append(g.items, it)
	return true
}

func (g *inLog) flush() bool {
	slices.SortStableFunc(g.items, func(a, b lanes.Item) int { return cmp.Compare(a.Sequence, b.Sequence) })
	for _, it := range g.items {
		if !g.f(it) {
			return false
		}
	}
	g.items = g.items[:0]
	return true
}

// Endpoints returns the state of each target for which something waits or has failed.
func (d *Delivery) Endpoints() []domain.EndpointState { return d.lanes.Endpoints() }

// TryNow has what waits for the endpoint of a channel sent now. It returns how many transmissions waited.
func (d *Delivery) TryNow(c domain.Channel) (waited int) { return d.lanes.TryNow(c.Endpoint(), "") }

// TryTransmission makes a try of an open transmission now, which is recorded and counts. It reports false if the transmission is being
// tried, or waits until an earlier one about the same device has its outcome.
func (d *Delivery) TryTransmission(t domain.Transmission) bool {
	return d.lanes.TryNow(t.Channel.Endpoint(), t.ID) > 0
}

// Refused is how many outcomes of tries the log has refused for good since the start.
func (d *Delivery) Refused() int64 { return d.recorder.Refused() }

// Failed yields the error that ended the delivery, if one does.
func (d *Delivery) Failed() <-chan error { return d.lanes.Failed() }

// Close ends the sends under way after a moment, and records what became of them. What is open is taken up by the next
// start.
func (d *Delivery) Close() {
	d.lanes.Close()
	d.recorder.Close(context.Background())
}

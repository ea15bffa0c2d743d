package replays

import (
	"cmp"

	"ledge/domain"
)

// pageLength is how many transmissions are in memory at once while the last delivery is looked for.
const pageLength = 64

// Cursor returns how far a subscription has got, from the transmissions on record: nothing is kept for it beside them.
func (r *Replays) Cursor(subscription string) (domain.DeliveryCursor, error) {
	for offset, more := 0, true; more; offset += pageLength {
		c, total, err := r.lastSent(subscription, offset)
		if err != nil || c.Last > 0 {
			return c, err
		}
		more = offset+pageLength < total
	}
	return domain.DeliveryCursor{}, nil
}

// lastSent returns the last delivery on one page of a subscription's transmissions.
func (r *Replays) lastSent(subscription string, offset int) (c domain.DeliveryCursor, total int, err error) {
	failed := domain.Try(func() { c, total, err = r.lastSentIn(subscription, offset) })
	return c, total, cmp.Or(failed, err)
}

func (r *Replays) lastSentIn(subscription string, offset int) (c domain.DeliveryCursor, total int, err error) {
	look, done := r.Look()
	defer done()
	page := domain.Page{Offset: offset, Limit: pageLength}
	list, total, err := look.Lists.Transmissions(page, domain.Filter{Index: domain.IndexSubscription, Value: subscription})
	if domain.CodeOf(err) == domain.OutOfRange {
		err = nil // so many were removed meanwhile
	}
	for _, t := range list {
		if n := len(t.Records); t.Status == domain.StatusSent && n > 0 {
			c = domain.DeliveryCursor{Last: domain.Revision(look.State.Transmissions, t.ID), Sent: t.Records[n-1].Sent}
			return c, total, nil
		}
	}
	return c, total, err
}

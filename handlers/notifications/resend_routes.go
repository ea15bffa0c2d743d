package notifications

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
)

// resendPartBytes is about how much of transmissions and notifications one event of a resend has, in bytes.
const resendPartBytes = 1 << 20

// resender has transmissions sent again.
type resender struct{ service }

type resendAnswer struct {
	handlers.Envelope
	Resend resendShape `json:"resend"`
}

// resendShape is the result of a resend. Skipped ones cannot be sent again. More says that more were given up.
type resendShape struct {
	Count   int  `json:"count"`
	Skipped int  `json:"skipped"`
	More    bool `json:"more"`
}

// resend has one transmission sent again that was given up.
func (s resender) resend(c *gin.Context) {
	err := handlers.Unconditional(c.Request.Header)
	if err == nil {
		err = s.resendOne(c, c.Param("id"))
	}
	if err != nil {
		s.Fail(c, err)
		return
	}
	s.Reply(c, http.StatusAccepted, resendAnswer{s.Envelope(http.StatusAccepted), resendShape{Count: 1}})
}

func (s resender) resendOne(c *gin.Context, id string) error {
	view, done := s.notifications()
	t, ok := view.State.Transmissions.Get(id)
	done()
	if !ok {
		return domain.Errorf(domain.NotFound, "transmission id %.80q does not exist; correct the id", id)
	}
	sub, err := s.openSubscription(t.SubscriptionName)
	if err != nil {
		return err
	}
	to, err := channelNow(t, sub)
	if err != nil {
		return err
	}
	command := domain.ResendTransmissions{Resends: []domain.Resend{{ID: id, Channel: to}}, At: s.Now().UnixMilli()}
	_, err = s.Submit(c, s.notices, command, command.Bytes())
	return err
}

// openSubscription returns a subscription that is there and UNLOCKED.
func (s resender) openSubscription(name string) (domain.Subscription, error) {
	view, done := s.subscriptions()
	defer done()
	sub, ok := view.State.Subscriptions.Get(name)
	if !ok {
		return sub, domain.Errorf(domain.NotFound, "subscription name %.80q does not exist; correct the name", name)
	}
	if sub.AdminState == domain.StateLocked {
		return sub, domain.Errorf(domain.Locked, "subscription %q is LOCKED; set its adminState to UNLOCKED first", name)
	}
	return sub, nil
}

// channelNow returns the channel of a subscription that a transmission is sent to again: the one that it was sent to, or, if the
// subscription has changed, its only channel of that type.
func channelNow(t domain.Transmission, sub domain.Subscription) (domain.Channel, error) {
	var ofType []domain.Channel
	for _, ch := range sub.Channels {
		if ch.Target() == t.Channel.Target() {
			return ch, nil
		}
		if ch.Type == t.Channel.Type {
			ofType = append(ofType, ch)
		}
	}
	if len(ofType) != 1 {
		const text = "subscription %q has the channel of the transmission no more, and %d others of type %s; " +
			"give it the channel back, or post the notification again"
		return domain.Channel{}, domain.Errorf(domain.Conflict, text, sub.Name, len(ofType), t.Channel.Type)
	}
	return ofType[0], nil
}

// resendFailed has the transmissions of a subscription sent again that were given up, the oldest first.
func (s resender) resendFailed(c *gin.Context) {
	var result resendShape
	o, err := s.readResendOrder(c)
	if err == nil {
		result, err = s.resendAll(c, o)
	}
	if err != nil {
		s.Fail(c, err)
		return
	}
	s.Reply(c, http.StatusAccepted, resendAnswer{s.Envelope(http.StatusAccepted), result})
}

// resendOrder says which transmissions to send again: at most limit, which were created since a time.
type resendOrder struct {
	subscription domain.Subscription
	since        time.Time
	limit        int
}

func (s resender) readResendOrder(c *gin.Context) (o resendOrder, err error) {
	if err := handlers.Unconditional(c.Request.Header); err != nil {
		return o, err
	}
	if o.subscription, err = s.openSubscription(c.Param("name")); err != nil {
		return o, err
	}
	o.limit = domain.MaxTogether
	if text, ok := c.GetQuery("limit"); ok {
		if o.limit, err = strconv.Atoi(text); err != nil || o.limit < 1 || o.limit > domain.MaxTogether {
			return o, domain.FieldErrorf("limit", "%.80q is out of range; give a whole number from 1 to %d", text, domain.MaxTogether)
		}
	}
	if text, ok := c.GetQuery("from"); ok {
		if _, o.since, err = parsePlace(text); err == nil && o.since.IsZero() {
			const wrong = "%.80q is not a time; give milliseconds since 1970, or a time such as 2026-11-21T07:42:05Z"
			err = domain.FieldErrorf("from", wrong, text)
		}
	}
	return o, err
}

// resendAll records the resends in parts, so that no event is too large. A part that is on record is sent even if a crash follows.
func (s resender) resendAll(c *gin.Context, o resendOrder) (result resendShape, err error) {
	ids, more, err := s.findGivenUp(o)
	if err != nil {
		return result, err
	}
	for len(ids) > 0 {
		command, sent := s.nextResends(ids, o.subscription)
		ids = ids[sent:]
		outcome, err := s.Submit(c, s.notices, command, command.Bytes())
		if err != nil {
			return result, err
		}
		count := 0
		if e, ok := outcome.Event.(domain.TransmissionsResent); ok {
			count = len(e.Transmissions)
		}
		result.Count, result.Skipped = result.Count+count, result.Skipped+sent-count
	}
	result.More = more
	return result, nil
}

// findGivenUp returns the ids of the oldest given-up transmissions of an order, and whether there are more.
func (s resender) findGivenUp(o resendOrder) (ids []string, more bool, err error) {
	view, done := s.notifications()
	defer done()
	since := int64(0)
	if !o.since.IsZero() {
		since = o.since.UnixMilli()
	}
	for _, status := range []string{domain.StatusFailed, domain.StatusEscalated} {
		filters := []domain.Filter{
			{Index: domain.IndexSubscription, Value: o.subscription.Name}, {Index: domain.IndexStatus, Value: status},
			domain.Between(since, math.MaxInt64),
		}
		_, total, err := view.Lists.Keys(domain.ListTransmissions, domain.Page{}, filters...)
		if err != nil {
			return nil, false, err
		}
		n := min(total, o.limit-len(ids))
		newest, _, err := view.Lists.Keys(domain.ListTransmissions, domain.Page{Offset: total - n, Limit: n}, filters...)
		if err != nil {
			return nil, false, err
		}
		slices.Reverse(newest)
		ids, more = append(ids, newest...), more || n < total
	}
	return ids, more, nil
}

// nextResends returns the command for the first of some transmissions, and how many of them it is about.
func (s resender) nextResends(ids []string, sub domain.Subscription) (command domain.ResendTransmissions, looked int) {
	view, done := s.notifications()
	defer done()
	command = domain.ResendTransmissions{SkipOthers: true, At: s.Now().UnixMilli()}
	for bytes := 0; looked < len(ids) && bytes < resendPartBytes; looked++ {
		var t domain.Transmission
		var n domain.Notification
		if !domain.GetWithin(view.State.Transmissions, ids[looked], math.MaxInt, &t).OK {
			continue
		}
		if to, err := channelNow(t, sub); err == nil {
			command.Resends = append(command.Resends, domain.Resend{ID: t.ID, Channel: to})
			row := domain.GetWithin(view.State.Notifications, t.NotificationID, math.MaxInt, &n)
			bytes += t.Bytes() + row.Size
		}
	}
	return command, looked
}

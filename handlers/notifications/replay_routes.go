package notifications

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
)

// Replays send again what matched a subscription, and know how far it has got.
type Replays interface {
	Replay(ctx context.Context, o domain.ReplayOrder, by domain.Stamp) (domain.Replay, error)
	Cursor(subscription string) (domain.DeliveryCursor, error)
}

type replayAnswer struct {
	handlers.Envelope
	Replay replayShape `json:"replay"`
}

// replayShape is what was sent again. Next is where the following replay goes on.
type replayShape struct {
	Subscription string `json:"subscription"`
	From         uint64 `json:"from"`
	Last         uint64 `json:"last"`
	Next         uint64 `json:"next"`
	Count        int    `json:"count"`
	Dropped      int    `json:"dropped"`
	More         bool   `json:"more"`
}

type cursorAnswer struct {
	handlers.Envelope
	Cursor cursorShape `json:"cursor"`
}

// cursorShape is how far a subscription has got. Next is from where a replay sends what is recorded after that.
type cursorShape struct {
	Subscription string `json:"subscription"`
	Last         uint64 `json:"last"`
	Next         uint64 `json:"next"`
	Sent         int64  `json:"sent,omitempty"`
}

// replay answers what was sent, or what is wrong.
func (s service) replay(c *gin.Context) {
	var got domain.Replay
	o, err := s.replayOrder(c)
	if err == nil {
		got, err = s.replays.Replay(c.Request.Context(), o, s.Stamp(c))
	}
	if err != nil {
		s.Fail(c, err)
		return
	}
	s.Reply(c, http.StatusOK, replayAnswer{s.Envelope(http.StatusOK), replayShape{
		Subscription: got.Subscription, From: got.From, Last: got.Last, Next: got.Last + 1,
		Count: got.Count, Dropped: got.Dropped, More: got.More,
	}})
}

func (s service) cursor(c *gin.Context) {
	var at domain.DeliveryCursor
	name, err := s.subscriptionName(c)
	if err == nil {
		at, err = s.replays.Cursor(name)
	}
	if err != nil {
		s.Fail(c, err)
		return
	}
	s.Reply(c, http.StatusOK, cursorAnswer{s.Envelope(http.StatusOK), cursorShape{name, at.Last, at.Last + 1, at.Sent}})
}

// subscriptionName returns the name in the path, where there is such a subscription.
func (s service) subscriptionName(c *gin.Context) (string, error) {
	view, done := s.subscriptions()
	defer done()
	name := c.Param("name")
	if _, ok := view.State.Subscriptions.Get(name); !ok {
		return "", domain.Errorf(domain.NotFound, "subscription name %.80q does not exist; correct the name", name)
	}
	return name, nil
}

func (s service) replayOrder(c *gin.Context) (o domain.ReplayOrder, err error) {
	if err := handlers.Unconditional(c.Request.Header); err != nil {
		return o, err
	}
	if o.Subscription, err = s.subscriptionName(c); err != nil {
		return o, err
	}
	if text, ok := c.GetQuery("limit"); ok {
		if o.Limit, err = strconv.Atoi(text); err != nil || o.Limit < 1 {
			return o, domain.FieldErrorf("limit", "%.80q is not a number of notifications; give a whole number from 1 on, or leave it out", text)
		}
	}
	if text, ok := c.GetQuery("from"); ok {
		o.From, o.Since, err = parsePlace(text)
	}
	return o, err
}

// firstTime is the least number that is a time: in milliseconds since the Unix epoch it is in March 1973, and as a
// sequence it is out of reach.
const firstTime int64 = 100_000_000_000

// parsePlace reads a place on the record: a sequence, or a time in milliseconds since the Unix epoch or as of RFC 3339. A
// + that was not escaped arrives as a space.
func parsePlace(text string) (seq uint64, at time.Time, err error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		if n < firstTime {
			return uint64(n), at, nil
		}
		return 0, time.UnixMilli(n), nil
	}
	if at, err = time.Parse(time.RFC3339, strings.ReplaceAll(text, " ", "+")); err == nil && !at.IsZero() {
		return 0, at, nil
	}
	return 0, at, domain.FieldErrorf("from", "%.80q is not a position on the record; give a sequence, "+
		"a time in milliseconds since 1970 (from %d on), or a time such as 2026-11-21T07:42:05Z", text, firstTime)
}

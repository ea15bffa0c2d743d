package data

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/connections"
	"ledge/handlers/data/aggregate"
	"ledge/handlers/quota"
)

const (
	// aggregatesAtOnce is how many aggregates are read at a time; of one client it is one.
	aggregatesAtOnce = 2
	// usualBuckets is how many buckets an aggregate has if the request names no number.
	usualBuckets = 100
	// aggregateWork is the memory that an aggregate and its answer take, in bytes.
	aggregateWork = 512 << 10
)

// aggregates serves aggregates of readings. EdgeX has none.
type aggregates struct {
	service
	turns quota.Turns
}

func newAggregates(s service) aggregates {
	return aggregates{s, quota.NewTurns("too many aggregates of readings are being made", aggregatesAtOnce)}
}

func (s aggregates) aggregateRoutes() []handlers.Route {
	const ofSeries = "/reading/aggregate/device/name/:name/resourceName/:resourceName"
	return []handlers.Route{
		{Method: "GET", Path: ofSeries, Right: domain.MayRead, Handle: s.serveAggregate(anyTime)},
		{Method: "GET", Path: ofSeries + "/start/:start/end/:end", Right: domain.MayRead, Handle: s.serveAggregate(timeInPath)},
	}
}

func anyTime(*gin.Context) (domain.Filter, error) {
	return domain.Between(math.MinInt64, math.MaxInt64), nil
}

func timeInPath(c *gin.Context) (domain.Filter, error) {
	return handlers.TimesInPath(c, time.Nanosecond)
}

// aggregateAnswer is the answer with an aggregate.
type aggregateAnswer struct {
	handlers.Envelope
	Aggregate aggregate.Aggregate `json:"aggregate"`
}

// serveAggregate answers with the aggregate of the series in the path, within a time.
func (s aggregates) serveAggregate(within func(*gin.Context) (domain.Filter, error)) handlers.Handler {
	return func(c *gin.Context) {
		q := aggregate.Query{Series: domain.Series{Device: c.Param("name"), Resource: c.Param("resourceName")}}
		between, err := within(c)
		if err == nil {
			q.From, q.To = between.From, between.To
			q.Buckets, err = bucketsIn(c)
		}
		if err != nil {
			s.Fail(c, err)
			return
		}
		memory := s.AnswerMemoryOf(c)
		defer memory.Release()
		answer := aggregateAnswer{Envelope: s.Envelope(http.StatusOK)}
		release, err := s.turns.Take(c.Request.Context(), connections.Client(c.Request), s.WriteTimeout)
		if err == nil {
			if err = memory.Hold(aggregateWork); err == nil {
				answer.Aggregate, err = aggregate.Read(c.Request.Context(), s.state, q)
			}
			release()
		}
		if err != nil {
			s.Fail(c, err)
			return
		}
		s.ReplyLarge(c, memory, &answer)
	}
}

// bucketsIn reads the number of buckets from the query.
func bucketsIn(c *gin.Context) (int, error) {
	text, given := c.GetQuery("buckets")
	if !given {
		return usualBuckets, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > aggregate.MostBuckets {
		return 0, domain.FieldErrorf("buckets",
			"%.80q is not a whole number from 1 to %d; correct it or leave it out", text, aggregate.MostBuckets)
	}
	return n, nil
}

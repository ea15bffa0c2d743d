package metadata

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/domain/eventlog"
	"ledge/domain/moment"
	"ledge/handlers"
	"ledge/handlers/connections"
	"ledge/handlers/quota"
)

const (
	// eventPagesAtOnce is how many pages of events are read at a time.
	eventPagesAtOnce = 4
	// mostEventData is the size of the data that the answer with one event has, in bytes.
	mostEventData = 8 << 20
	// eventsWork is the memory for a page of events: the events that are read, and the text of the answer.
	eventsWork = eventlog.MostReadBytes + 3*eventlog.MostPageBytes
	// eventWork is the memory for one event: its data, its text, and the answer.
	eventWork = 3 * mostEventData
)

// events serves the logs.
type events struct {
	*handlers.API
	ledger  eventlog.Source
	turns   quota.Turns
	streams *quota.Quota
}

func newEvents(api *handlers.API, ledger eventlog.Source) events {
	return events{api, ledger, quota.NewTurns("too many pages of events are being made", eventPagesAtOnce), quota.New(mostStreams)}
}

func (s events) routes() []handlers.Route {
	return []handlers.Route{
		{Method: "GET", Path: "/ledger/event", Right: domain.MayAudit, Handle: s.listEvents},
		{Method: "GET", Path: "/ledger/event/:sequence", Right: domain.MayAudit, Handle: s.showEvent},
	}
}

// listEvents answers with a page of events, oldest first, or with a stream of events if the client accepts one.
func (s events) listEvents(c *gin.Context) {
	q, err := s.eventQuery(c)
	if err != nil {
		s.Fail(c, err)
		return
	}
	if strings.Contains(c.GetHeader("Accept"), "text/event-stream") {
		s.streamEvents(c, q)
		return
	}
	memory := s.AnswerMemoryOf(c)
	defer memory.Release()
	var answer eventsAnswer
	release, err := s.turns.Take(c.Request.Context(), connections.Client(c.Request), s.WriteTimeout)
	if err == nil {
		err = memory.Hold(eventsWork)
		if err == nil {
			answer, err = s.readEvents(c, q)
		}
		release()
	}
	if err != nil {
		s.Fail(c, err)
		return
	}
	s.ReplyLarge(c, memory, &answer)
}

// readEvents reads a page of events.
func (s events) readEvents(c *gin.Context, q eventlog.Query) (answer eventsAnswer, err error) {
	page, err := s.ledger.Read(c.Request.Context(), q)
	if err != nil {
		return answer, err
	}
	answer = eventsAnswer{Envelope: s.Envelope(http.StatusOK), Events: []eventShape{}, Next: page.Next, Last: page.Last}
	answer.Incomplete = page.Incomplete
	for _, e := range page.Events {
		answer.Events = append(answer.Events, newEventShape(e, eventlog.MostData))
	}
	return answer, nil
}

// showEvent answers with one event.
func (s events) showEvent(c *gin.Context) {
	var answer eventAnswer
	seq, err := strconv.ParseUint(c.Param("sequence"), 10, 64)
	if err != nil || seq == 0 {
		const text = "sequence %.80q is not the sequence of an event; use a number from 1 on"
		s.Fail(c, domain.Errorf(domain.NotFound, text, c.Param("sequence")))
		return
	}
	memory := s.AnswerMemoryOf(c)
	defer memory.Release()
	release, err := s.turns.Take(c.Request.Context(), connections.Client(c.Request), s.WriteTimeout)
	if err == nil {
		var e eventlog.Event
		err = memory.Hold(eventWork)
		if err == nil {
			e, err = s.ledger.Event(c.Request.Context(), c.DefaultQuery("log", eventlog.Changes), seq)
		}
		release()
		answer.Event = newEventDetail(e)
	}
	if err != nil {
		s.Fail(c, err)
		return
	}
	answer.Envelope = s.Envelope(http.StatusOK)
	s.ReplyLarge(c, memory, &answer)
}

// eventQuery reads the query of a request.
func (s events) eventQuery(c *gin.Context) (q eventlog.Query, err error) {
	page, err := s.Page(c)
	switch {
	case err != nil:
		return q, err
	case page.Offset > 0:
		return q, domain.Errorf(domain.Invalid, "querystring offset is not possible here; use from, with next of the page before")
	case page.Limit == 0:
		return q, domain.Errorf(domain.Invalid, "querystring limit's value 0 is out of range; use 1 to %d, or -1", s.MaxResults)
	}
	q = eventlog.Query{Log: c.DefaultQuery("log", eventlog.Changes), Limit: page.Limit}
	q.Type, q.Actor, q.Entity, q.Name = c.Query("type"), c.Query("actor"), c.Query("entity"), c.Query("name")
	if err := q.Check("querystring "); err != nil {
		return q, err
	}
	if q.From, q.Since, err = readBound(c, "from"); err != nil {
		return q, err
	}
	if q.To, q.Until, err = readBound(c, "to"); err != nil {
		return q, err
	}
	if q.To > 0 && q.From > q.To || !q.Until.IsZero() && q.Since.After(q.Until) {
		const text = "querystring from's value %.80q is after %.80q, the value of to; use an earlier one"
		return q, domain.Errorf(domain.Invalid, text, c.Query("from"), c.Query("to"))
	}
	return q, nil
}

// readBound returns the sequence or the time that begins or ends a span; neither if the query has none.
func readBound(c *gin.Context, key string) (seq uint64, at time.Time, err error) {
	m, err := moment.Parse(c.Query(key), time.Now())
	if err != nil {
		return 0, at, domain.Errorf(domain.Invalid, "querystring %s's value %v", key, err)
	}
	return m.Sequence, m.Time, nil
}

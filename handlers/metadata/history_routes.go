package metadata

import (
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/domain/eventlog"
	"ledge/domain/history"
	"ledge/handlers"
)

// historyWork is the memory for a page of a history: the largest event, the values of the page and its text.
const historyWork = 16<<20 + 3*history.MostPageBytes

// historyAnswer is a page of the history of a name.
type historyAnswer struct {
	handlers.Envelope
	history.Page
}

// histories serves the past of entities.
type histories struct {
	*handlers.API
	past *handlers.Past
}

func (s histories) routes() []handlers.Route {
	show := func(c *gin.Context) { s.showHistory(c, history.Query{Entity: c.Param("entity")}) }
	return []handlers.Route{{Method: "GET", Path: "/ledger/history/:entity/:name", Right: domain.MayRead, Handle: show}}
}

// identityRoutes are the histories of users and tokens.
func (s histories) identityRoutes() (routes []handlers.Route) {
	for _, entity := range slices.Sorted(maps.Keys(history.Identities)) {
		show := func(c *gin.Context) { s.showHistory(c, history.Query{Entity: entity, OfIdentities: true}) }
		path := "/ledger/history/" + entity + "/:name"
		routes = append(routes, handlers.Route{Method: "GET", Path: path, Right: domain.MayAdminister, Handle: show})
	}
	return routes
}

// showHistory answers with the events of a name, newest first. The addresses of actors need the right of an auditor.
func (s histories) showHistory(c *gin.Context, q history.Query) {
	q.Name, q.Hide = c.Param("name"), !s.May(c.Request, domain.MayAudit)
	page, err := s.Page(c)
	if err == nil {
		q.Limit = min(page.Limit, history.MostEntries)
		q.Before, err = sequenceIn(c, "before")
	}
	if err == nil {
		err = q.Check()
	}
	memory := s.AnswerMemoryOf(c)
	defer memory.Release()
	work := int64(historyWork)
	if q.Entity == history.Notification {
		work += eventlog.MostReadBytes // its events do not name each other: they are searched for
	}
	if err == nil {
		err = memory.Hold(work)
	}
	var answer historyAnswer
	if err == nil {
		answer.Page, err = s.past.Read(c.Request.Context(), q)
	}
	if err != nil {
		s.Fail(c, err)
		return
	}
	answer.Envelope = s.Envelope(http.StatusOK)
	s.ReplyLarge(c, memory, &answer)
}

// sequenceIn returns a sequence in the query of a request; 0 for none.
func sequenceIn(c *gin.Context, key string) (uint64, error) {
	text, ok := c.GetQuery(key)
	if !ok {
		return 0, nil
	}
	seq, err := strconv.ParseUint(text, 10, 64)
	if err != nil || seq == 0 {
		return 0, domain.Errorf(domain.Invalid,
			"querystring %s's value %.80q is not the sequence of an event; use a number from 1 on", key, text)
	}
	return seq, nil
}

package handlers

import (
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/domain/history"
	"ledge/domain/moment"
	"ledge/handlers/connections"
	"ledge/handlers/entities"
	"ledge/handlers/quota"
)

// pastAtOnce is the number of requests with asOf that read the past at a time.
const pastAtOnce = 2

// asOfKey is the name of the moment in the query of a request, and of its pastState in the context of gin.
const asOfKey = "asOf"

// pastState is the state as it was, for one request, whose turn release ends.
type pastState struct {
	history.AsOf
	release func()
}

// Past is the state as it was, for the GETs of entities that have asOf in their query. Services share it.
type Past struct {
	*history.Past
	turns quota.Turns
}

// NewPast returns the past of a log of changes.
func NewPast(past *history.Past) *Past {
	return &Past{past, quota.NewTurns("too many requests with asOf are served", pastAtOnce)}
}

// Routes returns routes whose GETs take asOf. They have to read with Get, List, or EntityState.
func (p *Past) Routes(a *API, routes []Route) []Route {
	routes = slices.Clone(routes)
	for i, r := range routes {
		if r.Method == http.MethodGet {
			routes[i].Handle = p.serve(a, r.Handle)
		}
	}
	return routes
}

// serve lets a handler read the state as of the moment in the query.
func (p *Past) serve(a *API, next Handler) Handler {
	return func(c *gin.Context) {
		text, asked := c.GetQuery(asOfKey)
		if !asked {
			next(c)
			return
		}
		now := a.Now()
		m, err := moment.Parse(text, now)
		if err == nil && text == "" {
			err = domain.Errorf(domain.Invalid, "it is empty; use the sequence of an event, a time or a date, or leave it out")
		}
		if err != nil {
			a.Fail(c, domain.Errorf(domain.Invalid, "querystring asOf: %v", err))
			return
		}
		release, err := p.turns.Take(c.Request.Context(), connections.Client(c.Request), a.WriteTimeout)
		if err != nil {
			a.Fail(c, err)
			return
		}
		defer release()
		seq, err := p.Resolve(c.Request.Context(), m, now)
		if err != nil {
			a.Fail(c, err)
			return
		}
		c.Set(asOfKey, pastState{p.AsOf(c.Request.Context(), seq), release})
		next(c)
	}
}

// EntityState returns the reader of an entity: state, or with asOf the state as it was. The turn of the request then ends.
func EntityState(c *gin.Context, state entities.Reader, list, key string) (entities.Reader, error) {
	if at, ok := asOf(c); ok {
		defer at.release()
		return at.Entity(list, key)
	}
	return state, nil
}

// listState returns the reader of a list: state, or with asOf the state as it was.
func listState(c *gin.Context, state entities.Reader, list string) (entities.Reader, error) {
	if at, ok := asOf(c); ok {
		return at.List(list)
	}
	return state, nil
}

// releasePast ends the turn of a request with asOf. A list keeps its turn while entities are still to be read, because these are
// in memory.
func releasePast(c *gin.Context) {
	if at, ok := asOf(c); ok {
		at.release()
	}
}

func asOf(c *gin.Context) (at pastState, ok bool) {
	value, _ := c.Get(asOfKey)
	at, ok = value.(pastState)
	return at, ok
}

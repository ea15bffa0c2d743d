package handlers

import (
	"context"
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

// pastAtOnce is the number of requests with asOf that are served at a time. A turn takes turnShares of the quota, which leaves one turn for
// one client: three quarters of the quota are fewer than two turns.
const (
	pastAtOnce = 2
	turnShares = 2
)

// asOfKey is the name of the moment in the query of a request, and of its history.AsOf in the context of gin.
const asOfKey = "asOf"

// Past is the state as it was, for the GETs of entities that have asOf in their query. Services share it.
type Past struct {
	*history.Past
	turns *quota.Quota
}

// NewPast returns the past of a log of changes.
func NewPast(past *history.Past) *Past { return &Past{past, quota.New(pastAtOnce * turnShares)} }

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
		client := connections.Client(c.Request)
		wait, cancel := context.WithTimeout(c.Request.Context(), a.WriteTimeout)
		defer cancel()
		if p.turns.Wait(wait, client, turnShares) != nil {
			const says = "too many requests with asOf are served, %d at a time; ask again, for fewer at once"
			a.Fail(c, domain.Errorf(domain.Unavailable, says, pastAtOnce))
			return
		}
		defer p.turns.Give(client, turnShares)
		seq, err := p.Resolve(c.Request.Context(), m, now)
		if err != nil {
			a.Fail(c, err)
			return
		}
		c.Set(asOfKey, p.AsOf(c.Request.Context(), seq))
		next(c)
	}
}

// EntityState returns the reader of an entity: state, or with asOf the state as it was.
func EntityState(c *gin.Context, state entities.Reader, list, key string) (entities.Reader, error) {
	if at, ok := asOf(c); ok {
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

func asOf(c *gin.Context) (at history.AsOf, ok bool) {
	value, _ := c.Get(asOfKey)
	at, ok = value.(history.AsOf)
	return at, ok
}

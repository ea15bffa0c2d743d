package handlers

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

// Handler serves one route.
type Handler = gin.HandlerFunc

// Filter says which entries of a list a request means.
type Filter = func(*gin.Context) []domain.Filter

// Get serves the entity whose key is in the path, with its revision as ETag. wrap makes the answer of it, or a
// pointer to that, which saves a copy.
func Get[S any](a *API, state Reader, kind, param string, table func(domain.State) domain.Table[S], wrap func(Envelope, S) any) Handler {
	return func(c *gin.Context) {
		s, revision, ok := lookUp(state, table, c.Param(param))
		if !ok {
			a.Fail(c, domain.Errorf(domain.NotFound, "%s %s %.80q does not exist; correct the %s", kind, param, c.Param(param), param))
			return
		}
		if a.Unchanged(c, revision) {
			return
		}
		a.Reply(c, http.StatusOK, wrap(a.Envelope(http.StatusOK), s))
	}
}

func lookUp[S any](state Reader, table func(domain.State) domain.Table[S], key string) (s S, revision uint64, ok bool) {
	view, done := state()
	defer done()
	t := table(view.State)
	s, ok = t.Get(key)
	return s, domain.Revision(t, key), ok
}

// List serves one page of a list, cut by offset and limit. shape makes the JSON form of an
// entry and wrap the answer of all.
func List[S, D any](
	a *API, state Reader,
	query func(domain.Lists, domain.Page, ...domain.Filter) ([]S, int, error),
	filter Filter, shape func(S) D, wrap func(ListEnvelope, []D) any,
) Handler {
	return ListOf(a, state, query, func(c *gin.Context) ([]domain.Filter, error) { return filter(c), nil }, shape, wrap)
}

// Asked is a Filter that a request can get wrong.
type Asked = func(*gin.Context) ([]domain.Filter, error)

// ListOf is List with a filter that a request can get wrong.
func ListOf[S, D any](
	a *API, state Reader,
	query func(domain.Lists, domain.Page, ...domain.Filter) ([]S, int, error),
	filter Asked, shape func(S) D, wrap func(ListEnvelope, []D) any,
) Handler {
	return func(c *gin.Context) {
		filters, err := filter(c)
		if err != nil {
			a.Fail(c, err)
			return
		}
		page, err := a.Page(c)
		if err != nil {
			a.Fail(c, err)
			return
		}
		list, total, err := Query(state, query, page, filters)
		if err != nil {
			a.Fail(c, err)
			return
		}
		shapes := make([]D, len(list)) // [], not null, where nothing is found
		for i, s := range list {
			shapes[i] = shape(s)
		}
		a.Reply(c, http.StatusOK, wrap(ListEnvelope{a.Envelope(http.StatusOK), total}, shapes))
	}
}

// Query answers a page of a list as of one view of the state, which is closed again.
func Query[S any](
	state Reader, query func(domain.Lists, domain.Page, ...domain.Filter) ([]S, int, error), page domain.Page, filters []domain.Filter,
) ([]S, int, error) {
	view, done := state()
	defer done()
	return query(view.Lists, page, filters...)
}

// Unfiltered is the filter of a list of all.
func Unfiltered(*gin.Context) []domain.Filter { return nil }

// By filters a list by the value of index that is in the path under param.
func By(index, param string) Filter {
	return func(c *gin.Context) []domain.Filter {
		return []domain.Filter{{Index: index, Value: c.Param(param)}}
	}
}

// Remove serves the removal of the entity whose key is in the path.
func Remove(a *API, log Submitter, param string, command func(key string) domain.Command) Handler {
	return func(c *gin.Context) {
		if _, err := a.Submit(c, log, command(c.Param(param))); err != nil {
			a.Fail(c, err)
			return
		}
		a.Reply(c, http.StatusOK, a.Envelope(http.StatusOK))
	}
}

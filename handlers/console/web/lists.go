package web

import (
	"net/url"
	"strconv"
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/gin-gonic/gin"

	"ledge/domain"
)

const (
	// PageRows is how many rows of a list a page shows.
	PageRows = 50
	// mostOffset bounds the position in a list.
	mostOffset = 1_000_000
	// MostFilter bounds the text of a filter or of a search, in bytes.
	MostFilter = 300
	// MostSuggested bounds the entities that suggestions are taken from.
	MostSuggested = 300
)

// Pager is the position in a list, with links to its neighbours.
type Pager struct {
	Total, First, Last int
	Previous, Next     string // addresses; empty if there is no such page
}

// Offset reads the position of a list from the query.
func Offset(c *gin.Context) int {
	n, err := strconv.Atoi(c.Query("offset"))
	if err != nil {
		return 0
	}
	return min(max(n, 0), mostOffset)
}

// BackTo returns the address of a list, with the query that the form has as back if that is an address of the list.
func BackTo(c *gin.Context, list string) (address string, query url.Values) {
	u, err := url.Parse(c.PostForm("back"))
	if err != nil || u.Path != list || u.Host != "" || u.RawQuery == "" {
		return list, nil
	}
	return list + "?" + u.RawQuery, u.Query()
}

// PagerOf describes the rows from offset on. examined is how many entries the page has searched.
func PagerOf(c *gin.Context, total, examined int) Pager {
	at := Offset(c)
	p := Pager{Total: total, First: min(at+1, total), Last: min(at+examined, total)}
	if at > 0 {
		p.Previous = withOffset(c, max(0, at-PageRows))
	}
	if p.Last < total && examined > 0 {
		p.Next = withOffset(c, p.Last)
	}
	return p
}

func withOffset(c *gin.Context, at int) string {
	q := c.Request.URL.Query()
	q.Del("offset")
	if at > 0 {
		q.Set("offset", strconv.Itoa(at))
	}
	if len(q) == 0 {
		return c.Request.URL.Path
	}
	return c.Request.URL.Path + "?" + q.Encode()
}

// FilterText reads a filter from the query.
func FilterText(c *gin.Context, name string) string {
	text := strings.TrimSpace(c.Query(name))
	return text[:min(len(text), MostFilter)]
}

// IndexFilters makes a filter of each parameter of the query that is not empty.
func IndexFilters(c *gin.Context, indexes ...string) (list []domain.Filter) {
	for _, index := range indexes {
		if text := FilterText(c, index); text != "" {
			list = append(list, domain.Filter{Index: index, Value: text})
		}
	}
	return list
}

// FailList answers for a list that cannot be read. For a position after the end it leads to the begin of the list.
func (s *Site) FailList(c *gin.Context, err error) error {
	if domain.CodeOf(err) == domain.OutOfRange && Offset(c) > 0 {
		return s.Redirect(c, withOffset(c, 0))
	}
	return err
}

// Filters reads the named parameters of a query, cut to a length that bounds the work.
func Filters(c *gin.Context, names ...string) url.Values {
	q := url.Values{}
	for _, name := range names {
		if value := strings.TrimSpace(c.Query(name)); value != "" {
			q.Set(name, value[:min(len(value), MostFilter)])
		}
	}
	return q
}

// Address is a page with one parameter of its query changed, at the begin of its list unless the parameter is a position.
func Address(path string, query url.Values, name, value string) template.URL {
	q := url.Values{}
	for key, values := range query {
		if key != "after" && key != "before" && key != "offset" && key != name && values[0] != "" {
			q.Set(key, values[0])
		}
	}
	if value != "" {
		q.Set(name, value)
	}
	if len(q) == 0 {
		return template.URL(path) //nolint:gosec // a path of the console
	}
	return template.URL(path + "?" + q.Encode()) //nolint:gosec // encoded
}

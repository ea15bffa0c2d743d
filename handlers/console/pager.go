package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

const (
	// mostOffset bounds the position in a list.
	mostOffset = 1_000_000
	// mostFilter bounds the text of a filter, in bytes.
	mostFilter = 300
	// mostSuggested bounds the entities that suggestions are taken from.
	mostSuggested = 300
)

// listPager is the position in a list, with links to its neighbours.
type listPager struct {
	Total, First, Last int
	Previous, Next     string // addresses; empty: none
}

// offset reads the position of a list from the query.
func offset(c *gin.Context) int {
	n, err := strconv.Atoi(c.Query("offset"))
	if err != nil {
		return 0
	}
	return min(max(n, 0), mostOffset)
}

// pagerOf describes the rows from offset on. examined is how many entries the page has looked at.
func pagerOf(c *gin.Context, total, examined int) listPager {
	at := offset(c)
	p := listPager{Total: total, First: min(at+1, total), Last: min(at+examined, total)}
	if at > 0 {
		p.Previous = withOffset(c, max(0, at-pageRows))
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

// filterText reads a filter from the query.
func filterText(c *gin.Context, name string) string {
	text := strings.TrimSpace(c.Query(name))
	return text[:min(len(text), mostFilter)]
}

// indexFilters makes a filter of each parameter of the query that is not empty.
func indexFilters(c *gin.Context, indexes ...string) (list []domain.Filter) {
	for _, index := range indexes {
		if text := filterText(c, index); text != "" {
			list = append(list, domain.Filter{Index: index, Value: text})
		}
	}
	return list
}

// failList answers for a list that could not be read. A position after the end leads to the begin of the list.
func (s *Console) failList(c *gin.Context, err error) {
	if domain.CodeOf(err) == domain.OutOfRange && offset(c) > 0 {
		s.redirect(c, withOffset(c, 0))
		return
	}
	s.fail(c, err)
}

// apiPath is an address of a service below a name.
func apiPath(before, name string) string { return "/api/v2/" + before + url.PathEscape(name) }

// ifMatch is the header for a change of the revision that the user has seen.
func ifMatch(revision string) []string {
	if revision == "" {
		return nil
	}
	return []string{"If-Match", fmt.Sprintf("%q", revision)}
}

// changeOne sends one entity to a service in the array that the service takes.
func (s *Console) changeOne(c *gin.Context, service, method, path, key string, fields map[string]any, revision string) answer {
	return changedMeanwhile(s.call(c, service, method, path, []any{map[string]any{"apiVersion": "v2", key: fields}}, ifMatch(revision)...))
}

// changedMeanwhile says in the user's words that the revision of a change is not the latest.
func changedMeanwhile(a answer) answer {
	if a.Status == http.StatusPreconditionFailed {
		a.Message = "Somebody else has changed this meanwhile. Copy your changes, open the page again, and enter them there. " + a.Message
	}
	return a
}

// finish answers a form without input: with a notice on the next page, or with what is wrong.
func (s *Console) finish(c *gin.Context, a answer, to, notice string, args ...any) {
	if !a.ok() {
		s.showError(c, a.Status, a.Message)
		return
	}
	s.done(c, to, notice, args...)
}

// lockOptions are the admin states to choose from.
func lockOptions() []option {
	return []option{{domain.StateUnlocked, "UNLOCKED: in use"}, {domain.StateLocked, "LOCKED: not in use"}}
}

package handlers

import (
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/domain/fastjson"
	"ledge/handlers/answers"
	"ledge/handlers/entities"
)

// Handler serves one route.
type Handler = gin.HandlerFunc

// Filter says which entries of a list a request means.
type Filter = func(*gin.Context) []domain.Filter

// Get serves the entity whose key is in the path, with its revision as ETag. name is the kind in messages. wrap makes the answer of it, or
// a pointer to that, which saves a copy.
func Get[S any](
	a *API, state entities.Reader, name, param string, kind entities.Kind[S], wrap func(Envelope, S) any,
) Handler {
	return func(c *gin.Context) {
		memory := a.AnswerMemoryOf(c)
		defer memory.Release()
		s := new(S)
		var row domain.Row
		state, err := EntityState(c, state, kind.List, c.Param(param))
		if err == nil {
			row, err = entities.LookUp(memory, state, kind.Table, c.Param(param), s)
		}
		if err == nil && !row.OK {
			err = domain.Errorf(domain.NotFound, "%s %s %.80q does not exist; correct the %s", name, param, c.Param(param), param)
		}
		if err != nil {
			a.Fail(c, err)
			return
		}
		if a.Unchanged(c, row.Revision) {
			return
		}
		a.ReplyLarge(c, memory, wrap(a.Envelope(http.StatusOK), *s))
	}
}

// List serves one page of a list, cut by offset and limit, as a JSON object with the entities under key. shape makes the JSON form of
// an entity.
func List[S, D any](a *API, state entities.Reader, kind entities.Kind[S], filter Filter, key string, shape func(S) D) Handler {
	return ListOf(a, state, kind, func(c *gin.Context) ([]domain.Filter, error) { return filter(c), nil }, key, shape)
}

// Asked is a Filter that a request can get wrong.
type Asked = func(*gin.Context) ([]domain.Filter, error)

// ListOf is List with a filter that a request can get wrong.
func ListOf[S, D any](a *API, state entities.Reader, kind entities.Kind[S], filter Asked, key string, shape func(S) D) Handler {
	return func(c *gin.Context) {
		found, err := FindPage(a, c, state, kind, filter)
		if err != nil {
			a.Fail(c, err)
			return
		}
		ReplyFound(a, c, found, key, func(s *S, _ *answers.Memory) (D, error) { return shape(*s), nil })
	}
}

// ReplyFound answers with a page that was found, under key. shape makes the JSON form of an entity. If it needs other entities, it reads
// them with the memory; that gives back the memory of a large s.
func ReplyFound[S, D any](
	a *API, c *gin.Context, found *entities.Found[S], key string, shape func(s *S, memory *answers.Memory) (D, error),
) {
	codec := fastjson.Of[D]()
	l := a.beginList(c, key, found.Total)
	defer l.Release()
	var d D
	l.Fail(found.Each(l.Hold, func(s *S) (err error) {
		if d, err = shape(s, l.Memory); err != nil {
			return err
		}
		*s = *new(S) // not in memory while the client reads
		l.element(func(dst []byte) ([]byte, error) {
			text, err := codec.Append(dst, &d)
			d = *new(D) // before its memory is given back
			return text, err
		})
		return l.Err
	}))
	l.endList()
}

// FindPage finds the page of a list that a request asks for.
func FindPage[S any](a *API, c *gin.Context, state entities.Reader, kind entities.Kind[S], filter Asked) (*entities.Found[S], error) {
	page, err := a.Page(c) // first, as in EdgeX 2.3: a wrong page is answered 400 also where the filter finds nothing
	if err != nil {
		return nil, err
	}
	filters, err := filter(c)
	if err != nil {
		return nil, err
	}
	if state, err = listState(c, state, kind.List); err != nil {
		return nil, err
	}
	found, err := entities.Query(state, kind, page, filters)
	if err == nil && found.IsRead() {
		releasePast(c)
	}
	return found, err
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
		if _, err := a.Submit(c, log, command(c.Param(param)), 0); err != nil {
			a.Fail(c, err)
			return
		}
		a.Reply(c, http.StatusOK, a.Envelope(http.StatusOK))
	}
}

// The second message is that of EdgeX 2.3. It answers the first one with an error of Go's strconv.
const (
	notInteger = "querystring %s's value %q is not a whole number from %d to %d; correct it or leave it out"
	outOfRange = "querystring %s's value %d is out of min %d ~ max %d range."
)

const defaultLimit = 20

// Page reads offset and limit. Limit -1 means as many as a page may have.
func (a *API) Page(c *gin.Context) (domain.Page, error) {
	offset, err := queryInt(c, "offset", 0, 0, math.MaxInt32)
	if err != nil {
		return domain.Page{}, err
	}
	limit, err := queryInt(c, "limit", min(defaultLimit, a.MaxResults), -1, a.MaxResults)
	if err != nil {
		return domain.Page{}, err
	}
	if limit == -1 {
		limit = a.MaxResults
	}
	return domain.Page{Offset: offset, Limit: limit}, nil
}

func queryInt(c *gin.Context, key string, value, least, most int) (int, error) {
	text, ok := c.GetQuery(key)
	if !ok {
		return value, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, domain.Errorf(domain.Invalid, notInteger, key, text, least, most)
	}
	if n < least || n > most {
		return 0, domain.Errorf(domain.Invalid, outOfRange, key, n, least, most)
	}
	return n, nil
}

// Labels reads labels=a,b as filters: a list keeps what has all of them.
func Labels(c *gin.Context) []domain.Filter {
	text := strings.TrimSpace(c.Query("labels"))
	if text == "" {
		return nil
	}
	var filters []domain.Filter
	for label := range strings.SplitSeq(text, ",") {
		filters = append(filters, domain.Filter{Index: domain.IndexLabel, Value: label})
	}
	return filters
}

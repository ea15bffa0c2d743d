package handlers

import (
	"math"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

// The second message is that of EdgeX 2.3. It answers the first one with an error of Go's strconv.
const (
	notInteger = "querystring %s's value %q is no whole number from %d to %d; correct it or leave it out"
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

package handlers

import (
	"strconv"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

// PathInt reads a whole number of 64 bits from the path.
func PathInt(c *gin.Context, param string) (int64, error) {
	text := c.Param(param)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, domain.Errorf(domain.Invalid, "%s: %.80q is no whole number of 64 bits; give one, in milliseconds", param, text)
	}
	return n, nil
}

// ByTime filters a list by the created times from start to end, both included, which are in the path in milliseconds
// since the Unix epoch.
func ByTime(c *gin.Context) ([]domain.Filter, error) {
	start, err := PathInt(c, "start")
	if err != nil {
		return nil, err
	}
	end, err := PathInt(c, "end")
	if err != nil {
		return nil, err
	}
	if end < start {
		// EdgeX 2.3 answers 400 here.
		return nil, domain.Errorf(domain.Invalid, "end: %d is before start, which is %d; swap them", end, start)
	}
	return []domain.Filter{domain.Between(start, end)}, nil
}

// WithID refuses, with 400 as EdgeX 2.3, a path whose id is no UUID.
func WithID(a *API, next Handler) Handler {
	return func(c *gin.Context) {
		if id := c.Param("id"); !domain.IsUUID(id) {
			a.Fail(c, domain.Errorf(domain.Invalid, "id: %.80q is no UUID; correct it", id))
			return
		}
		next(c)
	}
}

package handlers

import (
	"strconv"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

// PathInt reads a whole number of 64 bits from the path; unit is what messages call its unit.
func PathInt(c *gin.Context, param, unit string) (int64, error) {
	text := c.Param(param)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, domain.Errorf(domain.Invalid, "%s: %.80q is no whole number of 64 bits; give one, in %s", param, text, unit)
	}
	return n, nil
}

// ByTime filters a list by the times from start to end, both included, which are in the path, in a unit since the Unix
// epoch, and further by what filter says.
func ByTime(unit string, filter Filter) Asked {
	return func(c *gin.Context) ([]domain.Filter, error) {
		between, err := timeInPath(c, unit)
		return append(filter(c), between), err
	}
}

func timeInPath(c *gin.Context, unit string) (f domain.Filter, err error) {
	start, err := PathInt(c, "start", unit)
	if err != nil {
		return f, err
	}
	end, err := PathInt(c, "end", unit)
	if err != nil {
		return f, err
	}
	if end < start {
		// EdgeX 2.3 answers 400 here.
		return f, domain.Errorf(domain.Invalid, "end: %d is before start, which is %d; swap them", end, start)
	}
	return domain.Between(start, end), nil
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

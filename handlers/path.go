package handlers

import (
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

// PathInt reads a whole number of 64 bits from the path; unit is what messages call its unit.
func PathInt(c *gin.Context, param, unit string) (int64, error) {
	text := c.Param(param)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, domain.FieldErrorf(param, "%.80q is not a whole number of 64 bits; give one, in %s", text, unit)
	}
	return n, nil
}

// ByTime filters a list by the times from start to end, both included, which are in the path, in a unit since the Unix
// epoch, and further by what filter says.
func ByTime(unit time.Duration, filter Filter) Asked {
	return func(c *gin.Context) ([]domain.Filter, error) {
		between, err := TimesInPath(c, unit)
		return append(filter(c), between), err
	}
}

// TimesInPath reads the filter of the times from start to end in the path, see [ByTime].
func TimesInPath(c *gin.Context, unit time.Duration) (f domain.Filter, err error) {
	start, err := timeInPath(c, "start", unit)
	if err != nil {
		return f, err
	}
	end, err := timeInPath(c, "end", unit)
	if err != nil {
		return f, err
	}
	if end < start {
		// EdgeX 2.3 answers 400 here.
		return f, domain.FieldErrorf("end", "%d is before start, which is %d; swap them", end, start)
	}
	return domain.Between(start, end), nil
}

// timeInPath reads a time since the Unix epoch from the path. A number that would be a time between 2001 and 2096 in seconds is refused: in
// a smaller unit it is a time in the first two months of 1970, and the list would be empty.
func timeInPath(c *gin.Context, param string, unit time.Duration) (int64, error) {
	name := map[time.Duration]string{time.Nanosecond: "nanoseconds", time.Millisecond: "milliseconds"}[unit]
	n, err := PathInt(c, param, name)
	if err == nil && n >= 1e9 && n <= 4e9 {
		return 0, domain.FieldErrorf(param, "%d is a time in seconds, and not in %s; send %d", n, name, n*int64(time.Second/unit))
	}
	return n, err
}

// WithID refuses, with 400 as EdgeX 2.3, a path whose id is no UUID.
func WithID(a *API, next Handler) Handler {
	return func(c *gin.Context) {
		if id := c.Param("id"); !domain.IsUUID(id) {
			a.Fail(c, domain.FieldErrorf("id", "%.80q is no UUID; correct it", id))
			return
		}
		next(c)
	}
}

// Package cleanup serves requests that remove readings and notifications by age or by device.
package cleanup

import (
	"math"
	"net/http"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
)

// Serve asks for a cleanup and answers 202 when reads no longer show what it removes, or, of a long one, when a.Swept has waited for long
// enough: then it goes on when the answer is out, and after a restart.
func Serve(a *handlers.API, log handlers.Submitter, cleanup func(*gin.Context) (domain.Cleanup, error)) handlers.Handler {
	return func(c *gin.Context) {
		asked, err := cleanup(c)
		if err == nil {
			_, err = a.Submit(c, log, domain.RequestCleanup{Cleanup: asked}, 0)
		}
		if err != nil {
			a.Fail(c, err)
			return
		}
		if a.Swept != nil {
			a.Swept(c.Request.Context(), asked.Kind)
		}
		a.Reply(c, http.StatusAccepted, a.Envelope(http.StatusAccepted))
	}
}

// Before is now less age, or the last time there is.
func Before(now, age int64) int64 {
	if age < 0 && now > math.MaxInt64+age {
		return math.MaxInt64
	}
	return now - age
}

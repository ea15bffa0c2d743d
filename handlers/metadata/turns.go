package metadata

import (
	"context"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/connections"
	"ledge/handlers/quota"
)

// turnShares is the part of a quota that a turn takes. With two turns it leaves one turn for one client: three quarters of the quota are
// fewer than two turns.
const turnShares = 2

// turns bound how many answers of a kind, which read much, are made at a time.
type turns struct {
	api    *handlers.API
	kind   string // in the plural
	atOnce int
	quota  *quota.Quota
}

func newTurns(api *handlers.API, kind string, atOnce int) turns {
	return turns{api, kind, atOnce, quota.New(int64(atOnce) * turnShares)}
}

// take waits for a turn. release ends it.
func (t turns) take(c *gin.Context) (release func(), err error) {
	client := connections.Client(c.Request)
	wait, cancel := context.WithTimeout(c.Request.Context(), t.api.WriteTimeout)
	defer cancel()
	if t.quota.Wait(wait, client, turnShares) != nil {
		const text = "too many %s are being made, %d at a time; ask again, for fewer at once"
		return nil, domain.Errorf(domain.Unavailable, text, t.kind, t.atOnce)
	}
	return func() { t.quota.Give(client, turnShares) }, nil
}

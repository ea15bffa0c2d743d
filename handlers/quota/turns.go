package quota

import (
	"context"
	"sync"
	"time"

	"ledge/domain"
)

// turnShares is the part of a quota that a turn takes. With two turns it leaves one turn for one client: three quarters of the quota are
// fewer than two turns.
const turnShares = 2

// Turns bound how many requests of a kind, which read much, are served at a time.
type Turns struct {
	says   string
	atOnce int
	quota  *Quota
}

// NewTurns returns turns for atOnce requests. says begins the error for a request that has waited too long, such as "too many
// tiles are read".
func NewTurns(says string, atOnce int) Turns {
	return Turns{says, atOnce, New(int64(atOnce) * turnShares)}
}

// Take waits for a turn of a client, for a time at most. release ends the turn; it may be called twice.
func (t Turns) Take(ctx context.Context, client string, most time.Duration) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	if t.quota.Wait(ctx, client, turnShares) != nil {
		return nil, domain.Errorf(domain.Unavailable, "%s, %d at a time; ask again, for fewer at once", t.says, t.atOnce)
	}
	return sync.OnceFunc(func() { t.quota.Give(client, turnShares) }), nil
}

package handlerstest

import (
	"context"

	"ledge/domain"
	"ledge/handlers/identity"
)

// Identities are a log of users and tokens. They keep no hashes.
type Identities struct{ *Log }

// Submit implements handlers.Submitter.
func (i Identities) Submit(ctx context.Context, reqs ...domain.Request) ([]domain.Outcome, error) {
	for n := range reqs {
		reqs[n].Command, _, _ = identity.Bare(reqs[n].Command)
	}
	return i.Log.Submit(ctx, reqs...)
}

// LastUsed implements metadata.Identities.
func (Identities) LastUsed(string) int64 { return NowMilli }

package handlers

import (
	"context"

	"ledge/domain"
)

type identityKey struct{}

// WithIdentity returns a context of requests that the identity sends.
func WithIdentity(ctx context.Context, i domain.Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, i)
}

// IdentityOf returns the identity that sends a request with the context.
func IdentityOf(ctx context.Context) (domain.Identity, bool) {
	i, ok := ctx.Value(identityKey{}).(domain.Identity)
	return i, ok
}

package access

import (
	"context"
	"net/http"

	"ledge/domain"
)

type identityKey struct{}

// WithIdentity returns a context of requests that the identity sends.
func WithIdentity(ctx context.Context, i domain.Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, i)
}

// WithLogin is [WithIdentity] of a user who has logged in, as at the console: the role holds in open mode too. origin is the network
// address of the user. still returns the reason if the login has ended, or nil.
func WithLogin(ctx context.Context, i domain.Identity, origin string, still func() error) context.Context {
	return context.WithValue(WithIdentity(ctx, i), loginKey{}, login{origin, still})
}

type loginKey struct{}

type login struct {
	origin string
	still  func() error
}

// Origin is the origin of a change with the context, as events name it: the network address of [WithLogin], or internal.
func Origin(ctx context.Context) string {
	if l, ok := ctx.Value(loginKey{}).(login); ok {
		return l.origin
	}
	return "internal"
}

// IsOpen reports whether everybody may send a request with the context. a may be nil.
func (a *Access) IsOpen(ctx context.Context) bool {
	return (a == nil || a.Open) && ctx.Value(loginKey{}) == nil
}

// WithoutIdentity returns a context of requests without an identity; that of the listener does not count either.
func WithoutIdentity(ctx context.Context) context.Context {
	return context.WithValue(ctx, identityKey{}, nil)
}

// StillLoggedIn returns the reason if the login of [WithLogin] has ended, or nil. It is nil without a login.
func StillLoggedIn(ctx context.Context) error {
	l, ok := ctx.Value(loginKey{}).(login)
	if !ok {
		return nil
	}
	return l.still()
}

// StillMay returns the reason if the identity of a request has lost its rights since the request was let in, or nil. a may be nil.
func (a *Access) StillMay(ctx context.Context) error {
	if err := StillLoggedIn(ctx); err != nil {
		return err
	}
	id, known := IdentityOf(ctx)
	if !known || a == nil || a.Still == nil {
		return nil
	}
	return a.Still(id)
}

// IdentityOf returns the identity that sends a request with the context.
func IdentityOf(ctx context.Context) (domain.Identity, bool) {
	i, ok := ctx.Value(identityKey{}).(domain.Identity)
	return i, ok
}

// Sender is the identity that sends a request with the context, as commands have it; nil where nobody has logged in.
func Sender(ctx context.Context) *domain.Identity {
	if i, ok := IdentityOf(ctx); ok {
		return &i
	}
	return nil
}

// Actor is who sends a request, as events name it.
func Actor(r *http.Request) string {
	if id, ok := IdentityOf(r.Context()); ok {
		return id.Actor
	}
	return domain.AnonymousAt(r.RemoteAddr)
}

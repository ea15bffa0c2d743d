// Package access finds the sender of a request and the instances of Ledge that passed it on, and explains why an identity may not send it.
// Package handlers lets requests in and answers the refused ones; [Refusals] counts and logs them.
package access

import (
	"context"
	"crypto/x509"
	"net/http"
	"strings"
	"time"

	"ledge/domain"
	"ledge/handlers/web"
)

// Authenticator finds out who sends a request. address is that of the client, host:port. Errors are domain Errors with the codes
// Unauthenticated, Forbidden or TooMany.
type Authenticator interface {
	Bearer(ctx context.Context, token, address string) (domain.Identity, error)
	Certificate(c *x509.Certificate) (domain.Identity, error)
	Login(ctx context.Context, name, password, address string) (token string, until time.Time, err error)
	Password(ctx context.Context, name, password, address string) (domain.Identity, error)
}

// Access says who may send which requests. All services share one.
type Access struct {
	Authenticator
	// Open lets everybody do everything. A valid login then only names the actor, and an invalid one counts as none.
	Open bool
	// Still returns the reason if an identity has lost rights since a request was let in, or nil. A service asks when the request's body has
	// ended, before it does anything. If Still is nil, nothing is asked.
	Still func(domain.Identity) error
	// Refusals counts and logs what is refused; nil: nothing does.
	Refusals *Refusals
	// Now is the clock by which client certificates expire; nil: the real one.
	Now func() time.Time
}

// sendBearer is the cure for a request without a token.
const sendBearer = "send Authorization: Bearer with a token of POST /api/v2/login or of `ledge token create`"

// What is wrong with a request that has no credentials, or none that can be used.
var (
	ErrNoLogin  = domain.Errorf(domain.Unauthenticated, "a login is needed; "+sendBearer+", or use a client certificate")
	errNoBearer = domain.Errorf(domain.Unauthenticated,
		"Authorization has another scheme than Bearer, or is there more than once; "+sendBearer)
)

// BearerToken returns the token of a request; ok is false where it has none.
func BearerToken(r *http.Request) (token string, ok bool, err error) {
	values := r.Header["Authorization"]
	if len(values) == 0 {
		return "", false, nil
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.Trim(token, " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", false, errNoBearer
	}
	return token, true, nil
}

// Identify returns who sends a request: the owner of its bearer token, else of its client certificate, else whom the listener stands for. A bad
// token is an error, also where a certificate is good.
func (a *Access) Identify(r *http.Request) (domain.Identity, error) {
	token, ok, err := BearerToken(r)
	switch {
	case err != nil:
		return domain.Identity{}, err
	case ok:
		return a.Bearer(r.Context(), token, r.RemoteAddr)
	case r.TLS != nil && len(r.TLS.VerifiedChains) > 0 && len(r.TLS.VerifiedChains[0]) > 0:
		return a.certificate(r.TLS.VerifiedChains[0][0])
	}
	if id, ok := IdentityOf(r.Context()); ok && !web.IsForwarded(r) {
		return id, nil
	}
	return domain.Identity{}, ErrNoLogin
}

// certificate is Certificate of one that has not expired since the connection was opened. The identity expires with it.
func (a *Access) certificate(c *x509.Certificate) (domain.Identity, error) {
	now := time.Now
	if a.Now != nil {
		now = a.Now
	}
	if now().After(c.NotAfter) {
		return domain.Identity{}, domain.Errorf(domain.Unauthenticated, "the client certificate has expired; connect with a new one")
	}
	id, err := a.Certificate(c)
	if until := c.NotAfter.UnixMilli(); id.Until == 0 || until < id.Until {
		id.Until = until
	}
	return id, err
}

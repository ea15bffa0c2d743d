package handlers

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

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
const sendBearer = "send Authorization: Bearer with a token of POST /api/" + V2 + "/login or of `ledge token create`"

// What is wrong with a request that has no credentials, or none that can be used.
var (
	errNoLogin  = domain.Errorf(domain.Unauthenticated, "a login is needed; "+sendBearer+", or use a client certificate")
	errNoBearer = domain.Errorf(domain.Unauthenticated,
		"Authorization has another scheme than Bearer, or is there more than once; "+sendBearer)
)

// bearerToken returns the token of a request; ok is false where it has none.
func bearerToken(r *http.Request) (token string, ok bool, err error) {
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

// identify returns who sends a request: the owner of its bearer token, else of its client certificate, else whom the listener stands for. A bad
// token is an error, also where a certificate is good.
func (a *Access) identify(r *http.Request) (domain.Identity, error) {
	token, ok, err := bearerToken(r)
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
	return domain.Identity{}, errNoLogin
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

// admit lets a request in that may be for a path of the service, and gives it its identity. A public one of routes needs none. If admit
// returns false, the refusal is the answer.
func (o *Options) admit(w http.ResponseWriter, r *http.Request, routes []Route) (*http.Request, bool) {
	if o.Access == nil {
		return r, true
	}
	id, err := o.Access.identify(r)
	switch {
	case err == nil:
		return r.WithContext(WithIdentity(r.Context(), id)), true
	case o.Access.Open:
		return r, true
	case slices.ContainsFunc(routes, func(one Route) bool {
		return one.Right == Public && one.Path == r.URL.Path && one.Method == r.Method
	}):
		return r.WithContext(context.WithValue(r.Context(), identityKey{}, nil)), true // also without that of the listener
	}
	o.refuse(w, r, "", err)
	return r, false
}

// authorize lets a request for a route continue if its identity may send it.
func (a *API) authorize(route Route) Handler {
	return func(c *gin.Context) {
		open := a.isOpen(c.Request)
		if open && (!a.NeedsLogin || a.Access == nil) {
			return
		}
		err := error(errNoLogin)
		if _, known := IdentityOf(c.Request.Context()); known || !open {
			err = a.mayCall(c.Request, route, c.Param)
		}
		if err != nil {
			c.Abort()
			a.refuse(c.Writer, c.Request, route.Path, err)
		}
	}
}

// mayCall returns why an identity may not call a route.
func (o *Options) mayCall(r *http.Request, route Route, param func(string) string) error {
	id, _ := IdentityOf(r.Context())
	switch {
	case route.Right == Public, route.Right == AnyRole && slices.Contains(domain.Roles(), id.Role):
		return nil
	case route.Right == AnyRole || !id.Role.May(route.Right):
		return forbidden(id, r.Method+" "+route.Path, route.Right)
	case route.Right != domain.MayPost:
		return nil
	}
	return o.MayPostTo(r, param(route.Device))
}

// MayPostTo returns why who sends a request may not post values to a device.
func (o *Options) MayPostTo(r *http.Request, device string) error {
	id, _ := IdentityOf(r.Context())
	if o.isOpen(r) || id.MayPostTo(device) {
		return nil
	}
	return forbiddenDevice{domain.Errorf(domain.Forbidden, "%s may not post to the device %.80q, only to devices that match %s; post with another token, or have an administrator change the patterns",
		id.Actor, device, strings.Join(id.Devices, ", "))}
}

// forbiddenDevice is a refusal for the pattern of devices and not for the role.
type forbiddenDevice struct{ error }

func (f forbiddenDevice) Unwrap() error { return f.error }

func forbidden(id domain.Identity, route string, right domain.Right) error {
	who, roles := "has no role", domain.RolesThatMay(right)
	if id.Role != "" {
		who = "is " + withArticle(string(id.Role))
	}
	if roles == "" {
		return domain.Errorf(domain.Forbidden, "%s %s; no role may use %s", id.Actor, who, route)
	}
	return domain.Errorf(domain.Forbidden, "%s %s; %s needs the role %s", id.Actor, who, route, roles)
}

func withArticle(role string) string {
	if strings.ContainsRune("aeiou", rune(role[0])) {
		return "an " + role
	}
	return "a " + role
}

// Protect has next served only to clients with the right of a route. It is for a route beside a service, such as [Metrics].
func Protect(o Options, route Route, next http.Handler) http.Handler {
	o = o.WithDefaults()
	route.mustCheck()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, ok := o.admit(w, r, nil)
		if !ok {
			return
		}
		if !o.isOpen(r) {
			if err := o.mayCall(r, route, r.PathValue); err != nil {
				o.refuse(w, r, route.Path, err)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// May reports whether who sends a request has a right, as everybody has in open mode.
func (o *Options) May(r *http.Request, right domain.Right) bool {
	if o.isOpen(r) {
		return true
	}
	id, ok := IdentityOf(r.Context())
	return ok && id.Role.May(right)
}

// Actor is who sends a request, as events name it.
func Actor(r *http.Request) string {
	if id, ok := IdentityOf(r.Context()); ok {
		return id.Actor
	}
	return domain.AnonymousAt(r.RemoteAddr)
}

// refuse answers 401, 403, 429 or 503. Of the body it reads at most what a login may have, so that the connection can be used again. path is
// the route's, "" where it is not known.
func (o *Options) refuse(w http.ResponseWriter, r *http.Request, path string, err error) {
	h := w.Header()
	if !o.readSmall(r) {
		h.Set("Connection", "close")
	}
	status := statuses[domain.CodeOf(err)]
	message := "internal error; the log has it under correlation id " + correlationID(w)
	if status == http.StatusInternalServerError {
		o.Logger.Error("login failed", "service", o.Service, "correlation", correlationID(w), "error", err)
	} else {
		message = shorten(err.Error())
	}
	o.noteRefusal(h, r, path, status, err)
	text, _ := appendJSON(nil, Envelope{APIVersion: o.APIVersion, Message: message, StatusCode: status})
	h.Set("Content-Type", typeJSON)
	h.Set("Content-Length", fmt.Sprint(len(text)+1))
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // fails when the client is gone: nobody is left to be told
}

// readSmall reads the body of a request that is refused, within the limits for clients that have not logged in.
func (o *Options) readSmall(r *http.Request) bool {
	if r.ContentLength <= 0 || r.ContentLength > LoginBytes || r.Header.Get("Expect") != "" {
		return r.ContentLength == 0
	}
	defer o.unknown.Begin(r)()
	_, err := io.Copy(io.Discard, r.Body)
	return err == nil
}

// noteRefusal sets the headers of a refusal, counts it and logs it.
func (o *Options) noteRefusal(h http.Header, r *http.Request, path string, status int, err error) {
	switch status {
	case http.StatusUnauthorized:
		challenge := `Bearer realm="ledge"`
		if _, given, _ := bearerToken(r); given {
			challenge += `, error="invalid_token"`
		}
		h.Set("WWW-Authenticate", challenge)
	case http.StatusTooManyRequests:
		h.Set("Retry-After", whenAgain(err))
	}
	if o.Access != nil && o.Access.Refusals != nil {
		o.Access.Refusals.note(o, r, path, reasonOf(status, err), Actor(r))
	}
}

package handlers

import (
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/access"
	"ledge/handlers/answers"
	"ledge/handlers/faults"
)

// admit lets a request in that may be for a path of the service, and gives it its identity. A public one of routes needs none. If admit
// returns false, the refusal is the answer.
func (o *Options) admit(w http.ResponseWriter, r *http.Request, routes []Route) (*http.Request, bool) {
	if o.Access == nil {
		return r, true
	}
	id, err := o.Access.Identify(r)
	switch {
	case err == nil:
		return r.WithContext(access.WithIdentity(r.Context(), id)), true
	case o.Access.Open:
		return r, true
	case slices.ContainsFunc(routes, func(one Route) bool {
		return one.Right == Public && one.Path == r.URL.Path && one.Method == r.Method
	}):
		return r.WithContext(access.WithoutIdentity(r.Context())), true
	}
	o.refuse(w, r, "", err)
	return r, false
}

// authorize lets a request for a route continue if its identity may send it.
func (a *API) authorize(route Route) Handler {
	return func(c *gin.Context) {
		open := a.Access.IsOpen(c.Request.Context())
		if open && (!a.NeedsLogin || a.Access == nil) {
			return
		}
		err := error(access.ErrNoLogin)
		if _, known := access.IdentityOf(c.Request.Context()); known || !open {
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
	id, _ := access.IdentityOf(r.Context())
	switch {
	case route.Right == Public, route.Right == AnyRole && slices.Contains(domain.Roles(), id.Role):
		return nil
	case route.Right == AnyRole || !id.Role.May(route.Right):
		return access.Forbid(id, r.Method+" "+route.Path, route.Right)
	case route.Right != domain.MayPost:
		return nil
	}
	return o.MayPostTo(r, param(route.Device))
}

// MayPostTo returns why who sends a request may not post values to a device.
func (o *Options) MayPostTo(r *http.Request, device string) error {
	id, _ := access.IdentityOf(r.Context())
	if o.Access.IsOpen(r.Context()) || id.MayPostTo(device) {
		return nil
	}
	return access.ForbidDevice(id, device)
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
		if !o.Access.IsOpen(r.Context()) {
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
	if o.Access.IsOpen(r.Context()) {
		return true
	}
	id, ok := access.IdentityOf(r.Context())
	return ok && id.Role.May(right)
}

// refuse answers 401, 403, 429 or 503. Of the body it reads at most what a login may have, so that the connection can be used again. path is
// the route's, "" where it is not known.
func (o *Options) refuse(w http.ResponseWriter, r *http.Request, path string, err error) {
	h := w.Header()
	if !o.readSmall(r) {
		h.Set("Connection", "close")
	}
	status := statuses[domain.CodeOf(err)]
	message := "internal error; the log has it under correlation id " + access.CorrelationID(w)
	if status == http.StatusInternalServerError {
		o.Logger.Error("login failed", "service", o.Service, "correlation", access.CorrelationID(w), "error", err)
	} else {
		message = faults.Shorten(err.Error())
	}
	o.noteRefusal(h, r, path, status, err)
	text, _ := answers.AppendJSON(nil, Envelope{APIVersion: o.APIVersion, Message: message, StatusCode: status})
	h.Set("Content-Type", typeJSON)
	h.Set("Content-Length", fmt.Sprint(len(text)+1))
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // it fails if the client is gone, and then no answer can reach it
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
		if _, given, _ := access.BearerToken(r); given {
			challenge += `, error="invalid_token"`
		}
		h.Set("WWW-Authenticate", challenge)
	case http.StatusTooManyRequests:
		h.Set("Retry-After", whenAgain(err))
	}
	if o.Access != nil && o.Access.Refusals != nil {
		o.Access.Refusals.Note(o.Service, r, path, status, err)
	}
}

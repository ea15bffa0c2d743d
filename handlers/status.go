package handlers

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"syscall"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/access"
	"ledge/handlers/faults"
	"ledge/handlers/identity"
)

// statuses is the one table from a domain code to an HTTP status.
var statuses = map[domain.Code]int{
	domain.Internal:        http.StatusInternalServerError,
	domain.Invalid:         http.StatusBadRequest,
	domain.NotFound:        http.StatusNotFound,
	domain.Conflict:        http.StatusConflict,
	domain.Locked:          http.StatusLocked,
	domain.NotAllowed:      http.StatusMethodNotAllowed,
	domain.TooLarge:        http.StatusRequestEntityTooLarge,
	domain.OutOfRange:      http.StatusRequestedRangeNotSatisfiable,
	domain.Unavailable:     http.StatusServiceUnavailable,
	domain.Full:            http.StatusInsufficientStorage,
	domain.Stale:           http.StatusPreconditionFailed,
	domain.Rejected:        http.StatusInternalServerError, // EdgeX 2.3, for a device that its service does not take
	domain.Mismatch:        http.StatusUnprocessableEntity,
	domain.Unsupported:     http.StatusNotImplemented,
	domain.UnknownEncoding: http.StatusUnsupportedMediaType,
	domain.Damaged:         http.StatusInternalServerError,
	domain.Unauthenticated: http.StatusUnauthorized,
	domain.Forbidden:       http.StatusForbidden,
	domain.TooMany:         http.StatusTooManyRequests,
}

// Describe returns the status and the message that a client gets for err. An error without a code is ours: it is
// logged, here and only here, and the client learns nothing of it but the correlation id.
func (a *API) Describe(c *gin.Context, err error) (status int, message string) {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		err = domain.Errorf(domain.Unavailable, "the request ended before its outcome was known; ask for the state and try again")
	}
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		a.Logger.Error("out of file descriptors", "service", a.Service, "path", c.Request.URL.Path, "error", err)
		err = domain.Errorf(domain.Unavailable, "too many files and connections are open (%v); try again, with fewer requests at once, or raise the limit of open files (ulimit -n)", unwrapped(err))
	}
	e, ok := errors.AsType[*domain.Error](err)
	if ok && e.Code == domain.Damaged {
		a.Logger.Error("stored value is damaged", "service", a.Service, "path", c.Request.URL.Path, "correlation", access.CorrelationID(c.Writer), "error", err)
	}
	if !ok || e.Code == domain.Internal {
		id := access.CorrelationID(c.Writer)
		a.Logger.Error("request failed", "service", a.Service, "method", c.Request.Method, "path", c.Request.URL.Path,
			"correlation", id, "error", err)
		return statuses[domain.Internal], "internal error; the log has it under correlation id " + id
	}
	status, message = statuses[e.Code], faults.Shorten(e.Message)
	a.refused.note(&a.Options, c.Request, c.FullPath(), status, message)
	return status, message
}

// unwrapped is the system's own words, without the path.
func unwrapped(err error) error {
	number, _ := errors.AsType[syscall.Errno](err)
	return number
}

// retryAfter is how many seconds a client should wait after a 503.
const retryAfter = "1"

// whenAgain is the value of Retry-After for an error, in seconds.
func whenAgain(err error) string {
	if seconds, ok := identity.RetryAfter(err); ok {
		return strconv.Itoa(seconds)
	}
	return retryAfter
}

// Fail answers with an envelope that says what is wrong.
func (a *API) Fail(c *gin.Context, err error) {
	faults.Note(c.Request.Context(), "", err)
	status, message := a.Describe(c, err)
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		c.Header("Retry-After", whenAgain(err))
	}
	a.Reply(c, status, Failure{Envelope{APIVersion: a.APIVersion, Message: message, StatusCode: status}, faults.Of(err)})
}

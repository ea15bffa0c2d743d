package handlers

import (
	"context"
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"ledge/domain"
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
}

// Describe returns the status and the message that a client gets for err. An error without a code is ours: it is
// logged, here and only here, and the client learns nothing of it but the correlation id.
func (a *API) Describe(c *gin.Context, err error) (status int, message string) {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		err = domain.Errorf(domain.Unavailable, "the request ended before its outcome was known; ask for the state and try again")
	}
	e, ok := errors.AsType[*domain.Error](err)
	if !ok || e.Code == domain.Internal {
		id := correlationID(c.Writer)
		a.Logger.Error("request failed", "service", a.Service, "method", c.Request.Method, "path", c.Request.URL.Path,
			"correlation", id, "error", err)
		return statuses[domain.Internal], "internal error; the log has it under correlation id " + id
	}
	return statuses[e.Code], e.Message
}

// Fail answers with an envelope that says what is wrong.
func (a *API) Fail(c *gin.Context, err error) {
	status, message := a.Describe(c, err)
	a.Reply(c, status, Envelope{APIVersion: a.APIVersion, Message: message, StatusCode: status})
}

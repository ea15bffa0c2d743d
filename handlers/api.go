package handlers

import (
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

// API is one version of a service's interface, below /api/<Version>.
type API struct {
	Options
	*Bodies
	// APIVersion is what answers carry and requests must: "v2".
	APIVersion string
	// Routes takes the paths below /api/<Version>.
	Routes  *gin.RouterGroup
	answers *Answers
	refused *refusedLog
	names   *clientNames
}

// API adds a version with its ping, version, config and metrics.
func (s *Service) API(version string) *API {
	a := &API{Options: s.options, APIVersion: version, Routes: s.engine.Group("/api/" + version), Bodies: s.bodies, answers: s.answers, refused: s.refused, names: &clientNames{}}
	a.Routes.Use(a.recoverPanic, a.admitBody)
	a.routeAbout()
	if a.Access != nil {
		a.Routes.POST("/login", a.login)
	}
	if a.Secrets != nil {
		a.Routes.POST("/secret", a.postSecret)
	}
	return a
}

// recoverPanic answers 500, or 503 where the state cannot be read for now, and lets the process go on.
func (a *API) recoverPanic(c *gin.Context) {
	defer func() {
		p := recover()
		switch {
		case p == nil:
		case p == http.ErrAbortHandler: //nolint:errorlint // a panic value, compared as net/http does
			panic(p)
		case domain.CannotAnswer(p) != nil && !c.Writer.Written():
			c.Abort()
			a.Fail(c, domain.CannotAnswer(p))
		case c.Writer.Written():
			a.Logger.Error("handler panicked", "panic", p, "stack", string(debug.Stack()))
			panic(http.ErrAbortHandler) // half an answer is out: cut the connection, so that nobody takes it for a whole one
		default:
			c.Abort()
			a.Fail(c, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	c.Next()
}

// Stamp says when, from whom and from where a command comes.
func (a *API) Stamp(c *gin.Context) domain.Stamp {
	s := a.origin(c)
	if s.EventID == "" {
		s.EventID = a.NewID()
	}
	return s
}

// origin is what the stamps of a request's commands share, and the id of the first one's event, if it is known. It is the one
// place where an actor is named.
func (a *API) origin(c *gin.Context) domain.Stamp {
	return domain.Stamp{
		At: a.Now(), Actor: Actor(c.Request), By: Sender(c.Request.Context()),
		Origin: c.Request.RemoteAddr, CorrelationID: hopsOf(c.Request).Behind(correlationID(c.Writer)), EventID: newCorrelation(c.Writer, c.Request),
	}
}

// Submit stamps and submits one command, on the request's condition if it has one, and returns what became of it. The command was made
// of so many bytes of the body.
func (a *API) Submit(c *gin.Context, log Submitter, command domain.Command, bytes int) (domain.Outcome, error) {
	command, err := conditional(c.Request.Header, command)
	if err != nil {
		return domain.Outcome{}, err
	}
	outcomes, err := log.Submit(c.Request.Context(), domain.Request{Stamp: a.Stamp(c), Command: command, Bytes: bytes})
	if err != nil {
		return domain.Outcome{}, err
	}
	return outcomes[0], outcomes[0].Err
}

package handlers

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/access"
	"ledge/handlers/answers"
	"ledge/handlers/bodies"
	"ledge/handlers/lookups"
)

// V2 is the version of EdgeX 2's API.
const V2 = "v2"

// API is one version of a service's interface, below /api/<APIVersion>.
type API struct {
	Options
	*bodies.Bodies
	// NeedsLogin says that clients need a login in open mode too. Who changes users and tokens can let itself into the console, which has
	// logins in open mode.
	NeedsLogin bool
	// Closing is closed when the service stops.
	Closing <-chan struct{}

	service *Service
	answers *answers.Shared
	refused *refusedLog
	names   *lookups.Clients
}

// API adds a version, with the routes that all services have.
func (s *Service) API(version string) *API {
	a := &API{Options: s.options, Bodies: s.bodies, service: s, answers: s.answers, refused: s.refused, names: &lookups.Clients{}}
	a.APIVersion, a.Closing = version, s.closing
	timestamp := func() any { return a.Now().UTC().Format(time.UnixDate) }
	routes := []Route{
		{Method: "GET", Path: "/ping", Right: Public, Handle: a.about("timestamp", timestamp)},
		{Method: "GET", Path: "/version", Right: AnyRole, Handle: a.showVersion},
		{Method: "GET", Path: "/config", Right: domain.MayRead, Handle: a.about("config", a.Config)},
		{Method: "GET", Path: "/metrics", Right: domain.MayRead, Handle: a.about("metrics", func() any { return metricsOf(a.Storage) })},
		{Method: "GET", Path: "/health", Right: Public, Handle: a.health},
	}
	if a.Access != nil {
		routes = append(routes, Route{Method: "POST", Path: "/login", Right: Public, Handle: a.login})
	}
	if a.Secrets != nil {
		routes = append(routes, Route{Method: "POST", Path: "/secret", Right: domain.MayChange, Handle: a.postSecret})
	}
	a.Serve(markShared(routes))
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
		At: a.Now(), Actor: access.Actor(c.Request), By: access.Sender(c.Request.Context()),
		Origin: c.Request.RemoteAddr, CorrelationID: access.HopsOf(c.Request).Behind(access.CorrelationID(c.Writer)),
		EventID: access.NewCorrelation(c.Writer, c.Request),
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

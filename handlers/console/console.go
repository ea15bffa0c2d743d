// Package console is the management UI: pages for operators on port 9090, behind a login.
//
// Pages are rendered on the server. Each has one file here and one of the same name below templates; console.go lists them with the right
// that each needs. htmx loads pages without a reload of the document. Every page and form also works without scripts.
// An open page gets the topics of changes over /live (live.go) and reloads the parts that show them.
//
// A page reads the state as the REST services do, through [entities.Reader]. It changes nothing by itself: it sends the request that any
// client would send to the REST service, in process and in the user's name (calls.go). So the checks, the messages, the rights and
// the events are those of the API.
package console

import (
	"cmp"
	"context"
	"fmt"
	"html"
	"html/template"
	"net/http"
	"slices"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/answers"
	"ledge/handlers/bodies"
	"ledge/handlers/console/devicesearch"
	"ledge/handlers/console/static"
	"ledge/handlers/entities"
	"ledge/handlers/startup"
)

// Options configure the console. Of the embedded options it uses Service, Version, Config, Ready, Warnings, Logger, Now and
// the limits of bodies and answers.
type Options struct {
	handlers.Options

	// Services are the REST services by their names, such as core-metadata. They see the user's identity in the request's context.
	Services map[string]http.Handler
	// State, Notes and Values read entities, notifications and readings.
	State, Notes, Values entities.Reader
	// Changes reads the log of changes.
	Changes Changes
	// Users are the users that may log in, Tokens the tokens of programs.
	Users  Users
	Tokens Tokens
	// Ledger is the log, System the program itself.
	Ledger Ledger
	System System
	// Password proves that a user is asking, from an address. Its errors are domain Errors with the codes Unauthenticated or TooMany.
	Password func(ctx context.Context, name, password, address string) (domain.Identity, error)
	// Follow returns a function that calls changed for each event that is recorded after Follow was called, until ctx ends. changed does not
	// block.
	Follow func(changed func(Change)) func(ctx context.Context) error
	// Position identifies the ends of the logs. Each event changes it.
	Position func() string
	// Interfaces are the network interfaces of the machine; Sockets are the ZeroMQ sockets that are bound; PortUse says whether a ZeroMQ
	// channel can use a port. Each may be nil.
	Interfaces func() []NetInterface
	Sockets    func() []SocketState
	PortUse    func(host string, port int) string
	// Access tells which clients may use the REST services.
	Access Access
	// DeviceREST is the URL at which device-rest listens; its host may be that of all interfaces.
	DeviceREST string
	// Idle is how long a session lives without a request of the user: 8 hours.
	Idle time.Duration
	// TLS says that browsers reach the console over TLS only.
	TLS bool
}

// Changes is the log of changes of devices, profiles and the other entities in State.
type Changes interface {
	// Last is the sequence of the last event that State shows.
	Last() uint64
	// At returns the event at a sequence; ok is false if it is in an archive, or is not there.
	At(ctx context.Context, seq uint64) (r domain.Recorded, ok bool, err error)
	// Read calls f with the events from one sequence to another, both included.
	Read(ctx context.Context, from, to uint64, f func(domain.Recorded) error) error
}

// Users changes users and tokens; actor is the user that asks. Errors are domain Errors.
type Users interface {
	User(name string) (domain.User, bool)
	Users() ([]domain.User, error)
	AddUser(ctx context.Context, actor, name string, role domain.Role, password string, mustChange bool) error
	SetRole(ctx context.Context, actor, name string, role domain.Role) error
	SetPassword(ctx context.Context, actor, name, password string, mustChange bool) error
	RemoveUser(ctx context.Context, actor, name string) error
}

// Console serves the pages.
type Console struct {
	Options
	engine   *gin.Engine
	handler  http.Handler // the engine, and the deadlines of requests
	sessions *scs.SessionManager
	pages    map[string]*template.Template
	live     *live
	listing  *devicesearch.Index
	bodies   *bodies.Bodies
	unknown  bodies.UnknownBodies
	answers  *answers.Shared
}

// New returns the console. Close ends it.
func New(o Options) *Console {
	o.Options = o.WithDefaults()
	s := &Console{
		Options: o, engine: gin.New(), pages: parsePages(), live: newLive(o.Follow, o.Logger), bodies: handlers.NewBodies(o.Options), answers: handlers.NewAnswers(o.Options),
	}
	s.handler = handlers.Deadlines(o.Options, s.engine)
	s.sessions = newSessions(cmp.Or(o.Idle, 8*time.Hour), o.TLS, s.live.recheck) // a shift
	s.listing = devicesearch.New(o.State, o.Changes)
	s.engine.HandleMethodNotAllowed = true
	s.engine.ForwardedByClientIP = false
	s.engine.Use(s.recoverPanic, s.headers, s.giveBack)
	s.engine.NoRoute(s.session, s.authorize(handlers.AnyRole), s.notFound)
	s.engine.NoMethod(func(c *gin.Context) { c.String(http.StatusMethodNotAllowed, "this page has no such form\n") })
	s.serveRoutes(s.routes())
	return s
}

// Close ends the live connections.
func (s *Console) Close() {
	s.live.close()
	s.listing.Drop()
}

// ServeHTTP implements http.Handler.
func (s *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Routes lists the routes, such as "GET /devices/:name", with the right that each needs.
func (s *Console) Routes() map[string]domain.Right {
	all := map[string]domain.Right{}
	for _, r := range s.routes() {
		all[r.method+" "+r.path] = r.right
	}
	return all
}

// policy is the Content-Security-Policy of every page: nothing is loaded from elsewhere, no script or style is in a page, and no other
// site shows the console in a frame.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Starting answers every request with a page that says that the program is starting, and that loads itself again. progress returns how far
// the start has come; "" says nothing.
func Starting(progress func() string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		text := fmt.Appendf(nil, `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta http-equiv="refresh" content="%s">
<title>Ledge is starting</title></head>
<body><h1>Ledge is starting</h1><p>%s</p><p>This page loads itself again.</p></body></html>
`, startup.Again, html.EscapeString(progress()))
		startup.Write(w, r, "text/html; charset=utf-8", text)
	})
}

func (s *Console) headers(c *gin.Context) {
	h := c.Writer.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if s.Position != nil {
		c.Set("at", s.Position()) // before anything is read
	}
	if c.Request.ContentLength != 0 {
		h.Set("Connection", "close") // unless admit reads the body
	}
	c.Next()
}

// route is one path of the console, and the right that it needs.
type route struct {
	method, path string
	right        domain.Right
	handle       gin.HandlerFunc
}

// routes is the one table of all paths.
func (s *Console) routes() []route {
	return slices.Concat([]route{
		{"GET", "/static/:file", handlers.Public, func(c *gin.Context) { static.Serve(c, c.Param("file")) }},
		{"GET", "/favicon.ico", handlers.Public, func(c *gin.Context) { static.Serve(c, "icon.svg") }},
		{"GET", "/login", handlers.Public, s.showLogin},
		{"POST", "/login", handlers.Public, s.login},
		{"POST", "/logout", handlers.Public, s.logout},
		{"GET", "/account", handlers.AnyRole, s.showAccount},
		{"POST", "/account/password", handlers.AnyRole, s.changePassword},
		{"GET", "/live", domain.MayRead, s.serveLive},
		{"GET", "/", handlers.AnyRole, s.share(s.overview)},
	}, s.deviceRoutes(), s.readingRoutes(), s.profileRoutes(), s.serviceRoutes(), s.watcherRoutes(), s.subscriptionRoutes(), s.notificationRoutes(),
		s.ledgerRoutes(), s.userRoutes(), s.systemRoutes())
}

// serveRoutes panics if a route has no right.
func (s *Console) serveRoutes(routes []route) {
	for _, r := range routes {
		handlers.MustHaveRight(r.method+" "+r.path, r.right)
		s.engine.Handle(r.method, r.path, s.session, s.authorize(r.right), s.admit(r), s.authorizeAgain(r.right), r.handle)
	}
}

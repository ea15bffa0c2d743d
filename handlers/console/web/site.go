// Package web is the kit of the console: it routes, renders pages, keeps logins and sessions, calls the REST services, and tells open pages
// of changes. Pages use it; it does not know the pages.
//
// A [Site] has the pages of the login, of the account and of errors. Other pages are routes that [Site.Serve] adds. Their templates define
// "content", and "head" if they need one; those in a folder "shared" define parts for all pages. Templates read exported fields and call
// functions, but no methods.
package web

import (
	"context"
	"io/fs"
	"net/http"
	"slices"
	"time"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/answers"
	"ledge/handlers/bodies"
	"ledge/handlers/console/static"
)

// Options configure a site. Of the embedded options it uses Service, Version, Config, Ready, Warnings, Logger, Now and the limits of bodies
// and answers.
type Options struct {
	handlers.Options

	// Services are the REST services by their names, such as core-metadata. They see the user's identity in the request's context.
	Services map[string]http.Handler
	// Accounts are the users that may log in.
	Accounts Accounts
	// Password proves that a user is asking, from an address. Its errors are domain Errors with the codes Unauthenticated or TooMany.
	Password func(ctx context.Context, name, password, address string) (domain.Identity, error)
	// Follow returns a function that calls changed for each event that is recorded after Follow was called, until ctx ends. changed does
	// not block.
	Follow func(changed func(Change)) func(ctx context.Context) error
	// Position identifies the ends of the logs. Each event changes it.
	Position func() string
	// Topics are all topics of changes. A change of the topic users may end connections.
	Topics []string
	// Idle is how long a session lives without a request of the user: 8 hours.
	Idle time.Duration
	// TLS says that browsers reach the site over TLS only.
	TLS bool
	// Node is the name of the node, for the title and the header of each page. Cookie ends the name of the session's cookie: browsers send
	// a cookie to all ports of a host, so two nodes need two names.
	Node, Cookie string
	// Menu are the pages in the menu.
	Menu []MenuItem
	// Templates has a template for each page, beside those of the kit; nil: there are no other pages.
	Templates fs.FS
}

// Accounts are users with their passwords; actor is the user that asks. Errors are domain Errors.
type Accounts interface {
	User(name string) (domain.User, bool)
	SetPassword(ctx context.Context, actor, name, password string, mustChange bool) error
}

// Site serves pages to users that are logged in.
type Site struct {
	Options
	Sessions *Sessions
	Bodies   *bodies.Bodies

	engine  *gin.Engine
	handler http.Handler // the engine, and the deadlines of requests
	routes  []Route
	pages   map[string]func() *template.Template
	live    *live
	unknown bodies.UnknownBodies
	answers *answers.Shared
}

// New returns a site with the pages of the kit. Close ends it.
func New(o Options) *Site {
	o.Options = o.WithDefaults()
	s := &Site{
		Options: o, engine: gin.New(), pages: parsePages(o.Templates), live: newLive(o.Follow, o.Logger),
		Bodies: handlers.NewBodies(o.Options), answers: handlers.NewAnswers(o.Options),
	}
	s.handler = handlers.Deadlines(o.Options, s.engine)
	s.Sessions = newSessions(o, s.live.recheck)
	s.engine.HandleMethodNotAllowed = true
	s.engine.ForwardedByClientIP = false
	g := gate{s}
	s.engine.Use(g.recoverPanic, g.headers, g.giveBack)
	s.engine.NoRoute(g.session, g.authorize(handlers.AnyRole), s.answer(s.NotFound))
	s.engine.NoMethod(func(c *gin.Context) { c.String(http.StatusMethodNotAllowed, "this page has no such form\n") })
	s.Serve(
		Get("/static/:file", handlers.Public, func(c *gin.Context) error { static.Serve(c, c.Param("file")); return nil }),
		Get("/favicon.ico", handlers.Public, func(c *gin.Context) error { static.Serve(c, "icon.svg"); return nil }),
	)
	s.Serve(liveStreams{s}.routes()...)
	s.Serve(loginPages{s}.routes()...)
	return s
}

// Close ends the live streams.
func (s *Site) Close() { s.live.close() }

// ServeHTTP implements http.Handler.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// livePath is the path of live streams.
const livePath = "/live"

// Handler answers a request. For an error that it returns the site answers, with a page.
type Handler func(c *gin.Context) error

// Route is a row of a table of routes: the page or the form at a path, and the right that it needs.
type Route struct {
	Method, Path string
	Right        domain.Right
	Handle       Handler

	upload, streamed bool
}

// Get is a route of a page.
func Get(path string, right domain.Right, handle Handler) Route {
	return Route{Method: http.MethodGet, Path: path, Right: right, Handle: handle}
}

// Post is the route of a form. The form has at most [bodies.FormBytes].
func Post(path string, right domain.Right, handle Handler) Route {
	return Route{Method: http.MethodPost, Path: path, Right: right, Handle: handle}
}

// WithUpload returns the route of a form with a text or a file. Its handler bounds and reads it with [Site.ReadUpload].
func (r Route) WithUpload() Route {
	r.upload = true
	return r
}

// Streamed returns the route of a form that is not loaded as a whole. Its handler bounds and reads it.
func (r Route) Streamed() Route {
	r.upload, r.streamed = true, true
	return r
}

// Serve adds routes. It panics if a route has no right. HEAD has the answer of GET without its body, but for live streams.
func (s *Site) Serve(routes ...Route) {
	g := gate{s}
	for _, r := range routes {
		handlers.MustHaveRight(r.Method+" "+r.Path, r.Right)
		s.routes = append(s.routes, r)
		all := []gin.HandlerFunc{g.session, g.authorize(r.Right), g.admit(r), g.authorizeAgain(r.Right), s.answer(r.Handle)}
		s.engine.Handle(r.Method, r.Path, all...)
		if r.Method == http.MethodGet && r.Path != livePath {
			s.engine.Handle(http.MethodHead, r.Path, all...)
		}
	}
}

// answer returns the last handler of a route.
func (s *Site) answer(handle Handler) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := handle(c); err != nil {
			s.Fail(c, err)
		}
	}
}

// Routes returns all routes.
func (s *Site) Routes() []Route { return slices.Clone(s.routes) }

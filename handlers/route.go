package handlers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

// Rights of routes, beside those of roles.
const (
	Public  domain.Right = "public" // needs no login
	AnyRole domain.Right = "login"  // any role
)

// Metrics is the route of each port beside those of its service. The right for HEAD is that for GET.
var Metrics = Route{Method: "GET", Path: "/metrics", Right: domain.MayRead}

// Route is a row of a table of routes: what is served at a path, and who may ask for it.
type Route struct {
	Method string
	// Path has parameters, such as /device/name/:name. In the table of an API it is below /api/<APIVersion>.
	Path string
	// Right is what a request needs: a right that a role has, Public or AnyRole. A route without a right is not served.
	Right domain.Right
	// Device is the parameter of Path that names the device, for the right domain.MayPost.
	Device string
	// Streamed says that the body is not loaded as a whole: of BodyMemory it takes what it loads when it loads it, and nothing before.
	Streamed bool
	Handle   Handler

	shared bool // all services may have it
}

// String returns a route as "GET /api/v2/device/name/:name".
func (r Route) String() string { return r.Method + " " + r.Path }

// MustHaveRight panics if a route has no right, or one that no role has.
func MustHaveRight(route string, right domain.Right) {
	if right != Public && len(RolesFor(right)) == 0 {
		panic(fmt.Sprintf("route %s: no role has its right %q; give it a right of domain, or Public or AnyRole of handlers", route, right))
	}
}

// mustCheck panics if it is not certain who may ask for a route.
func (r Route) mustCheck() {
	MustHaveRight(r.String(), r.Right)
	if (r.Right == domain.MayPost) != strings.Contains(r.Path+"/", "/:"+r.Device+"/") {
		panic(fmt.Sprintf("route %s: its right is %q and its field Device is %q; with the right %q alone, name the parameter that has the device",
			r, r.Right, r.Device, domain.MayPost))
	}
}

// Serve adds the routes of a table, below /api/<APIVersion>. It panics if a route has no right. A request passes before when it may be
// sent and its body is let in.
func (a *API) Serve(routes []Route, before ...Handler) {
	for _, r := range routes {
		r.Path = "/api/" + a.APIVersion + r.Path
		r.mustCheck()
		a.service.routes = append(a.service.routes, r)
		first := append([]Handler{a.authorize(r), a.recoverPanic, a.admitBody(r)}, before...)
		a.service.engine.Handle(r.Method, r.Path, append(first, r.Handle)...)
	}
}

// markShared returns routes that all services may have.
func markShared(routes []Route) []Route {
	for i := range routes {
		routes[i].shared = true
	}
	return routes
}

// Routes returns what is served, with whole paths.
func (s *Service) Routes() []Route { return slices.Clone(s.routes) }

// RolesFor lists the roles that may use a route with a right; nil if no login is needed.
func RolesFor(right domain.Right) (roles []domain.Role) {
	if right == Public {
		return nil
	}
	return slices.DeleteFunc(domain.Roles(), func(r domain.Role) bool { return right != AnyRole && !r.May(right) })
}

// admitBody is [bodies.Bodies.Admit] for a route.
func (a *API) admitBody(route Route) Handler {
	return func(c *gin.Context) {
		done, err := a.Admit(c, !route.Streamed)
		if err != nil {
			a.Fail(c, err)
			c.Abort()
			return
		}
		defer done()
		c.Next()
	}
}

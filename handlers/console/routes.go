package console

import (
	"slices"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

// Rights of routes beside those of roles.
const (
	noLogin domain.Right = ""
	anyRole domain.Right = "login"
)

// route is one path of the console, and the right that it needs.
type route struct {
	method, path string
	right        domain.Right
	handle       gin.HandlerFunc
}

// routes is the one table of all paths.
func (s *Console) routes() []route {
	return slices.Concat([]route{
		{"GET", "/static/:file", noLogin, s.static},
		{"GET", "/favicon.ico", noLogin, s.favicon},
		{"GET", "/login", noLogin, s.showLogin},
		{"POST", "/login", noLogin, s.login},
		{"POST", "/logout", noLogin, s.logout},
		{"GET", "/account", anyRole, s.showAccount},
		{"POST", "/account/password", anyRole, s.changePassword},
		{"GET", "/live", domain.MayRead, s.serveLive},
		{"GET", "/", anyRole, s.overview},
	}, s.deviceRoutes(), s.readingRoutes(), s.profileRoutes(), s.serviceRoutes(), s.watcherRoutes(), s.subscriptionRoutes(), s.notificationRoutes(),
		s.ledgerRoutes(), s.userRoutes(), s.systemRoutes())
}

func (s *Console) route() {
	for _, r := range s.routes() {
		s.engine.Handle(r.method, r.path, s.session, s.authorize(r.right), r.handle)
	}
}

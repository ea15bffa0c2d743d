package handlers

import (
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/handlers/bodies"
)

// Served is one request that was answered. Route is the pattern of its path, such as /api/v2/device/name/:name, or one of
// RouteUnknown and RouteRefused, so that there are few of them. Method is one that HTTP knows, or OTHER.
type Served struct {
	Method, Route string
	Status        int
	Took          time.Duration
}

// The routes of requests that reach none.
const (
	RouteUnknown = "unknown" // no such path, or not with this method
	RouteRefused = "refused" // refused before its path was looked at
)

// methods are those that are told apart.
var methods = map[string]string{
	http.MethodGet: http.MethodGet, http.MethodHead: http.MethodHead, http.MethodPost: http.MethodPost, http.MethodPut: http.MethodPut,
	http.MethodPatch: http.MethodPatch, http.MethodDelete: http.MethodDelete, http.MethodOptions: http.MethodOptions,
}

func methodOf(r *http.Request) string {
	if m, ok := methods[r.Method]; ok {
		return m
	}
	return "OTHER"
}

// measure tells Options.Observe of a request that has a route, or none.
func (s *Service) measure(c *gin.Context) {
	if s.options.Observe == nil {
		return // the rest of the chain runs all the same
	}
	began := time.Now()
	defer func() { // also where the connection is cut
		route := c.FullPath()
		if route == "" {
			route = RouteUnknown
			s.refused.note(&s.options, c.Request, route, c.Writer.Status(), "the service has no such path and method")
		}
		s.options.Observe(Served{methodOf(c.Request), route, c.Writer.Status(), time.Since(began)})
	}()
	c.Next()
}

// unrouted tells Options.Observe of a request that was answered before its path was looked at.
func (s *Service) unrouted(w http.ResponseWriter, r *http.Request) {
	if status, ok := bodies.StatusOf(w); ok && s.options.Observe != nil {
		s.options.Observe(Served{methodOf(r), RouteRefused, status, 0})
	}
}

// refusedEvery is how often the log names a refused request of one route.
const refusedEvery = time.Second

// refusedLog logs refused requests: one of each route in refusedEvery, with the number of those before it that are not
// logged. There are no more entries than routes.
type refusedLog struct {
	mu     sync.Mutex
	routes map[refusedRoute]*refusedCount
}

type refusedRoute struct{ method, route string }

type refusedCount struct {
	logged time.Time
	more   int
}

// note logs a refusal with its reason.
func (l *refusedLog) note(o *Options, r *http.Request, route string, status int, reason string) {
	if status < http.StatusBadRequest || status >= http.StatusInternalServerError {
		return
	}
	more, ok := l.due(refusedRoute{methodOf(r), route}, time.Now())
	if !ok {
		return
	}
	o.Logger.LogAttrs(r.Context(), slog.LevelInfo, "request refused", slog.String("service", o.Service), slog.String("method", r.Method), slog.String("route", route),
		slog.String("path", r.URL.Path), slog.Int("status", status), slog.String("reason", reason), slog.String("remote", r.RemoteAddr), slog.Int("suppressed", more))
}

// due reports whether a refusal is to be logged, and how many of the route were not since the last one.
func (l *refusedLog) due(route refusedRoute, now time.Time) (more int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.routes == nil {
		l.routes = map[refusedRoute]*refusedCount{}
	}
	c := l.routes[route]
	switch {
	case c == nil:
		l.routes[route] = &refusedCount{logged: now}
		return 0, true
	case now.Sub(c.logged) < refusedEvery:
		c.more++
		return 0, false
	}
	more, c.logged, c.more = c.more, now, 0
	return more, true
}

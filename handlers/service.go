package handlers

import (
	"cmp"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/handlers/access"
	"ledge/handlers/answers"
	"ledge/handlers/bodies"
)

func init() { gin.SetMode(gin.ReleaseMode) }

// Service is one port: its APIs, and what is the same for every path below them.
type Service struct {
	options Options
	engine  *gin.Engine
	routes  []Route
	bodies  *bodies.Bodies
	answers *answers.Shared
	refused *refusedLog
	closing chan struct{} // closed by Close
	once    sync.Once
}

// NewService returns a service without an API: every path is unknown.
func NewService(o Options) *Service {
	o = o.WithDefaults()
	s := &Service{options: o, engine: gin.New(), bodies: NewBodies(o), answers: NewAnswers(o), refused: &refusedLog{}}
	s.closing = make(chan struct{})
	s.engine.RedirectTrailingSlash = false // EdgeX 2.3 answers 404
	s.engine.HandleMethodNotAllowed = true
	s.engine.ForwardedByClientIP = false
	s.engine.UseRawPath = true // withRawPath leaves one only if a segment has a slash
	s.engine.Use(s.measure, s.logAccess, refuseSlashes)
	s.engine.NoRoute(s.notFound)
	s.engine.NoMethod(s.notAllowed)
	return s
}

// Close ends the answers that have no end, such as streams of events.
func (s *Service) Close() { s.once.Do(func() { close(s.closing) }) }

// ServeHTTP implements http.Handler.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w, r = s.options.pace().SetDeadlines(w, r)
	access.Correlate(w, r, s.options.NewID)
	r, ok := s.options.admit(w, r, s.routes)
	if !ok || s.loops(w, r) {
		s.unrouted(w, r)
		return
	}
	if r.ContentLength != 0 {
		ctx := r.Context()
		bodies.CheckAtEnd(r, func() error { return s.options.Access.StillMay(ctx) })
	}
	if s.options.isBeforeLogin(r) {
		defer s.options.unknown.Begin(r)()
	}
	if !strings.HasPrefix(r.URL.Path, "/") {
		http.NotFound(w, r)
		s.unrouted(w, r)
		return
	}
	r = withRawPath(r)
	at := cmp.Or(r.URL.RawPath, r.URL.Path)
	if p := cleanPath(at); p != at {
		// EdgeX 2.3 redirects here, whatever the method.
		u := *r.URL
		if u.RawPath != "" {
			p, _ = url.PathUnescape(p)
			u.RawPath = cleanPath(u.RawPath)
		}
		u.Path = p
		w.Header().Set("Location", u.String())
		w.WriteHeader(http.StatusMovedPermanently)
		s.unrouted(w, r)
		return
	}
	s.engine.ServeHTTP(w, r)
}

// Deadlines sets the deadlines of every request before anything else looks at it, so that they hold for unknown paths and
// wrong methods as well. Each [Service] does so by itself; this is for what is served beside it.
func Deadlines(o Options, next http.Handler) http.Handler {
	o = o.WithDefaults()
	pace := o.pace()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(pace.SetDeadlines(w, r)) })
}

// withRawPath returns the request with a RawPath only if a segment of its path has an encoded slash. All segments are then encoded in the
// one way that Gin decodes.
func withRawPath(r *http.Request) *http.Request {
	if r.URL.RawPath == "" {
		return r
	}
	raw := ""
	if strings.Contains(r.URL.RawPath, "%2F") || strings.Contains(r.URL.RawPath, "%2f") {
		segments := strings.Split(r.URL.RawPath, "/")
		for i, segment := range segments {
			text, _ := url.PathUnescape(segment) // net/http has decoded the path
			segments[i] = strings.ReplaceAll(url.PathEscape(text), "+", "%2B")
		}
		raw = strings.Join(segments, "/")
	}
	u, next := *r.URL, *r
	u.RawPath = raw
	next.URL = &u
	return &next
}

// freeText are the parameters of paths that may hold a slash. The others are names, ids, categories and labels, which never do.
var freeText = []string{"manufacturer", "model", "tile"}

// refuseSlashes answers a path with a slash in a name as EdgeX 2.3 does, which has no such route.
func refuseSlashes(c *gin.Context) {
	if c.Request.URL.RawPath == "" {
		return
	}
	for _, p := range c.Params {
		if strings.Contains(p.Value, "/") && !slices.Contains(freeText, p.Key) {
			c.Abort()
			http.NotFound(c.Writer, c.Request)
			return
		}
	}
}

// cleanPath resolves //, . and .. and keeps a trailing slash.
func cleanPath(p string) string {
	np := path.Clean(p)
	if strings.HasSuffix(p, "/") && np != "/" {
		np += "/"
	}
	return np
}

func (s *Service) logAccess(c *gin.Context) {
	log := s.options.Logger
	if !log.Enabled(c.Request.Context(), slog.LevelDebug) {
		return // the rest of the chain runs all the same
	}
	start := time.Now()
	c.Next()
	log.DebugContext(c.Request.Context(), "request served", "service", s.options.Service, "method", c.Request.Method,
		"path", c.Request.URL.Path, "status", c.Writer.Status(), "bytes", c.Writer.Size(), "took", time.Since(start),
		"remote", c.Request.RemoteAddr, "correlation", access.CorrelationID(c.Writer))
}

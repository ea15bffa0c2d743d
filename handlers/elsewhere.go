package handlers

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
)

// notFound answers an unknown path as EdgeX does, and says where the path is served if another service has it.
func (s *Service) notFound(c *gin.Context) {
	http.NotFound(c.Writer, c.Request)
	if help := s.elsewhere(c.Request); help != "" && c.Request.Method != http.MethodHead {
		_, _ = c.Writer.WriteString(help + "\n")
	}
}

// elsewhere says what a client that has come to the wrong place can do, "" where the other services are not known.
func (s *Service) elsewhere(r *http.Request) string {
	own := s.options.Addresses[s.options.Service]
	if own == "" {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(s.options.Addresses)) {
		if name != s.options.Service && serves(name, r.Method, r.URL.Path) {
			return fmt.Sprintf("this is %s; %s serves this path: %s%s", s.options.Service, name, s.options.Addresses[name], r.URL.EscapedPath())
		}
	}
	return fmt.Sprintf("this is %s; its paths are at %s/api/v2/docs", s.options.Service, own)
}

// serves reports whether a service has a route for a path.
func serves(service, method, path string) bool {
	for route := range rightOf[service] {
		if verb, pattern, _ := strings.Cut(route, " "); verb == method && matches(pattern, path) {
			return true
		}
	}
	return false
}

// matches reports whether a path is of a pattern such as /api/v2/device/name/:name.
func matches(pattern, path string) bool {
	for {
		want, patternRest, more := strings.Cut(pattern, "/")
		got, pathRest, pathMore := strings.Cut(path, "/")
		if more != pathMore || want != got && (!strings.HasPrefix(want, ":") || got == "") {
			return false
		}
		if !more {
			return true
		}
		pattern, path = patternRest, pathRest
	}
}

// notAllowed answers a known path with another method; Gin has set the header Allow.
func (s *Service) notAllowed(c *gin.Context) {
	allowed := strings.ReplaceAll(c.Writer.Header().Get("Allow"), ", ", " or ")
	if allowed == "" || c.Request.Method == http.MethodHead {
		c.Status(http.StatusMethodNotAllowed)
		c.Writer.WriteHeaderNow()
		return
	}
	c.String(http.StatusMethodNotAllowed, "%s is not possible here; use %s\n", c.Request.Method, allowed)
}

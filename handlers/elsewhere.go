package handlers

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/handlers/access"
	"ledge/handlers/answers"
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
	others, help := s.options.Others(), ""
	for _, name := range slices.Sorted(maps.Keys(s.options.Addresses)) {
		if other, ok := others[name].(*Service); ok && other != s && other.serves(r) {
			help += fmt.Sprintf("; %s serves this path: %s%s", name, s.options.Addresses[name], r.URL.EscapedPath())
		}
	}
	if help != "" {
		return "this is " + s.options.Service + help
	}
	return fmt.Sprintf("this is %s; its paths are at %s/api/%s/docs", s.options.Service, own, s.options.APIVersion)
}

// serves reports whether a service has a route of its own for a request.
func (s *Service) serves(r *http.Request) bool {
	return slices.ContainsFunc(s.routes, func(one Route) bool {
		return !one.shared && one.Method == r.Method && matches(one.Path, r.URL.Path)
	})
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

// loops answers a request that goes round between instances of Ledge with 508.
func (s *Service) loops(w http.ResponseWriter, r *http.Request) bool {
	hops := access.HopsOf(r)
	if len(hops) == 0 || !hops.Loops(s.options.Instance) {
		return false
	}
	s.options.Logger.Debug("request goes round", "service", s.options.Service, "path", r.URL.Path,
		"hops", hops, "correlation", access.CorrelationID(w))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusLoopDetected)
	text, _ := answers.AppendJSON(nil, Envelope{
		APIVersion: s.options.APIVersion, StatusCode: http.StatusLoopDetected,
		Message: "this request goes round between instances of Ledge, as its header Ledge-Hop says; " +
			"correct the REST channel or the base address that sends it here",
	})
	_, _ = w.Write(append(text, '\n')) // it fails if the client is gone, and then no answer can reach it
	return true
}

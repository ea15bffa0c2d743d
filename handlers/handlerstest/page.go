package handlerstest

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// references finds what a page loads or links to.
var references = regexp.MustCompile(`(?:src|href)="([^"]+)"`)

// CheckPage holds that the page that shows the document and everything that it refers to is there, and comes from this
// service only.
func CheckPage(t *testing.T, h http.Handler) {
	t.Helper()
	page := Serve(h, "GET", "/api/v2/docs", "")
	if page.Code != http.StatusOK || strings.Contains(page.Body.String(), "//") {
		t.Errorf("page: got %d %s", page.Code, page.Body)
	}
	refs := references.FindAllStringSubmatch(page.Body.String(), -1)
	if len(refs) < 4 {
		t.Errorf("references: got %v", refs)
	}
	for _, ref := range refs {
		w := Serve(h, "GET", "/api/v2/"+ref[1], "")
		if w.Code != http.StatusOK || w.Body.Len() == 0 {
			t.Errorf("%s: got %d with %d bytes", ref[1], w.Code, w.Body.Len())
		}
		tag := w.Header().Get("ETag")
		if again := Serve(h, "GET", "/api/v2/"+ref[1], "", `If-None-Match: "x", W/`+tag); again.Code != http.StatusNotModified || again.Body.Len() != 0 {
			t.Errorf("%s again: got %d with %d bytes", ref[1], again.Code, again.Body.Len())
		}
		if other := Serve(h, "GET", "/api/v2/"+ref[1], "", `If-None-Match: "x"`); other.Code != http.StatusOK {
			t.Errorf("%s with another ETag: got %d", ref[1], other.Code)
		}
	}
}

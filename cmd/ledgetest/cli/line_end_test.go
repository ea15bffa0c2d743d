package cli

import (
	"net/http"
	"strings"
	"testing"

	"ledge/cmd/internal/services"
	"ledge/cmd/ledgetest"
)

// TestAnswersEndTheirLine holds that each JSON answer ends its line, so that a shell shows it well. Those of ping, version, config and health
// end as in EdgeX.
func TestAnswersEndTheirLine(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	for _, one := range services.REST() {
		for _, path := range []string{"device/all", "device/name/sample-image", "device/name/none", "none"} {
			a := p.Call(http.MethodGet, p.URLs[one.Name]+"/api/v2/"+path, "", "")
			if isJSON := strings.HasPrefix(a.Header.Get("Content-Type"), "application/json"); isJSON && !strings.HasSuffix(a.Body, "}\n") {
				t.Errorf("%s, %s: the answer ends with %q", one.Name, path, a.Body[max(0, len(a.Body)-20):])
			}
		}
	}
}

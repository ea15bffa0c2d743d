package api

import (
	"net/http"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
)

// TestWrongPort holds that a client at the port of another service is told the right one.
func TestWrongPort(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	for _, tt := range []struct{ asked, right, path string }{
		{p.Metadata, p.CoreData, "/api/v2/reading/all"},
		{p.CoreData, p.DeviceREST, "/api/v2/device/name/sample-image/jpeg"},
		{p.DeviceREST, p.Notifications, "/api/v2/subscription/all"},
		{p.Notifications, p.Metadata, "/api/v2/device/all"},
	} {
		a := p.Call(http.MethodGet, tt.asked+tt.path, "", "")
		if want := " serves this path: " + tt.right + tt.path + "\n"; a.Status != http.StatusNotFound || !strings.HasSuffix(a.Body, want) {
			t.Errorf("%s%s: got %d %q, want %q", tt.asked, tt.path, a.Status, a.Body, want)
		}
	}
}

package console

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/console/web"
)

func TestPostTo(t *testing.T) {
	for _, tt := range []struct {
		listens, browser, want string
		local                  bool
	}{
		{"http://127.0.0.1:59986", "127.0.0.1:9090", "http://127.0.0.1:59986", true},
		{"http://127.0.0.1:59986", "localhost:9090", "http://localhost:59986", true},
		{"http://127.0.0.1:59986", "site.example:9090", "http://127.0.0.1:59986", true}, // through a reverse proxy
		{"https://[::]:1", "10.0.0.5:9090", "https://10.0.0.5:1", false},
		{"http://0.0.0.0:1", "[fd00::1]:9090", "http://[fd00::1]:1", false},
		{"http://10.0.0.5:1", "127.0.0.1:9090", "http://10.0.0.5:1", false},
	} {
		c, _ := gin.CreateTestContext(httptest.NewRecorder())
		c.Request = httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		c.Request.Host = tt.browser
		page := devicePage{devices: devices{Site: &web.Site{}}, deviceREST: tt.listens}
		got := page.postTo(c, "a;b", domain.DeviceResource{Name: "r"})
		if want := tt.want + "/api/v2/resource/a%3Bb/r"; got.URL != want || got.Local != tt.local {
			t.Errorf("%s from %s: got %q, local %v; want %q", tt.listens, tt.browser, got.URL, got.Local, want)
		}
	}
}

package console

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"
)

// testContext is that of a request to s.
func testContext(t *testing.T, _ *Console) *gin.Context {
	t.Helper()
	c, _ := gin.CreateTestContext(httptest.NewRecorder())
	c.Request = httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	return c
}

func TestProblemsOfFields(t *testing.T) {
	s := fixture(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusMultiStatus)
		_, _ = w.Write([]byte(`[{"statusCode":201},{"statusCode":400,"message":"much is wrong","errors":[
			{"path":"[1].device.name","value":"a b","cure":"use only letters"},{"path":"[1].device.protocols.rest","cure":"give one"},{"path":"[1].device.nameless","cure":"no"}]}]`))
	})
	a := s.call(testContext(t, s), metadataService, http.MethodPost, "/api/v2/device", []any{})
	if a.ok() || a.Status != 400 || a.Message != "much is wrong" {
		t.Fatalf("got %+v", a)
	}
	for field, want := range map[string]string{"name": "a b: use only letters", "protocols": "give one", "description": ""} {
		if got := a.Problems.Of(field); got != want {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
}

func TestNextPage(t *testing.T) {
	for next, want := range map[string]string{
		"/devices?q=x": "/devices?q=x", "": "/", "//evil.example": "/", "https://evil.example/": "/", `/\evil.example`: "/", "javascript:alert(1)": "/", "/a\r\nb": "/", "devices": "/",
	} {
		if got := nextPage(next); got != want {
			t.Errorf("%q leads to %q, want %q", next, got, want)
		}
	}
}

package console

import (
	"testing"

	"ledge/domain"
)

func TestPostTo(t *testing.T) {
	s := fixture(t, nil)
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
		s.DeviceREST = tt.listens
		c := testContext(t, s)
		c.Request.Host = tt.browser
		got := s.postTo(c, "a;b", domain.DeviceResource{Name: "r"})
		if want := tt.want + "/api/v2/resource/a%3Bb/r"; got.URL != want || got.Local != tt.local {
			t.Errorf("%s from %s: got %q, local %v; want %q", tt.listens, tt.browser, got.URL, got.Local, want)
		}
	}
}

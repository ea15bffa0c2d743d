package handlers_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/access"
)

// TestPprofRights holds that profiles are for administrators in secure mode, and for this machine in open mode.
func TestPprofRights(t *testing.T) {
	ask := func(a *access.Access, remote, token string) int {
		r := httptest.NewRequest(http.MethodGet, "/debug/pprof/cmdline", http.NoBody)
		r.RemoteAddr = remote
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		handlers.Pprof(handlers.Options{Service: "core-metadata", Access: a}).ServeHTTP(w, r)
		return w.Code
	}
	secure, open := &access.Access{Authenticator: roleAccess{}}, &access.Access{Authenticator: roleAccess{}, Open: true}
	for _, role := range domain.Roles() {
		want := http.StatusForbidden
		if role == domain.Admin {
			want = http.StatusOK
		}
		if got := ask(secure, "192.0.2.1:4000", string(role)); got != want {
			t.Errorf("secure, %s: got %d, want %d", role, got, want)
		}
	}
	for _, tt := range []struct {
		access *access.Access
		remote string
		want   int
	}{
		{secure, "127.0.0.1:4000", http.StatusUnauthorized}, {open, "127.0.0.1:4000", http.StatusOK}, {open, "[::1]:4000", http.StatusOK},
		{open, "192.0.2.1:4000", http.StatusForbidden}, {nil, "192.0.2.1:4000", http.StatusForbidden}, {nil, "127.0.0.1:4000", http.StatusOK},
	} {
		if got := ask(tt.access, tt.remote, ""); got != tt.want {
			t.Errorf("%s, %+v: got %d, want %d", tt.remote, tt.access, got, tt.want)
		}
	}
}

package security

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/services"
	"ledge/cmd/ledgetest"
)

// TestPasswordRule holds that no command, no first start and no page of the console takes a short, a blank or a common password.
func TestPasswordRule(t *testing.T) {
	dir := t.TempDir()
	bad := map[string]string{
		"short": "has 5 characters; use at least 10", "Basketball": "is too easy to guess", strings.Repeat(" ", 10): "has only white space",
	}
	for password, says := range bad {
		t.Setenv("LEDGE_ADMIN_PASSWORD", password)
		_, stderr, code := ledgetest.Run(t, append([]string{"serve", "--data-dir", t.TempDir()}, services.FreePorts("-1")...)...)
		if code != exit.Usage || !strings.Contains(stderr, "LEDGE_ADMIN_PASSWORD: password: "+says) {
			t.Errorf("a first start with %q: %d %s", password, code, stderr)
		}
	}
	t.Setenv("LEDGE_ADMIN_PASSWORD", "")
	p := ledgetest.Start(t, dir)
	ledgetest.MustRunOn(t, dir, "first-secret\n", "user", "add", "anna", "--role", "admin")
	c := ledgetest.NewConsoleClient(p)
	c.Login(t, "anna", "first-secret")
	for password, says := range bad {
		WantRunFails(t, dir, password+"\n", says, "user", "add", "ben")
		WantRunFails(t, dir, password+"\n", says, "user", "passwd", "anna")
		for path, form := range map[string]url.Values{
			"/users":               {"name": {"ben"}, "role": {"viewer"}, "new-password": {password}},
			"/users/anna/password": {"new-password": {password}},
			"/account/password":    {"old": {"first-secret"}, "new": {password}, "again": {password}},
		} {
			a := c.Post(path, form)
			if a.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(a.Text, says) {
				t.Errorf("%s with %q: %d", path, password, a.StatusCode)
			}
		}
	}
}

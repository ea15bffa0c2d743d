package console

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/ledgetest"
	"ledge/domain"
	"ledge/handlers"
)

func TestConsoleLogin(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	b := newTab(p, t)
	text, err := os.ReadFile(filepath.Join(p.Dir, datadir.AdminPasswordFile))
	if err != nil {
		t.Fatal(err)
	}
	generated := strings.TrimSpace(string(text))
	b.open("/devices?q=x")
	b.fill("#f-username", "admin", "#f-password", "wrong")
	b.click("main button[type=submit]")
	b.see(".wrong")
	b.fill("#f-username", "admin", "#f-password", generated)
	b.click("main button[type=submit]")
	b.see("#f-again")
	if at := b.path(); at != "/account" {
		t.Errorf("after the login with the generated password: at %s, want /account", at)
	}
	if text := b.text("main"); !strings.Contains(text, "was generated at the first start") {
		t.Errorf("the page does not say whose password it was: %s", text)
	}
	b.fill("#f-old", generated, "#f-new", "short", "#f-again", "short")
	b.click("main button[type=submit]")
	b.see("#f-new-error")
	b.fill("#f-old", generated, "#f-new", ledgetest.ConsolePassword, "#f-again", ledgetest.ConsolePassword)
	b.click("main button[type=submit]")
	b.see(".notice")
	if at := b.path(); at != "/devices?q=x" {
		t.Errorf("after the change of the password: at %s, want the page that was asked for", at)
	}
	if _, err := os.Stat(filepath.Join(p.Dir, datadir.AdminPasswordFile)); !os.IsNotExist(err) {
		t.Errorf("the file with the generated password is still there: %v", err)
	}
	b.click(".me button")
	b.see("#f-username")
	b.picture("login")
	b.open("/devices?q=x")
	b.fill("#f-username", "admin", "#f-password", ledgetest.ConsolePassword)
	b.click("main button[type=submit]")
	b.see(".me")
	if at := b.path(); at != "/devices?q=x" {
		t.Errorf("after the login: at %s, want the page that was asked for", at)
	}
}

// TestConsoleSession holds sessions to what a thief or an old browser could do with them.
func TestConsoleSession(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	p.AddConsoleUser(t, domain.Viewer)
	c := ledgetest.NewConsoleClient(p)
	if got := c.Get("/devices"); got.StatusCode != http.StatusSeeOther {
		t.Fatalf("without a login: %s", got.Status)
	}
	c.Login(t, "test-viewer", ledgetest.ConsolePassword) // for the name of the cookie
	c.Cookie = &http.Cookie{Name: c.Cookie.Name, Value: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}
	c.Login(t, "test-viewer", ledgetest.ConsolePassword)
	if c.Cookie.Value == "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" || !c.Cookie.HttpOnly || c.Cookie.SameSite != http.SameSiteStrictMode {
		t.Errorf("the cookie of the session is %v, want a new value, HttpOnly and SameSite=Strict", c.Cookie)
	}
	if got := c.Get("/devices"); got.StatusCode != http.StatusOK {
		t.Fatalf("with a login: %s", got.Status)
	}
	stolen := *c
	c.Post("/logout", nil)
	if got := stolen.Get("/devices"); got.StatusCode != http.StatusSeeOther {
		t.Errorf("after the logout the session is still good: %s", got.Status)
	}
	c.Login(t, "test-viewer", ledgetest.ConsolePassword)
	if _, stderr, code := ledgetest.Run(t, "user", "remove", "test-viewer", "--data-dir", p.Dir); code != 0 {
		t.Fatal(stderr)
	}
	if got := c.Get("/devices"); got.StatusCode != http.StatusSeeOther {
		t.Errorf("after the user is removed the session is still good: %s", got.Status)
	}
}

// TestConsoleRights walks all routes with every role.
func TestConsoleRights(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	for _, role := range domain.Roles() {
		p.AddConsoleUser(t, role)
		c := ledgetest.NewConsoleClient(p)
		c.Login(t, "test-"+string(role), ledgetest.ConsolePassword)
		for route, right := range ledgetest.ConsoleRoutes() {
			method, path, _ := strings.Cut(route, " ")
			if path == "/logout" || path == "/login" {
				continue
			}
			status := c.Send(method, strings.NewReplacer(":", "x").Replace(path), nil).StatusCode
			if may := right == handlers.Public || right == handlers.AnyRole || role.May(right); may == (status == http.StatusForbidden) {
				t.Errorf("%s as %s: %d, want it refused: %v", route, role, status, !may)
			}
		}
	}
	for route, right := range ledgetest.ConsoleRoutes() {
		method, path, _ := strings.Cut(route, " ")
		status := ledgetest.NewConsoleClient(p).Send(method, strings.NewReplacer(":", "x").Replace(path), nil).StatusCode
		if right != handlers.Public && status != http.StatusSeeOther && status != http.StatusUnauthorized {
			t.Errorf("%s without a login: %d", route, status)
		}
	}
}

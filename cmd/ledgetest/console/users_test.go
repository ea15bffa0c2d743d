package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// TestConsoleUsers adds, changes and removes a user in the browser, and creates and revokes a token.
func TestConsoleUsers(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	b := logIn(p, t, domain.Admin)
	b.open("/users")
	b.see("main p.warning a[href='/system#setting-secure']") // the API is open
	b.click("main .head a.button")
	b.see("[action='/users'] button[type=submit]")
	b.fill("#f-name", "anna", "#f-role", "viewer", "#f-new-password", "short")
	b.click("[action='/users'] button[type=submit]")
	b.see("#f-new-password-error")
	if name := ask[string](b, `document.getElementById("f-name").value`); name != "anna" {
		t.Errorf("after the refusal the name is %q", name)
	}
	b.fill("#f-new-password", ledgetest.ConsolePassword)
	b.click("[name=mustChange]")
	b.click("[action='/users'] button[type=submit]")
	b.until(`document.querySelector(".notice")?.innerText.includes("added") && document.querySelector("#users").innerText.includes("anna")`)
	anna := ledgetest.NewConsoleClient(p)
	anna.Login(t, "anna", ledgetest.ConsolePassword)
	b.click("a[href='/users/anna']")
	b.until(`!!document.querySelector("[action='/users/anna/role']")`)
	b.fill("#f-role", "auditor")
	b.click("[action='/users/anna/role'] button[type=submit]")
	b.until(`document.querySelector(".notice")?.innerText.includes("auditor")`)
	if got := anna.Get("/ledger"); got.StatusCode != http.StatusOK {
		t.Errorf("the new role does not hold: %s", got.Status)
	}
	b.fill("#f-new-password", "another password")
	b.click("[action='/users/anna/password'] button[type=submit]")
	b.until(`document.querySelector(".notice")?.innerText.includes("password")`)
	if got := anna.Get("/ledger"); got.StatusCode != http.StatusSeeOther {
		t.Errorf("after the new password the session goes on: %s", got.Status)
	}
	b.do(acceptDialogs)
	b.click("[action='/users/anna/remove'] button")
	b.until(`document.querySelector(".notice")?.innerText.includes("removed")`)
	if strings.Contains(b.text("#users"), "anna") {
		t.Error("the user that is removed is listed")
	}

	b.unfold("/tokens")
	b.fill("#f-token-name", "robot", "#f-token-role", "viewer")
	b.click("[action='/tokens'] button[type=submit]")
	token := strings.TrimSpace(b.text(".secret"))
	if got := p.Call(http.MethodGet, p.Metadata+"/api/v2/device/all", "", "", "Authorization", "Bearer "+token); got.Status != http.StatusOK {
		t.Errorf("with the new token: %v", got)
	}
	b.open("/users")
	b.see("[action='/tokens/robot/revoke'] button")
	if ask[bool](b, `!!document.querySelector(".secret")`) {
		t.Error("the token is shown twice")
	}
	if used := b.text("#tokens [data-label='Last used']"); used == "" || strings.Contains(used, "never") {
		t.Errorf("the token was last used %q", used)
	}
	b.do(acceptDialogs)
	b.click("[action='/tokens/robot/revoke'] button")
	b.until(`document.querySelector(".notice")?.innerText.includes("revoked") && document.querySelector("#tokens").innerText.includes("no token yet")`)
	if out, _, _ := ledgetest.Run(t, "token", "list", "--data-dir", p.Dir); strings.Contains(out, "robot") {
		t.Errorf("after the revocation there are the tokens %s", out)
	}
}

// TestConsoleUserRefusals has the domain's messages shown, and what was entered kept, as text.
func TestConsoleUserRefusals(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	p.AddConsoleUser(t, domain.Admin)
	c := ledgetest.NewConsoleClient(p)
	c.Login(t, "test-admin", ledgetest.ConsolePassword)
	for _, tt := range []struct {
		path string
		form url.Values
		want string
	}{
		{"/users", url.Values{"name": {hostile}, "role": {"viewer"}, "new-password": {ledgetest.ConsolePassword}}, "f-name-error"},
		{"/users", url.Values{"name": {"test-admin"}, "role": {"viewer"}, "new-password": {ledgetest.ConsolePassword}}, "exists already"},
		{"/users", url.Values{"name": {"x"}, "role": {hostile}, "new-password": {ledgetest.ConsolePassword}}, "f-role-error"},
		{"/tokens", url.Values{"token-name": {"x"}, "token-role": {"viewer"}, "days": {"0"}}, "f-days-error"},
		{"/tokens", url.Values{"token-name": {hostile}, "token-role": {"viewer"}}, "f-token-name-error"},
		{"/users/test-admin/password", url.Values{"new-password": {"short"}}, "f-new-password-error"},
		{"/users/test-admin/role", url.Values{"role": {hostile}}, "f-role-error"},
	} {
		got := c.Post(tt.path, tt.form)
		if got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got.Text, tt.want) {
			t.Errorf("%s %v: %s, want 422 with %q", tt.path, tt.form, got.Status, tt.want)
		}
		if strings.Contains(got.Text, "<script>alert") || strings.Contains(got.Text, "<img src=x") {
			t.Errorf("%s: hostile text is not text", tt.path)
		}
	}
	if got := c.Post("/users/admin/remove", nil); got.StatusCode != http.StatusSeeOther {
		t.Fatalf("remove the other admin: %s\n%s", got.Status, got.Text)
	}
	for _, path := range []string{"/users/test-admin/remove", "/users/test-admin/role"} {
		if got := c.Post(path, url.Values{"role": {"viewer"}}); got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got.Text, "role=\"alert\"") {
			t.Errorf("%s of the last admin: %s", path, got.Status)
		}
	}
	if got := c.Get("/users/nobody"); got.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown user: %s", got.Status)
	}
}

// TestConsoleWords reads what pages say in a few places where they were misread.
func TestConsoleWords(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	c := p.NewRole(t, domain.Admin)
	user := url.Values{"name": {"anna"}, "role": {"viewer"}, "new-password": {ledgetest.ConsolePassword}, "mustChange": {"on"}}
	ledgetest.Want(c.Post("/users", user), t, http.StatusSeeOther)
	anna := ledgetest.NewConsoleClient(p)
	anna.Login(t, "anna", ledgetest.ConsolePassword)
	ledgetest.Want(anna.Get("/profiles?model=M"), t, http.StatusSeeOther)
	ledgetest.Want(anna.Get("/account"), t, http.StatusOK, "An administrator set this password; choose your own.")
	changed := anna.Post("/account/password", url.Values{"old": {ledgetest.ConsolePassword}, "new": {"another password"}, "again": {"another password"}})
	if to := changed.Header.Get("Location"); to != "/profiles?model=M" {
		t.Errorf("after the change of the password the console leads to %q", to)
	}
	ledgetest.Want(anna.Get("/account"), t, http.StatusOK, "<strong>viewer</strong>, which reads; no ledger, no users and tokens.")
	token := url.Values{"token-name": {"gate"}, "token-role": {"poster"}, "devices": {"sample-image, gate-cam-l, dock-*"}}
	ledgetest.Want(c.Post("/tokens", token), t, http.StatusSeeOther)
	ledgetest.Want(c.Get("/users"), t, http.StatusOK, "The token gate is created. There is no such device now: gate-cam-l.")
	ledgetest.Want(anna.Get("/devices/+add"), t, http.StatusForbidden, `role="alert">Your role is viewer; this needs the role operator or admin.`)
	ledgetest.Want(c.Get("/system"), t, http.StatusOK, "The API is open: it needs no login.")
	if text := c.Get("/services/device-rest").Text; strings.Contains(text, "/services/device-rest/delete") || strings.Contains(text, "Last connected") {
		t.Error("the page offers to delete the built-in service, or says when it connected")
	}
}

// unfold opens the form that sends to a path. A click could miss it: parts above it load anew, and move it.
func (b *tab) unfold(action string) {
	b.Helper()
	b.until(`document.querySelector("details:has([action='` + action + `'])").open = true`)
}

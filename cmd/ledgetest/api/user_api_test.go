package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/services"
	"ledge/cmd/ledgetest"
	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/metadata"
)

// identityAPI sends requests for users and tokens to a program in secure mode.
type identityAPI struct{ *ledgetest.Secured }

// do sends a request with a token and returns the answer, with the statuses of its elements.
func (a identityAPI) do(token, method, path, body string) (got ledgetest.Answer, elements []int) {
	a.TB.Helper()
	got = a.Send(token, method, a.Metadata+"/api/v2"+path, "application/json", body)
	if got.Status == http.StatusMultiStatus {
		elements = ledgetest.Statuses(got)
	}
	return got, elements
}

// want sends a request and holds its status, that of its one element where it is a batch.
func (a identityAPI) want(status int, says, token, method, path, body string) ledgetest.Answer {
	a.TB.Helper()
	got, elements := a.do(token, method, path, body)
	is := got.Status
	if len(elements) == 1 {
		is = elements[0]
	}
	if is != status || !strings.Contains(got.Body, says) {
		a.TB.Errorf("%s %s: %d %s, want %d with %q", method, path, got.Status, got.Body, status, says)
	}
	return got
}

func userJSON(name string, role domain.Role, password string) string {
	return fmt.Sprintf(`{"apiVersion":"v2","user":{"name":%q,"role":%q,"password":%q}}`, name, role, password)
}

func ownPasswordJSON(old, fresh string) string {
	return fmt.Sprintf(`{"apiVersion":"v2","oldPassword":%q,"newPassword":%q}`, old, fresh)
}

// mustToken returns the token in an answer.
func mustToken(t *testing.T, got ledgetest.Answer) string {
	t.Helper()
	var one struct{ Token string }
	err := json.Unmarshal([]byte(strings.Trim(got.Body, "[]\n")), &one)
	if err != nil || one.Token == "" {
		t.Fatalf("no token in %s: %v", got.Body, err)
	}
	return one.Token
}

// TestUserAPI adds, changes and removes users and tokens of a node in secure mode. What was valid before a change is not after it, and no
// file but the secret store, no answer and no line of a log has a secret.
func TestUserAPI(t *testing.T) {
	t.Parallel()
	a := identityAPI{ledgetest.StartSecured(t, "--log-level", "debug")}
	admin := a.Tokens[domain.Admin]
	const first, second, third = "first-secret-4711", "second-secret-4711", "third-secret-4711"

	a.want(201, "", admin, "POST", "/user", "["+userJSON("anna", domain.Operator, first)+"]")
	a.want(409, "exists already", admin, "POST", "/user", "["+userJSON("anna", domain.Operator, first)+"]")
	if got, _ := a.do(admin, "GET", "/user/name/anna", ""); !strings.Contains(got.Body, `"mustChange":true`) || strings.Contains(got.Body, "credential") {
		t.Errorf("the new user: %s", got.Body)
	}
	login := func(password string, status int) string {
		t.Helper()
		token, got := a.Login("anna", password)
		if got.Status != status {
			t.Errorf("the login with %s: %d %s", password, got.Status, got.Body)
		}
		return token
	}
	operator := login(first, 200)
	const change = `[{"apiVersion":"v2","device":{"name":"sample-image","labels":["a"]}}]`
	a.want(200, "", operator, "PATCH", "/device", change)
	a.want(200, "", admin, "PATCH", "/user", `[{"apiVersion":"v2","user":{"name":"anna","role":"viewer"}}]`)
	a.want(403, "user:anna is a viewer", operator, "PATCH", "/device", change)
	a.want(200, "", admin, "PATCH", "/user", "["+strings.Replace(userJSON("anna", "", second), `"role":"",`, "", 1)+"]")
	a.want(401, "log in again", operator, "GET", "/user/me", "")
	login(first, 401)
	own := login(second, 200)
	a.want(200, "log in with the new password", own, "PUT", "/user/me/password", ownPasswordJSON(second, third))
	a.want(401, "log in again", own, "GET", "/user/me", "")
	own = login(third, 200)
	a.want(200, `"mustChange":false`, own, "GET", "/user/me", "")
	a.want(200, "", admin, "DELETE", "/user/name/anna", "")
	a.want(401, "log in again", own, "GET", "/user/me", "")
	a.want(404, "", admin, "DELETE", "/user/name/anna", "")
	a.want(409, "is the last one with the role admin", admin, "DELETE", "/user/name/admin", "")
	a.want(409, "is the last one with the role admin", admin, "PATCH", "/user", `[{"apiVersion":"v2","user":{"name":"admin","role":"viewer"}}]`)

	one := mustToken(t, a.want(201, "", admin, "POST", "/token", `[{"apiVersion":"v2","token":{"name":"reader","role":"viewer"}}]`))
	a.want(200, "", one, "GET", "/device/all", "")
	two := mustToken(t, a.want(200, "", admin, "POST", "/token/name/reader/rotate", `{"apiVersion":"v2","overlap":"24h"}`))
	a.want(200, "", one, "GET", "/device/all", "")
	a.want(200, "", two, "GET", "/device/all", "")
	three := mustToken(t, a.want(200, "", admin, "POST", "/token/name/reader/rotate", `{"apiVersion":"v2","overlap":"0"}`))
	a.want(401, "", one, "GET", "/device/all", "")
	a.want(401, "", two, "GET", "/device/all", "")
	a.want(200, "", three, "GET", "/device/all", "")
	a.want(200, `"lastUsed":`, admin, "GET", "/token/name/reader", "")
	a.want(200, "", admin, "DELETE", "/token/name/reader", "")
	a.want(401, "", three, "GET", "/device/all", "")

	lists := a.want(200, "", admin, "GET", "/user/all", "").Body + a.want(200, "", admin, "GET", "/token/all", "").Body
	log := ledgetest.MustRunOn(t, a.Dir, "", "log")
	for _, want := range []string{"user anna added", "user anna password", "user anna removed", "token reader rotated", "token:a-admin", "user:anna"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not have %q:\n%s", want, log)
		}
	}
	a.Stop()
	secrets := []string{first, second, third, one, two, three}
	for _, secret := range secrets {
		if strings.Contains(lists+log+a.Log.String(), secret) {
			t.Errorf("a list or a log has %s", secret)
		}
	}
	ledgetest.WantNowhere(t, a.Dir, secrets...)
}

// TestUserAPIAttacks tries what an attacker, a thief of a session or a wrong script would.
func TestUserAPIAttacks(t *testing.T) {
	t.Parallel()
	a := identityAPI{ledgetest.StartSecured(t, "--log-level", "debug")}
	admin := a.Tokens[domain.Admin]
	const secret = "correct horse battery"
	count := func() string { return a.want(200, `"totalCount":`, admin, "GET", "/user/all?limit=1", "").Body }
	before := count()
	var many []string
	for n := range 1000 {
		many = append(many, userJSON(fmt.Sprint("u-", n), domain.Viewer, secret))
	}
	a.want(413, "more than 100 elements", admin, "POST", "/user", "["+strings.Join(many, ",")+"]")
	a.want(400, "257 bytes long", admin, "POST", "/user", "["+userJSON(strings.Repeat("n", 257), domain.Viewer, secret)+"]")
	a.want(413, "", admin, "POST", "/user", "["+userJSON(strings.Repeat("n", 2<<20), domain.Viewer, secret)+"]")
	a.want(400, "use at least 10", admin, "POST", "/user", "["+userJSON("weak", domain.Viewer, "short")+","+userJSON("fine", domain.Viewer, secret)+"]")
	a.want(400, "too easy to guess", admin, "POST", "/user", "["+userJSON("weak", domain.Viewer, "Basketball")+"]")
	a.want(400, "use at most 1024", admin, "POST", "/user", "["+userJSON("weak", domain.Viewer, strings.Repeat("p", 1025))+"]")
	if got := count(); got != before {
		t.Errorf("after refusals there are %s, want %s", got, before)
	}
	got, elements := a.do(admin, "POST", "/user", "["+strings.Join(many[:100], ",")+"]")
	if len(elements) != 100 || slices.Max(elements) != 201 || slices.Min(elements) != 201 {
		t.Errorf("100 users: %d %s", got.Status, got.Body)
	}

	a.want(201, "", admin, "POST", "/user", "["+userJSON("victor", domain.Viewer, secret)+"]")
	viewer, _ := a.Login("victor", secret)
	for route, right := range routesOfUsers(t) {
		method, path, _ := strings.Cut(route, " ")
		body := map[string]string{"PUT": ownPasswordJSON("x", secret)}[method]
		if right == domain.MayAdminister {
			a.want(403, "needs the role admin", viewer, method, path, "")
			a.want(403, "needs the role admin", a.Tokens[domain.Operator], method, path, "")
		} else {
			a.want(403, "token:a-admin is not a user", admin, method, path, body)
		}
		a.want(401, "a login is needed", "", method, path, body)
	}

	limited := false
	for range 20 { // of a stolen session
		got, _ := a.do(viewer, "PUT", "/user/me/password", ownPasswordJSON("a wrong guess", "another password"))
		if limited = got.Status == http.StatusTooManyRequests && got.Header.Get("Retry-After") != ""; limited {
			break
		}
		if got.Status != http.StatusBadRequest || !strings.Contains(got.Body, "oldPassword: is wrong") {
			t.Fatalf("a wrong old password: %d %s", got.Status, got.Body)
		}
	}
	if !limited {
		t.Error("a stolen session can guess without end")
	}
	a.want(429, "", viewer, "PUT", "/user/me/password", ownPasswordJSON(secret, "another password"))

	a.want(201, "", admin, "POST", "/user", "["+userJSON("zoe", domain.Admin, secret)+"]")
	zoe, _ := a.Login("zoe", secret)
	a.want(200, "", zoe, "DELETE", "/user/name/zoe", "")
	a.want(401, "", zoe, "GET", "/user/all", "")
	a.Stop()
	if strings.Contains(a.Log.String(), secret) {
		t.Error("the log of the program has a password")
	}
}

// routesOfUsers are the routes of users and tokens, with values for their parameters and the right of each.
func routesOfUsers(t *testing.T) map[string]domain.Right {
	t.Helper()
	found := map[string]domain.Right{}
	service := metadata.New(handlers.Options{Service: services.Metadata}, nil, nil, nil, metadata.Ledger{}).(*handlers.Service)
	for _, route := range service.Routes() {
		path := strings.TrimPrefix(route.Path, "/api/v2")
		if strings.HasPrefix(path, "/user") || strings.HasPrefix(path, "/token") {
			found[route.Method+" "+strings.ReplaceAll(path, ":name", "admin")] = route.Right
		}
	}
	if len(found) != 12 {
		t.Fatalf("got %v, want 12 routes", found)
	}
	return found
}

// TestFirstLoginChangesPassword holds that a user whose password an administrator gave is made to change it, and that no other page
// answers before. It is so after the API, the form of a new user and the form of a new password.
func TestFirstLoginChangesPassword(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	p.AddConsoleUser(t, domain.Admin)
	token := strings.TrimSpace(ledgetest.MustRunOn(t, p.Dir, "", "token", "create", "root", "--role", "admin"))
	browser := ledgetest.NewConsoleClient(p)
	browser.Login(t, "test-admin", ledgetest.ConsolePassword)
	const given, chosen = "given by an administrator", "chosen by the user"
	api := func(method, body string) {
		t.Helper()
		got := p.Call(method, p.Metadata+"/api/v2/user", "application/json", body, "Authorization", "Bearer "+token)
		if all := ledgetest.Statuses(got); len(all) != 1 || all[0] > 201 {
			t.Fatalf("%s: %d %s", method, got.Status, got.Body)
		}
	}
	for name, give := range map[string]func(name string){
		"api": func(name string) { api("POST", "["+userJSON(name, domain.Admin, given)+"]") },
		"form": func(name string) {
			browser.Post("/users", url.Values{"name": {name}, "role": {"admin"}, "new-password": {given}, "mustChange": {"on"}})
		},
		"reset-api": func(name string) {
			ledgetest.MustRunOn(t, p.Dir, chosen+"\n", "user", "add", name, "--role", "admin")
			before := ledgetest.NewConsoleClient(p)
			before.Login(t, name, chosen)
			api("PATCH", `[{"apiVersion":"v2","user":{"name":"`+name+`","password":"`+given+`"}}]`)
			if got := before.Get("/devices"); !strings.HasPrefix(got.Header.Get("Location"), "/login") {
				t.Errorf("the session of before the change: %s to %q", got.Status, got.Header.Get("Location"))
			}
		},
		"reset-form": func(name string) {
			ledgetest.MustRunOn(t, p.Dir, chosen+"\n", "user", "add", name, "--role", "admin")
			browser.Post("/users/"+name+"/password", url.Values{"new-password": {given}})
		},
	} {
		give(name)
		c := ledgetest.NewConsoleClient(p)
		c.Login(t, name, given)
		for route, right := range ledgetest.ConsoleRoutes() {
			method, path, _ := strings.Cut(route, " ")
			if right == handlers.Public || strings.HasPrefix(path, "/account") || path == "/logout" || path == "/login" {
				continue
			}
			got := c.Send(method, strings.NewReplacer(":", "x").Replace(path), nil)
			if got.StatusCode != http.StatusSeeOther || got.Header.Get("Location") != "/account" {
				t.Errorf("%s: %s before the change of the password: %s to %q", name, route, got.Status, got.Header.Get("Location"))
			}
		}
		if got := c.Get("/account"); got.StatusCode != http.StatusOK {
			t.Errorf("%s: the page that changes the password: %s", name, got.Status)
		}
		if got := c.Post("/account/password", url.Values{"old": {given}, "new": {given}, "again": {given}}); got.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s: the given password again: %s", name, got.Status)
		}
		if got := c.Post("/account/password", url.Values{"old": {given}, "new": {chosen + " now"}, "again": {chosen + " now"}}); got.StatusCode != http.StatusSeeOther {
			t.Errorf("%s: the change: %s\n%s", name, got.Status, got.Text)
		}
		if got := c.Get("/devices"); got.StatusCode != http.StatusOK {
			t.Errorf("%s: after the change: %s", name, got.Status)
		}
	}
	got := p.Call("POST", p.Metadata+"/api/v2/user", "application/json", "["+userJSON("x", domain.Admin, given)+"]")
	if got.Status != http.StatusUnauthorized || !strings.Contains(got.Body, "a login is needed") {
		t.Errorf("without a login in open mode: %d %s", got.Status, got.Body)
	}
}

// TestUserAPIRestart holds that users and tokens of the API are on record, and that the file of the first password goes.
func TestUserAPIRestart(t *testing.T) {
	t.Parallel()
	a := identityAPI{ledgetest.StartSecured(t)}
	admin := a.Tokens[domain.Admin]
	a.want(200, "", admin, "PATCH", "/user", `[{"apiVersion":"v2","user":{"name":"admin","password":"correct horse battery"}}]`)
	if left, _ := filepath.Glob(filepath.Join(a.Dir, datadir.AdminPasswordFile)); len(left) > 0 {
		t.Error("the file of the first password is still there")
	}
	reader := mustToken(t, a.want(201, "", admin, "POST", "/token", `[{"apiVersion":"v2","token":{"name":"reader","role":"viewer"}}]`))
	a.Kill()
	a.Node = ledgetest.Start(t, a.Dir, "--secure")
	a.Trust(t)
	a.want(200, "", reader, "GET", "/device/all", "")
	if _, got := a.Login("admin", "correct horse battery"); got.Status != http.StatusOK {
		t.Errorf("after a restart: %d %s", got.Status, got.Body)
	}
}

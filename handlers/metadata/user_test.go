package metadata

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/handlerstest"
)

const goodPassword = "correct horse battery"

// mustUsers returns core-metadata as the administrator anna sees it. There is no other one.
func mustUsers(tb testing.TB) (http.Handler, *handlerstest.Log) {
	h, log := mustMetadata(tb)
	log.Given(tb,
		domain.AddUser{User: domain.User{Name: "anna", Role: domain.Admin, Credential: "c-1", Created: 5, Modified: 5}},
		domain.AddUser{User: domain.User{Name: "ben", Role: domain.Viewer, Credential: "c-2", MustChange: true, Created: 6, Modified: 7}},
		domain.AddToken{Token: domain.Token{Name: "pos-7", Role: domain.Poster, Devices: []string{"cam-*"}, Credential: "c-3", Created: 8}},
		domain.AddToken{Token: domain.Token{Name: "cam-1", Role: domain.Poster, Certificate: true, Created: 9}},
	)
	return as(h, domain.Identity{Actor: "user:anna", Role: domain.Admin, Credential: "c-1"}), log
}

func newUser(name, role, password string) string {
	return fmt.Sprintf(`{"apiVersion":"v2","user":{"name":%q,"role":%q,"password":%q}}`, name, role, password)
}

func TestUsers(t *testing.T) {
	const all, one, tokens = "/api/v2/user", "/api/v2/user/name/", "/api/v2/token"
	h, log := mustUsers(t)
	many := strings.Repeat(newUser("x", "viewer", goodPassword)+",", 1000)
	ben := `{"apiVersion":"v2","statusCode":200,"user":{"created":6,"modified":7,"name":"ben","role":"viewer","mustChange":true}}` + "\n"
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "list", Method: "GET", Path: all + "/all?limit=1", Status: 200, WantBody: `{"apiVersion":"v2","statusCode":200,"totalCount":2,"users":[` + ben[len(`{"apiVersion":"v2","statusCode":200,"user":`):len(ben)-2] + "]}\n"},
		{Name: "get", Method: "GET", Path: one + "ben", Status: 200, WantBody: ben},
		{Name: "who am I", Method: "GET", Path: all + "/me", Status: 200, Contains: []string{`"name":"anna"`}},
		{Name: "weak", Method: "POST", Path: all, Body: "[" + newUser("zoe", "viewer", "short-4711"[:9]) + "]", Status: 400, Contains: []string{`[0].user.password: has 9 characters; use at least 10`}},
		{Name: "common", Method: "POST", Path: all, Body: "[" + newUser("zoe", "viewer", "Basketball") + "]", Status: 400, Contains: []string{`[0].user.password: is too easy to guess`}},
		{Name: "long name", Method: "POST", Path: all, Body: "[" + newUser(strings.Repeat("n", 257), "viewer", goodPassword) + "]", Status: 400, Contains: []string{`[0].user.name: `, "257 bytes long"}},
		{Name: "bad name", Method: "POST", Path: all, Body: "[" + newUser("a.b", "viewer", goodPassword) + "]", Status: 400, Contains: []string{`[0].user.name: \"a.b\" has the character`}},
		{Name: "role", Method: "POST", Path: all, Body: "[" + newUser("zoe", "root", goodPassword) + "]", Status: 400, Contains: []string{`[0].user.role: \"root\" is unknown; use one of viewer`}},
		{Name: "number", Method: "POST", Path: all, Body: `[{"apiVersion":"v2","user":{"name":"zoe","role":"viewer","password":1234567890123}}]`, Status: 400, Contains: []string{"[0].user.password: a JSON number is not possible here"}},
		{Name: "too many", Method: "POST", Path: all, Body: "[" + strings.TrimSuffix(many, ",") + "]", Status: 413, Contains: []string{"more than 100 elements"}},
		{Name: "key", Method: "POST", Path: all, Header: []string{"Idempotency-Key: k"}, Body: "[" + newUser("zoe", "viewer", goodPassword) + "]", Status: 400, Contains: []string{"Idempotency-Key: is not possible"}},
		{Name: "key for a token", Method: "POST", Path: tokens, Header: []string{"Idempotency-Key: k"}, Body: "[]", Status: 400, Contains: []string{"Idempotency-Key: is not possible"}},
		{Name: "key for a rotation", Method: "POST", Path: tokens + "/name/pos-7/rotate", Header: []string{"Idempotency-Key: k"}, Body: "{}", Status: 400, Contains: []string{"Idempotency-Key: is not possible"}},
		{Name: "two", Method: "POST", Path: all, Body: "[" + newUser("ben", "viewer", goodPassword) + "," + newUser("zoe", "poster", goodPassword) + "]", Status: 207, Submits: 1,
			Contains: []string{`user name \"ben\" exists already`, `"statusCode":409`, `"statusCode":201}`}},
		{Name: "neither", Method: "PATCH", Path: all, Body: `[{"apiVersion":"v2","user":{"name":"ben"}}]`, Status: 400, Contains: []string{"[0].user.role: is missing, and password too"}},
		{Name: "both", Method: "PATCH", Path: all, Body: `[{"apiVersion":"v2","user":{"name":"ben","role":"admin","password":"` + goodPassword + `"}}]`, Status: 400, Contains: []string{"send two elements"}},
		{Name: "nobody", Method: "PATCH", Path: all, Body: `[{"apiVersion":"v2","user":{"role":"admin"}}]`, Status: 400, Contains: []string{"[0].user.name: is missing"}},
		{Name: "weak change", Method: "PATCH", Path: all, Body: `[{"apiVersion":"v2","user":{"name":"ben","password":"short"}}]`, Status: 400, Contains: []string{"[0].user.password: has 5 characters"}},
		{Name: "last admin", Method: "PATCH", Path: all, Body: `[{"apiVersion":"v2","user":{"name":"anna","role":"viewer"}}]`, Status: 207, Submits: 1, Contains: []string{"is the last one with the role admin", `"statusCode":409`}},
		{Name: "stale", Method: "PATCH", Path: all, Header: []string{`If-Match: "1"`}, Body: `[{"apiVersion":"v2","user":{"name":"ben","password":"` + goodPassword + `"}}]`, Status: 412, Submits: 1},
		{Name: "role changes", Method: "PATCH", Path: all, Body: `[{"apiVersion":"v2","user":{"name":"ben","role":"auditor"}}]`, Status: 207, Submits: 1, Contains: []string{`"statusCode":200`}},
		{Name: "remove the last admin", Method: "DELETE", Path: one + "anna", Status: 409, Submits: 1, Contains: []string{"is the last one with the role admin"}},
		{Name: "remove nobody", Method: "DELETE", Path: one + "nobody", Status: 404, Submits: 1},
		{Name: "remove", Method: "DELETE", Path: one + "zoe", Status: 200, Submits: 1},
	})
	if u, _ := lastView(log).State.Users.Get("ben"); u.Role != domain.Auditor {
		t.Errorf("got %+v", u)
	}
	wantNotOnLog(t, log, goodPassword)
}

// lastView reads without a look at what is written meanwhile.
func lastView(log *handlerstest.Log) domain.View {
	v, done := log.View()
	done()
	return v
}

// wantNotOnLog holds that no event has a secret, and no key, from which it could be guessed.
func wantNotOnLog(t *testing.T, log *handlerstest.Log, secret string) {
	t.Helper()
	for _, r := range log.Recorded() {
		text, err := json.Marshal(r)
		if err != nil || strings.Contains(string(text), secret) {
			t.Errorf("%v: %s", err, text)
		}
		if _, ok := r.Event.(domain.RequestAnswered); ok {
			t.Errorf("the log has a digest of a request: %s", text)
		}
	}
}

func TestOwnPassword(t *testing.T) {
	const path = "/api/v2/user/me/password"
	body := func(old, fresh string) string {
		return fmt.Sprintf(`{"apiVersion":"v2","oldPassword":%q,"newPassword":%q}`, old, fresh)
	}
	h, log := mustUsers(t)
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "wrong", Method: "PUT", Path: path, Body: body("wrong", goodPassword), Status: 400, Contains: []string{"oldPassword: is wrong"}},
		{Name: "none", Method: "PUT", Path: path, Body: body("", "x"), Status: 400, Contains: []string{"oldPassword: is missing", "newPassword: has 1 characters"}},
		{Name: "the same", Method: "PUT", Path: path, Body: body(goodPassword, goodPassword), Status: 400, Contains: []string{"newPassword: is the old password"}},
		{Name: "good", Method: "PUT", Path: path, Body: body("old password", goodPassword), Status: 200, Submits: 1, Contains: []string{"log in with the new password"}},
	})
	for _, id := range []domain.Identity{{Actor: "token:pos-7", Role: domain.Poster, Credential: "c-3"}, {Actor: "cert:cam-1", Role: domain.Poster}, {Actor: "jwt:user:anna", Role: domain.Admin}} {
		h, log := mustMetadata(t)
		for method, path := range map[string]string{"PUT": path, "GET": "/api/v2/user/me"} {
			w := handlerstest.Serve(as(h, id), method, path, body("old password", goodPassword))
			if w.Code != 403 || !strings.Contains(w.Body.String(), id.Actor+" is not a user") || log.Submits() > 0 {
				t.Errorf("%s: %d %s", id.Actor, w.Code, w.Body)
			}
		}
	}
	h, _ = mustMetadata(t)
	gone := as(h, domain.Identity{Actor: "user:gone", Role: domain.Viewer})
	if w := handlerstest.Serve(gone, "GET", "/api/v2/user/me", ""); w.Code != 403 || !strings.Contains(w.Body.String(), "was removed") {
		t.Errorf("a user that was removed: %d %s", w.Code, w.Body)
	}
	wantNotOnLog(t, log, goodPassword)
}

func TestTokens(t *testing.T) {
	const all, rotate = "/api/v2/token", "/api/v2/token/name/pos-7/rotate"
	h, log := mustUsers(t)
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "list", Method: "GET", Path: all + "/all", Status: 200, Contains: []string{`"totalCount":2`, `"name":"pos-7","role":"poster","devices":["cam-*"],"lastUsed":`, `"certificate":true`}},
		{Name: "patterns", Method: "POST", Path: all, Body: `[{"apiVersion":"v2","token":{"name":"x","role":"viewer","devices":["a"]}}]`, Status: 400, Contains: []string{"[0].token.devices: has patterns"}},
		{Name: "expired", Method: "POST", Path: all, Body: `[{"apiVersion":"v2","token":{"name":"x","role":"viewer","expires":1}}]`, Status: 400, Contains: []string{"[0].token.expires: 1 is not after"}},
		{Name: "long name", Method: "POST", Path: all, Body: `[{"apiVersion":"v2","token":{"name":"` + strings.Repeat("n", 257) + `","role":"viewer"}}]`, Status: 400, Contains: []string{"[0].token.name: "}},
		{Name: "add", Method: "POST", Path: all, Body: `[{"apiVersion":"v2","token":{"name":"a","role":"viewer"}},{"apiVersion":"v2","token":{"name":"pos-7","role":"viewer"}},{"apiVersion":"v2","token":{"name":"c","role":"viewer","certificate":true}}]`,
			Status: 207, Submits: 1, Contains: []string{`"statusCode":201,"token":"ledge_a_`, `,"statusCode":409},`, `"statusCode":201}]`}},
		{Name: "bad overlap", Method: "POST", Path: rotate, Body: `{"apiVersion":"v2","overlap":"soon"}`, Status: 400, Contains: []string{`overlap: \"soon\" is not a duration`}},
		{Name: "long overlap", Method: "POST", Path: rotate, Body: `{"apiVersion":"v2","overlap":"P40000D"}`, Status: 400, Contains: []string{`overlap: 960000h0m0s; give a time from 0 to 36500 days`}},
		{Name: "rotate", Method: "POST", Path: rotate, Body: `{"apiVersion":"v2"}`, Status: 200, Submits: 1, Contains: []string{`"token":"ledge_pos-7_`}},
		{Name: "rotated", Method: "GET", Path: all + "/name/pos-7", Status: 200, Contains: []string{fmt.Sprintf(`"oldUntil":%d`, int64(handlerstest.NowMilli+24*60*60*1000))}},
		{Name: "rotate at once", Method: "POST", Path: rotate, Body: `{"apiVersion":"v2","overlap":"0"}`, Status: 200, Submits: 1},
		{Name: "rotate a certificate", Method: "POST", Path: all + "/name/cam-1/rotate", Body: `{"apiVersion":"v2"}`, Status: 409, Submits: 1, Contains: []string{"is a client certificate, which has no secret"}},
		{Name: "revoke", Method: "DELETE", Path: all + "/name/pos-7", Status: 200, Submits: 1},
		{Name: "revoked", Method: "GET", Path: all + "/name/pos-7", Status: 404},
	})
	wantNotOnLog(t, log, "ledge_a_")
}

// TestOpenModeAsksForLogin holds that nobody without a login changes who may use the console.
func TestOpenModeAsksForLogin(t *testing.T) {
	h, log := mustMetadata(t)
	s := New(handlerstest.Options("core-metadata"), nil, nil, nil, Ledger{}).(*handlers.Service)
	for _, route := range s.Routes() {
		method, path := route.Method, strings.ReplaceAll(route.Path, ":name", "anna")
		if !strings.HasPrefix(path, "/api/v2/user") && !strings.HasPrefix(path, "/api/v2/token") {
			continue
		}
		if w := handlerstest.Serve(h, method, path, ""); w.Code != 401 || !strings.Contains(w.Body.String(), "a login is needed") || log.Submits() > 0 {
			t.Errorf("%s: %d %s", route, w.Code, w.Body)
		}
	}
}

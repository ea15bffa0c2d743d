package security

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// held is a body of which nothing is sent before do has run. The server asks for it, with 100 Continue, when it has let the request in.
type held struct {
	io.Reader
	once sync.Once
	do   func()
}

func (h *held) Read(p []byte) (int, error) {
	h.once.Do(h.do)
	return h.Reader.Read(p)
}

// sendHeld is send whose body waits for do.
func sendHeld(t *testing.T, client *http.Client, r *http.Request, body string, do func()) (status int, text string) {
	t.Helper()
	transport := client.Transport.(*http.Transport).Clone()
	transport.ExpectContinueTimeout = ledgetest.Timeout
	defer transport.CloseIdleConnections()
	waited := false
	r.Body, r.ContentLength = io.NopCloser(&held{Reader: strings.NewReader(body), do: func() { waited = true; do() }}), int64(len(body))
	r.Header.Set("Expect", "100-continue")
	resp, err := (&http.Client{Transport: transport, Timeout: ledgetest.Timeout, CheckRedirect: client.CheckRedirect}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || !waited {
		t.Fatalf("%s %s: %d %s: %v; asked for the body: %t", r.Method, r.URL, resp.StatusCode, answer, err, waited)
	}
	return resp.StatusCode, string(answer)
}

// TestRequestOutlivesItsRight holds that no event has an actor who had no right at its sequence. Each request is let in, and its body
// comes when its token is revoked, its user removed or its role lowered. Before, all eleven were recorded.
func TestRequestOutlivesItsRight(t *testing.T) {
	t.Parallel()
	s := ledgetest.StartSecured(t)
	change := func(do ...string) func(string) { return func(name string) { s.Ledge(t, append(do, name)...) } }
	revoke, remove := change("token", "revoke"), change("user", "remove")
	password := ledgetest.MustWriteFile(t, "password", "pass-4711-of-tests\n")
	lower := func(name string) { s.Ledge(t, "user", "role", name, "--role", "viewer") }
	renew := func(name string) { s.Ledge(t, "user", "passwd", name, "--password-file", password) }
	again := func(name string) {
		revoke(name)
		s.CreateToken(t, name, domain.Operator, "")
	}
	devices := "[" + strings.TrimSuffix(strings.Repeat(`{"apiVersion":"v2","device":{"name":"sample-image","labels":["late"]}},`, 300), ",") + "]"
	notice := `[{"apiVersion":"v2","notification":{"category":"late","sender":"x","content":"late","severity":"NORMAL"}}]`
	event := `{"apiVersion":"v2","event":{"apiVersion":"v2","id":"3a4d3eb4-9c0c-4b4a-9a26-6d2f2d1a9c11","deviceName":"sample-image","profileName":"sample-image","sourceName":"jpeg","origin":1,
		"readings":[{"id":"3a4d3eb4-9c0c-4b4a-9a26-6d2f2d1a9c12","origin":1,"deviceName":"sample-image","resourceName":"jpeg","profileName":"sample-image","valueType":"Binary","mediaType":"image/jpeg","binaryValue":"/9j/"}]}}`
	for i, row := range []struct {
		method, url, contentType, body string
		login                          bool // of a user; else a token
		lose                           func(name string)
		says                           string
	}{
		{"PATCH", s.Metadata + "/api/v2/device", "application/json", devices, false, revoke, "revoked"},
		{"PATCH", s.Metadata + "/api/v2/device", "application/json", devices, false, again, "revoked"},
		{"PATCH", s.Metadata + "/api/v2/device", "application/json", devices, true, remove, "removed"},
		{"PATCH", s.Metadata + "/api/v2/device", "application/json", devices, true, lower, "viewer"},
		{"PATCH", s.Metadata + "/api/v2/device", "application/json", devices, true, renew, "password"},
		{"POST", s.DeviceREST + "/api/v2/resource/sample-image/jpeg", "image/jpeg", "\xff\xd8\xff\xe0 late", false, revoke, "revoked"},
		{"POST", s.DeviceREST + "/api/v2/resource/sample-image/jpeg", "image/jpeg", strings.Repeat("\xff\xd8\xff\xe0", 1<<17), true, lower, "viewer"},
		{"POST", s.CoreData + "/api/v2/event/sample-image/sample-image/jpeg", "application/json", event, false, revoke, "revoked"},
		{"POST", s.Notifications + "/api/v2/notification", "application/json", notice, true, remove, "removed"},
	} {
		name := "late-" + string(rune('a'+i))
		var token string
		if row.login {
			s.Ledge(t, "user", "add", name, "--role", "operator", "--password-file", password)
			token, _ = s.Login(name, "pass-4711-of-tests")
		} else {
			token = s.CreateToken(t, name, domain.Operator, "")
		}
		r, err := http.NewRequestWithContext(t.Context(), row.method, row.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", row.contentType)
		r.Header.Set("Authorization", "Bearer "+token)
		status, answer := sendHeld(t, s.Client, r, row.body, func() { row.lose(name) })
		if (status != http.StatusForbidden && status != http.StatusMultiStatus) || !strings.Contains(answer, row.says) || strings.Contains(answer, `"statusCode":20`) {
			t.Errorf("%s: %s %s: %d %.300s", name, row.method, row.url, status, answer)
		}
	}
	consoleOutlived(s, t)
	for line := range strings.Lines(s.Ledge(t, "log", "--json")) {
		if strings.Contains(line, `"actor":"token:late-`) || strings.Contains(line, `"actor":"user:late-`) {
			t.Errorf("recorded: %.300s", line)
		}
	}
}

// consoleOutlived sends forms of the console whose user is removed, or has another role, before the form is read.
func consoleOutlived(s *ledgetest.Secured, t *testing.T) {
	t.Helper()
	const password = "pass-4711-of-tests"
	file := ledgetest.MustWriteFile(t, "password", password+"\n")
	for _, row := range []struct {
		name, path string
		form       url.Values
		lose       []string
		want       int // a removed user is sent to the login; the log shows that nothing is done
	}{
		{"late-form", "/devices/sample-image/state", url.Values{"state": {"LOCKED"}}, []string{"user", "remove", "late-form"}, http.StatusSeeOther},
		{"late-admin", "/users", url.Values{"name": {"accomplice"}, "role": {"admin"}, "new-password": {password}}, []string{"user", "role", "late-admin", "--role", "viewer"}, http.StatusForbidden},
	} {
		s.Ledge(t, "user", "add", row.name, "--role", "admin", "--password-file", file)
		c := ledgetest.NewConsoleClient(s.Node)
		c.Client.Transport = s.Client.Transport
		c.Login(t, row.name, password)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Console+row.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.AddCookie(c.Cookie)
		if status, text := sendHeld(t, c.Client, r, row.form.Encode(), func() { s.Ledge(t, row.lose...) }); status != row.want {
			t.Errorf("%s: %d %.2000s", row.name, status, text)
		}
	}
}

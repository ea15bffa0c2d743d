package attack

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// TestAttackLogins has 32 addresses without credentials hold as many logins as they can, while others log in. Before, 65 of 66 honest logins were
// answered 503.
func TestAttackLogins(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	ledgetest.MustRunOn(t, p.Dir, ledgetest.ConsolePassword+"\n", "user", "add", "anna", "--role", "viewer")
	a := &attack{Node: p}
	const begun = "POST %s/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\n{"
	hold := func() {
		for n := range 32 {
			for range 3 {
				a.connect(t, fmt.Sprint("127.0.1.", n+1), strings.TrimPrefix(p.Metadata, "http://"), fmt.Sprintf(begun, "/api/v2"))
				a.connect(t, fmt.Sprint("127.0.1.", n+1), strings.TrimPrefix(p.Console, "http://"), fmt.Sprintf(begun, ""))
			}
		}
	}
	for range 5 {
		hold()
		client := clientAt(bystanderAddress)
		status, body, err := send(t.Context(), client, http.MethodPost, p.Metadata+"/api/v2/login", "application/json", `{"username":"anna","password":"`+ledgetest.ConsolePassword+`"}`)
		if err != nil || status != http.StatusOK {
			t.Errorf("a login at the service: %d %s %v", status, body, err)
		}
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		status, body, err = send(t.Context(), client, http.MethodPost, p.Console+"/login", "application/x-www-form-urlencoded", url.Values{"username": {"anna"}, "password": {ledgetest.ConsolePassword}}.Encode())
		if err != nil || status != http.StatusSeeOther {
			t.Errorf("a login at the console: %d %.300s %v", status, body, err)
		}
		client.CloseIdleConnections()
	}
}

// listen opens a live stream of a client of the console. Its context ends when the stream ends.
func listen(c *ledgetest.ConsoleClient, t *testing.T) (status int, ended context.Context) {
	t.Helper()
	told, status, err := c.Listen(t.Context(), "devices=")
	if err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	if told == nil {
		end()
		return status, ended
	}
	go func() {
		for range told { // until it ends
		}
		end()
	}()
	return status, ended
}

// TestAttackSessions has a viewer log in 40 times and open as many live streams as it may: the admin stays logged in and has a stream. What a user
// may not hear any more ends at once. Before, 1,000 logins ended all other sessions, a viewer had all 256 live pages, and a viewer who had become a
// poster, or had logged out, heard on for up to 20 s.
func TestAttackSessions(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	admin, viewer := ledgetest.NewConsoleClient(p), ledgetest.NewConsoleClient(p)
	for name, role := range map[string]domain.Role{"boss": domain.Admin, "eve": domain.Viewer} {
		ledgetest.MustRunOn(t, p.Dir, ledgetest.ConsolePassword+"\n", "user", "add", name, "--role", string(role))
	}
	admin.Login(t, "boss", ledgetest.ConsolePassword)
	viewer.Login(t, "eve", ledgetest.ConsolePassword)
	first := *viewer
	for range 40 {
		viewer.Cookie = nil
		viewer.Login(t, "eve", ledgetest.ConsolePassword)
	}
	if got := first.Get("/devices").StatusCode; got != http.StatusSeeOther {
		t.Errorf("the first of 41 sessions of a user: %d, want the login", got)
	}
	var live []context.Context
	for len(live) < 300 {
		status, ended := listen(viewer, t)
		if status != http.StatusOK {
			break
		}
		live = append(live, ended)
	}
	status, listens := listen(admin, t)
	if status != http.StatusOK || len(live) != 256 {
		t.Fatalf("the live page of the admin: %d, beside %d of the viewer", status, len(live))
	}
	<-live[0].Done() // gave way
	ledgetest.MustRunOn(t, p.Dir, "", "user", "role", "eve", "--role", "poster")
	<-live[len(live)-1].Done()
	ledgetest.MustRunOn(t, p.Dir, "", "user", "role", "eve", "--role", "viewer")
	if listens.Err() != nil {
		t.Error("the live page of the admin has ended")
	}
	status, ended := listen(viewer, t)
	viewer.Post("/logout", nil)
	if <-ended.Done(); status != http.StatusOK {
		t.Errorf("a live page before the logout: %d", status)
	}
}

// TestAttackRemovedUser begins requests of users and tokens that lose their rights before the body has ended. Before, a secret was stored 20 s after
// its user was removed.
func TestAttackRemovedUser(t *testing.T) {
	p := ledgetest.StartSecured(t)
	secret := `{"apiVersion":"v2","path":"evil","secretData":[{"key":"k","value":"v"}]}`
	for i, lose := range [][]string{{"token", "revoke"}, {"token", "rotate", "--overlap", "0"}} {
		name := fmt.Sprint("t-", i)
		token := p.CreateToken(t, name, domain.Operator, "")
		c, err := tls.Dial("tcp", strings.TrimPrefix(p.Notifications, "https://"), &tls.Config{InsecureSkipVerify: true, MinVersion: ledgetest.Client13})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST /api/v2/secret HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", token, len(secret))
		in := bufio.NewReader(c)
		if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") { // the service reads the body
			t.Fatal(line, err)
		}
		_, _ = in.ReadString('\n')
		ledgetest.MustRunOn(t, p.Dir, "", append(lose, name)...)
		_, _ = io.WriteString(c, secret)
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusForbidden || !strings.Contains(string(body), "while the request was under way") {
			t.Errorf("%v: %d %s", lose, resp.StatusCode, body)
		}
	}
	if strings.Contains(p.Log.String(), "secret stored") {
		t.Error("a secret was stored")
	}
}

// TestAttackTrustedPage has the page of a trusted origin send a form of the console with the cookie of its user. Before, it added an administrator.
func TestAttackTrustedPage(t *testing.T) {
	const origin = "http://ui.example:4000"
	p := ledgetest.Start(t, t.TempDir(), "--trusted-origins", origin)
	ledgetest.MustRunOn(t, p.Dir, ledgetest.ConsolePassword+"\n", "user", "add", "boss", "--role", "admin")
	c := ledgetest.NewConsoleClient(p)
	c.Login(t, "boss", ledgetest.ConsolePassword)
	form := url.Values{"name": {"evil"}, "role": {"admin"}, "new-password": {ledgetest.ConsolePassword}}
	for path, method := range map[string]string{"/users": http.MethodPost, "/devices": http.MethodGet} {
		got := c.Send(method, path, form, "Origin", origin, "Sec-Fetch-Site", "same-site")
		if got.StatusCode != http.StatusForbidden || !strings.Contains(got.Text, "may not use the console") || got.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s %s: %d %s", method, path, got.StatusCode, got.Text)
		}
	}
	if users := ledgetest.MustRunOn(t, p.Dir, "", "user", "list"); strings.Contains(users, "evil") {
		t.Errorf("an administrator was added:\n%s", users)
	}
}

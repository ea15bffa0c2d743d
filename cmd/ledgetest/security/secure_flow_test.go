package security

import (
	"bytes"
	"context"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"ledge/bridge/porttest"
	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// TestSecureFlow starts secure mode on an empty folder and goes through the specification as operator and poster. Before each
// step, everybody who may not take it tries, and is refused with the role that is needed. The log names who did what, and no secret.
func TestSecureFlow(t *testing.T) {
	t.Parallel()
	s := ledgetest.StartSecured(t, "--log-level", "debug")
	port := porttest.Hold(t)
	for _, st := range s.Specification(port) {
		if a := s.Send("", st.Method, st.Url, st.ContentType, st.Body); a.Status != http.StatusUnauthorized || a.Header.Get("WWW-Authenticate") == "" || !strings.Contains(a.Body, `"statusCode":401`) {
			t.Errorf("%s without a login: %d %v %s", st.Name, a.Status, a.Header, a.Body)
		}
		for _, role := range domain.Roles() {
			if slices.Contains(st.Roles, role) {
				continue
			}
			a := s.Send(s.Tokens[role], st.Method, st.Url, st.ContentType, st.Body)
			if a.Status != http.StatusForbidden || !strings.Contains(a.Body, string(st.Roles[len(st.Roles)-1])) {
				t.Errorf("%s as %s: %d %s, want 403 with the roles %v", st.Name, role, a.Status, a.Body, st.Roles)
			}
		}
		a := s.Send(s.Tokens[st.Roles[0]], st.Method, st.Url, st.ContentType, st.Body)
		got := a.Status
		if all := ledgetest.Statuses(a); got == http.StatusMultiStatus && len(all) > 0 {
			got = all[0]
		}
		if got != st.Want {
			t.Fatalf("%s as %s: %d %s, want %d", st.Name, st.Roles[0], a.Status, a.Body, st.Want)
		}
		if st.Name == "subscribe" {
			sub := s.Subscribe(port, "t")
			defer func() {
				if topic, body := sub.Next(); topic != "t" || !strings.Contains(body, `"cam-1"`) {
					t.Errorf("got [%q, %s]", topic, body)
				}
			}()
		}
	}
	log, stderr, code := ledgetest.Run(t, "log", "--data-dir", s.Dir)
	if code != exit.OK {
		t.Fatalf("ledge log: %d %s", code, stderr)
	}
	for _, actor := range []string{"token:a-operator", "token:a-poster"} {
		if !strings.Contains(log, actor) {
			t.Errorf("the log does not name %s:\n%s", actor, log)
		}
	}
	config := s.Send(s.Tokens[domain.Admin], http.MethodGet, s.Metadata+"/api/v2/config", "", "").Body
	s.Stop()
	secrets := append(slices.Collect(mapsValues(s.Tokens)), ledgetest.MailPassword)
	for _, secret := range secrets {
		for name, text := range map[string]string{"ledge log": log, "the program's log": s.Log.String(), "GET /config": config} {
			if strings.Contains(text, secret) {
				t.Errorf("%s has a secret", name)
			}
		}
	}
	wantNoSecret(t, s.Dir, secrets)
}

func mapsValues(m map[domain.Role]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}

// wantNoSecret holds that no file of a data folder but the secret store has one of the texts.
func wantNoSecret(t *testing.T, dir string, texts []string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == "secrets.json" {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		for _, text := range texts {
			if bytes.Contains(b, []byte(text)) {
				t.Errorf("%s has a secret", path)
			}
		}
		return err
	})
	if err != nil || files < 5 {
		t.Errorf("%d files: %v", files, err)
	}
}

// TestPosterPattern holds that a poster posts to its devices only, whatever they are called in the path.
func TestPosterPattern(t *testing.T) {
	t.Parallel()
	s := ledgetest.StartSecured(t)
	poster := s.CreateToken(t, "pos-7", domain.Poster, "sample-*")
	for device, want := range map[string]int{"sample-numeric": http.StatusOK, "cam-1": http.StatusForbidden, "Sample-numeric": http.StatusForbidden, "cam-1%2f..%2fsample-numeric": http.StatusNotFound} {
		a := s.Send(poster, http.MethodPost, s.DeviceREST+"/api/v2/resource/"+device+"/int", "text/plain", "42")
		if a.Status != want {
			t.Errorf("%s: %d %s, want %d", device, a.Status, a.Body, want)
		}
	}
	event := func(device string) string {
		return `{"apiVersion":"v2","event":{"apiVersion":"v2","id":"` + "0b0a6ab0-6b2f-4a54-a5f4-3b9e0b6f8a10" + `","deviceName":"` + device + `","profileName":"sample-numeric","sourceName":"int","origin":1,"readings":[{"deviceName":"` + device + `","resourceName":"int","profileName":"sample-numeric","origin":1,"valueType":"Int32","value":"1"}]}}`
	}
	if a := s.Send(poster, http.MethodPost, s.CoreData+"/api/v2/event/sample-numeric/sample-numeric/int", "application/json", event("cam-1")); a.Status < 400 {
		t.Errorf("an event of another device than in the path: %d %s", a.Status, a.Body)
	}
	if a := s.Send(poster, http.MethodPost, s.CoreData+"/api/v2/event/p/cam-1/int", "application/json", event("cam-1")); a.Status != http.StatusForbidden {
		t.Errorf("an event of another device: %d %s", a.Status, a.Body)
	}
}

// TestRevoked holds that a token that is revoked, a user that is removed, and a password that is changed end at once.
func TestRevoked(t *testing.T) {
	t.Parallel()
	s := ledgetest.StartSecured(t)
	get := func(token string) int {
		return s.Send(token, http.MethodGet, s.Metadata+"/api/v2/device/all", "", "").Status
	}
	run := func(args ...string) {
		t.Helper()
		if _, stderr, code := ledgetest.Run(t, append(args, "--data-dir", s.Dir)...); code != exit.OK {
			t.Fatalf("ledge %v: %d %s", args, code, stderr)
		}
	}
	viewer := s.Tokens[domain.Viewer]
	if got := get(viewer); got != http.StatusOK {
		t.Fatalf("before: %d", got)
	}
	run("token", "revoke", "a-viewer")
	if got := get(viewer); got != http.StatusUnauthorized {
		t.Errorf("after it was revoked: %d", got)
	}
	if again := s.CreateToken(t, "a-viewer", domain.Viewer, ""); get(viewer) != http.StatusUnauthorized || get(again) != http.StatusOK {
		t.Error("a new token of the same name brings the old one back, or does not work")
	}
	password := strings.TrimSpace(ledgetest.MustRead(t, filepath.Join(s.Dir, "admin-password")))
	token, a := s.Login("admin", password)
	if a.Status != http.StatusOK || get(token) != http.StatusOK {
		t.Fatalf("login: %d %s", a.Status, a.Body)
	}
	fresh := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(fresh, []byte("another-password-4711\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run("user", "passwd", "admin", "--password-file", fresh)
	if got := get(token); got != http.StatusUnauthorized {
		t.Errorf("after another password: %d", got)
	}
	if _, a := s.Login("admin", password); a.Status != http.StatusUnauthorized {
		t.Errorf("the old password: %d %s", a.Status, a.Body)
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "admin-password")); err == nil {
		t.Error("the file with the old password is there")
	}
	run("user", "add", "eve", "--role", "viewer", "--password-file", fresh)
	token, _ = s.Login("eve", "another-password-4711")
	if got := get(token); got != http.StatusOK {
		t.Fatalf("eve: %d", got)
	}
	run("user", "remove", "eve")
	if got := get(token); got != http.StatusUnauthorized {
		t.Errorf("after eve was removed: %d", got)
	}
}

// TestWrongPasswords sends wrong passwords as fast as 20 connections can. Meanwhile others are served, and the right password works.
func TestWrongPasswords(t *testing.T) {
	t.Parallel()
	s := ledgetest.StartSecured(t)
	password := strings.TrimSpace(ledgetest.MustRead(t, filepath.Join(s.Dir, "admin-password")))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan map[int]int, 20)
	for worker := range cap(done) {
		go func() {
			got := map[int]int{}
			for i := 0; i < 250 && ctx.Err() == nil; i++ {
				_, a := s.Login("admin", "wrong-"+strconv.Itoa(worker)+"-"+strconv.Itoa(i))
				got[a.Status]++
			}
			done <- got
		}()
	}
	for range 100 {
		if a := s.Send(s.Tokens[domain.Viewer], http.MethodGet, s.Metadata+"/api/v2/device/name/sample-image", "", ""); a.Status != http.StatusOK {
			t.Fatalf("a reader meanwhile: %d %s", a.Status, a.Body)
		}
	}
	all := map[int]int{}
	for range cap(done) {
		for status, n := range <-done {
			all[status] += n
		}
	}
	if all[http.StatusUnauthorized] == 0 || all[http.StatusTooManyRequests] == 0 || all[http.StatusUnauthorized]+all[http.StatusTooManyRequests] != 5000 {
		t.Errorf("got %v, want 5000 of 401 and 429", all)
	}
	other := "127.0.0.9" // the owner, at another address, with new connections
	transport := s.Client.Transport.(*http.Transport).Clone()
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, _ := net.SplitHostPort(address)
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(other)}}
		return d.DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
	}
	s.Client.Transport = transport
	if _, a := s.Login("admin", password); a.Status != http.StatusOK {
		t.Errorf("the right password from another address: %d %s", a.Status, a.Body)
	}
	if n := s.Log.Count("wrong-"); n > 0 {
		t.Errorf("the log has %d of the passwords that were tried", n)
	}
}

// TestSecureNATS connects NATS clients in secure mode: a viewer hears live messages, an auditor reads the copies too, a poster is refused.
// A token that is revoked ends its connection. Ledge's own commands go on beside the server.
func TestSecureNATS(t *testing.T) {
	t.Parallel()
	s := ledgetest.StartSecured(t)
	for _, token := range []string{s.Tokens[domain.Poster], "ledge_a-viewer_AAAAAAAAAAAAAAAAAAAAAAAAAA", ""} {
		if _, err := s.ConnectNATS(t, token); err == nil || !strings.Contains(strings.ToLower(err.Error()), "violation") {
			t.Errorf("token %.14q: %v, want a violation", token, err)
		}
	}
	closed := make(chan struct{})
	viewer, err := s.ConnectNATS(t, s.Tokens[domain.Viewer], nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	if err != nil {
		t.Fatal(err)
	}
	sub, err := viewer.SubscribeSync("ledge.reading.*.sample-numeric.>")
	if err == nil {
		err = viewer.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Send(s.Tokens[domain.Operator], http.MethodPost, s.DeviceREST+"/api/v2/resource/sample-numeric/int", "text/plain", "42")
	if m, err := sub.NextMsg(ledgetest.Timeout); err != nil || string(m.Data) != "42" {
		t.Errorf("the viewer got %v, %v", m, err)
	}
	auditor, err := s.ConnectNATS(t, s.Tokens[domain.Auditor])
	if err != nil {
		t.Fatal(err)
	}
	if m, err := auditor.Request("$JS.API.STREAM.MSG.GET.LEDGE_EVENTS", []byte(`{"seq":1}`), ledgetest.Timeout); err != nil || len(m.Data) == 0 {
		t.Errorf("the auditor's history: %v, %v", m, err)
	}
	s.WantAnswersHidden(t, viewer)
	backup := filepath.Join(t.TempDir(), "ledge.backup")
	for _, args := range [][]string{{"log"}, {"verify"}, {"backup", backup}} {
		if out, stderr, code := ledgetest.Run(t, append(args, "--data-dir", s.Dir)...); code != exit.OK || out == "" {
			t.Errorf("ledge %v beside the server: %d %s", args, code, stderr)
		}
	}
	if _, stderr, code := ledgetest.Run(t, "token", "revoke", "a-viewer", "--data-dir", s.Dir); code != exit.OK {
		t.Fatal(stderr)
	}
	select {
	case <-closed:
	case <-t.Context().Done():
		t.Error("the connection of a revoked token goes on")
	}
	s.Stop()
	restored := filepath.Join(t.TempDir(), "restored")
	if _, stderr, code := ledgetest.Run(t, "restore", backup, restored); code != exit.OK {
		t.Fatal(stderr)
	}
	again := &ledgetest.Secured{Node: ledgetest.Start(t, restored, "--secure"), Tokens: s.Tokens}
	again.Trust(t)
	for role, want := range map[domain.Role]int{domain.Operator: http.StatusOK, domain.Viewer: http.StatusOK, domain.Poster: http.StatusForbidden} { // the backup is older than the revocation
		if a := again.Send(s.Tokens[role], http.MethodGet, again.Metadata+"/api/v2/device/all", "", ""); a.Status != want {
			t.Errorf("restored, as %s: %d %s, want %d", role, a.Status, a.Body, want)
		}
	}
}

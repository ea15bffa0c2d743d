package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ledge/bridge/porttest"
	"ledge/cmd/internal/exit"
	"ledge/domain"

	"github.com/nats-io/nats.go"
)

// secured is a program in secure mode, with a client that trusts its CA.
type secured struct {
	*process
	client *http.Client
	tokens map[domain.Role]string
}

// startSecured starts secure mode on an empty folder, with a token for each role. That of the poster is for devices called cam-*.
func startSecured(t *testing.T, flags ...string) *secured {
	t.Helper()
	s := &secured{process: start(t, t.TempDir(), append([]string{"--secure"}, flags...)...), tokens: map[domain.Role]string{}}
	s.trust(t)
	for _, role := range domain.Roles() {
		s.tokens[role] = s.createToken(t, "a-"+string(role), role, "cam-*")
	}
	return s
}

// trust makes the client.
func (s *secured) trust(t *testing.T) {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(s.ca()))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}, DialContext: dialLocal}
	t.Cleanup(transport.CloseIdleConnections)
	s.client = &http.Client{Transport: transport, Timeout: hangs}
}

// createToken makes a token with the command line. Devices restrict a poster.
func (s *secured) createToken(t *testing.T, name string, role domain.Role, devices string) string {
	t.Helper()
	args := []string{"token", "create", "--data-dir", s.dir, name, "--role", string(role)}
	if role == domain.Poster {
		args = append(args, "--devices", devices)
	}
	out, stderr, code := ledge(t, args...)
	if code != exit.OK {
		t.Fatalf("ledge %v: %d %s", args, code, stderr)
	}
	return strings.TrimSpace(out)
}

// send sends a request with a token, or with none where it is empty.
func (s *secured) send(token, method, url, contentType, body string) answer {
	s.tb.Helper()
	req, err := http.NewRequestWithContext(s.tb.Context(), method, url, strings.NewReader(body))
	if err != nil {
		s.tb.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		s.tb.Fatalf("%s %s: %v", method, url, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.tb.Fatalf("%s %s: %v", method, url, err)
	}
	return answer{resp.StatusCode, string(b), resp.Header}
}

// login returns a token for a user's password.
func (s *secured) login(name, password string) (token string, a answer) {
	s.tb.Helper()
	body, _ := json.Marshal(map[string]string{"username": name, "password": password})
	a = s.send("", http.MethodPost, s.metadata+"/api/v2/login", "application/json", string(body))
	var answer struct{ Token string }
	_ = json.Unmarshal([]byte(a.body), &answer)
	return answer.Token, a
}

// step is one request of the specification's flow.
type step struct {
	name, method, url, contentType, body string
	roles                                []domain.Role // that may send it; the first one does
	want                                 int           // of the answer or, where that is 207, of its first element
}

// specification is the flow of the user's specification: profile, device, data, subscription, a change, and what came of it.
func (s *secured) specification(port int) []step {
	changers := []domain.Role{domain.Operator, domain.Admin}
	posters := []domain.Role{domain.Poster, domain.Operator, domain.Admin}
	readers := []domain.Role{domain.Viewer, domain.Operator, domain.Auditor, domain.Admin}
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	file, _ := w.CreateFormFile("file", "profile.yaml")
	_, _ = io.WriteString(file, "name: lane\ndeviceResources:\n  - name: jpeg\n    properties: {valueType: Binary, readWrite: R, mediaType: image/jpeg}\n")
	w.Close()
	device := `[{"apiVersion":"v2","device":{"name":"cam-1","adminState":"UNLOCKED","operatingState":"UP","serviceName":"device-rest","profileName":"lane","protocolName":"rest","protocols":{"other":{"Address":"a"}}}}]`
	subscription := fmt.Sprintf(`[{"apiVersion":"v2","subscription":{"name":"watch","receiver":"r","adminState":"UNLOCKED","categories":["DEVICE_CHANGED"],"channels":[{"type":"ZeroMQ","host":"127.0.0.1","port":%d,"topic":"t"}]}}]`, port)
	const isJSON = "application/json"
	return []step{
		{"upload the profile", http.MethodPost, s.metadata + "/api/v2/deviceprofile/uploadfile", w.FormDataContentType(), form.String(), changers, http.StatusCreated},
		{"add the device", http.MethodPost, s.metadata + "/api/v2/device", isJSON, device, changers, http.StatusCreated},
		{"read the device", http.MethodGet, s.metadata + "/api/v2/device/name/cam-1", "", "", readers, http.StatusOK},
		{"post a picture", http.MethodPost, s.deviceREST + "/api/v2/resource/cam-1/jpeg", "image/jpeg", "\xff\xd8picture", posters, http.StatusOK},
		{"read the readings", http.MethodGet, s.coreData + "/api/v2/reading/device/name/cam-1", "", "", readers, http.StatusOK},
		{"subscribe", http.MethodPost, s.notifications + "/api/v2/subscription", isJSON, subscription, changers, http.StatusCreated},
		{"change the device", http.MethodPatch, s.metadata + "/api/v2/device", isJSON, `[{"apiVersion":"v2","device":{"name":"cam-1","adminState":"LOCKED"}}]`, changers, http.StatusOK},
		{"read the settings", http.MethodGet, s.metadata + "/api/v2/config", "", "", readers, http.StatusOK},
		{"read the metrics", http.MethodGet, s.metadata + "/metrics", "", "", readers, http.StatusOK},
		{"read the notifications", http.MethodGet, s.notifications + "/api/v2/notification/category/DEVICE_CHANGED", "", "", readers, http.StatusOK},
		{"store a secret", http.MethodPost, s.notifications + "/api/v2/secret", isJSON, `{"apiVersion":"v2","path":"smtp","secretData":[{"key":"password","value":"` + mailPassword + `"}]}`, changers, http.StatusCreated},
		{"remove the device", http.MethodDelete, s.metadata + "/api/v2/device/name/cam-1", "", "", changers, http.StatusOK},
	}
}

const mailPassword = "mail-pass-4711-not-to-be-seen"

// TestSecureFlow starts secure mode on an empty folder and goes through the specification as operator and poster. Before each
// step, everybody who may not take it tries, and is refused with the role that is needed. The log names who did what, and no secret.
func TestSecureFlow(t *testing.T) {
	t.Parallel()
	s := startSecured(t, "--log-level", "debug")
	port := porttest.Hold(t)
	for _, st := range s.specification(port) {
		if a := s.send("", st.method, st.url, st.contentType, st.body); a.status != http.StatusUnauthorized || a.header.Get("WWW-Authenticate") == "" || !strings.Contains(a.body, `"statusCode":401`) {
			t.Errorf("%s without a login: %d %v %s", st.name, a.status, a.header, a.body)
		}
		for _, role := range domain.Roles() {
			if slices.Contains(st.roles, role) {
				continue
			}
			a := s.send(s.tokens[role], st.method, st.url, st.contentType, st.body)
			if a.status != http.StatusForbidden || !strings.Contains(a.body, string(st.roles[len(st.roles)-1])) {
				t.Errorf("%s as %s: %d %s, want 403 with the roles %v", st.name, role, a.status, a.body, st.roles)
			}
		}
		a := s.send(s.tokens[st.roles[0]], st.method, st.url, st.contentType, st.body)
		got := a.status
		if all := statuses(a); got == http.StatusMultiStatus && len(all) > 0 {
			got = all[0]
		}
		if got != st.want {
			t.Fatalf("%s as %s: %d %s, want %d", st.name, st.roles[0], a.status, a.body, st.want)
		}
		if st.name == "subscribe" {
			sub := s.subscribe(port, "t")
			defer func() {
				if topic, body := sub.next(); topic != "t" || !strings.Contains(body, `"cam-1"`) {
					t.Errorf("got [%q, %s]", topic, body)
				}
			}()
		}
	}
	log, stderr, code := ledge(t, "log", "--data-dir", s.dir)
	if code != exit.OK {
		t.Fatalf("ledge log: %d %s", code, stderr)
	}
	for _, actor := range []string{"token:a-operator", "token:a-poster"} {
		if !strings.Contains(log, actor) {
			t.Errorf("the log does not name %s:\n%s", actor, log)
		}
	}
	config := s.send(s.tokens[domain.Admin], http.MethodGet, s.metadata+"/api/v2/config", "", "").body
	s.stop()
	secrets := append(slices.Collect(mapsValues(s.tokens)), mailPassword)
	for _, secret := range secrets {
		for name, text := range map[string]string{"ledge log": log, "the program's log": s.log.String(), "GET /config": config} {
			if strings.Contains(text, secret) {
				t.Errorf("%s has a secret", name)
			}
		}
	}
	wantNoSecret(t, s.dir, secrets)
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
	s := startSecured(t)
	poster := s.createToken(t, "pos-7", domain.Poster, "sample-*")
	for device, want := range map[string]int{"sample-numeric": http.StatusOK, "cam-1": http.StatusForbidden, "Sample-numeric": http.StatusForbidden, "cam-1%2f..%2fsample-numeric": http.StatusNotFound} {
		a := s.send(poster, http.MethodPost, s.deviceREST+"/api/v2/resource/"+device+"/int", "text/plain", "42")
		if a.status != want {
			t.Errorf("%s: %d %s, want %d", device, a.status, a.body, want)
		}
	}
	event := func(device string) string {
		return `{"apiVersion":"v2","event":{"apiVersion":"v2","id":"` + "0b0a6ab0-6b2f-4a54-a5f4-3b9e0b6f8a10" + `","deviceName":"` + device + `","profileName":"sample-numeric","sourceName":"int","origin":1,"readings":[{"deviceName":"` + device + `","resourceName":"int","profileName":"sample-numeric","origin":1,"valueType":"Int32","value":"1"}]}}`
	}
	if a := s.send(poster, http.MethodPost, s.coreData+"/api/v2/event/sample-numeric/sample-numeric/int", "application/json", event("cam-1")); a.status < 400 {
		t.Errorf("an event of another device than in the path: %d %s", a.status, a.body)
	}
	if a := s.send(poster, http.MethodPost, s.coreData+"/api/v2/event/p/cam-1/int", "application/json", event("cam-1")); a.status != http.StatusForbidden {
		t.Errorf("an event of another device: %d %s", a.status, a.body)
	}
}

// TestRevoked holds that a token that is revoked, a user that is removed, and a password that is changed end at once.
func TestRevoked(t *testing.T) {
	t.Parallel()
	s := startSecured(t)
	get := func(token string) int {
		return s.send(token, http.MethodGet, s.metadata+"/api/v2/device/all", "", "").status
	}
	run := func(args ...string) {
		t.Helper()
		if _, stderr, code := ledge(t, append(args, "--data-dir", s.dir)...); code != exit.OK {
			t.Fatalf("ledge %v: %d %s", args, code, stderr)
		}
	}
	viewer := s.tokens[domain.Viewer]
	if got := get(viewer); got != http.StatusOK {
		t.Fatalf("before: %d", got)
	}
	run("token", "revoke", "a-viewer")
	if got := get(viewer); got != http.StatusUnauthorized {
		t.Errorf("after it was revoked: %d", got)
	}
	if again := s.createToken(t, "a-viewer", domain.Viewer, ""); get(viewer) != http.StatusUnauthorized || get(again) != http.StatusOK {
		t.Error("a new token of the same name brings the old one back, or does not work")
	}
	password := strings.TrimSpace(mustRead(t, filepath.Join(s.dir, "admin-password")))
	token, a := s.login("admin", password)
	if a.status != http.StatusOK || get(token) != http.StatusOK {
		t.Fatalf("login: %d %s", a.status, a.body)
	}
	fresh := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(fresh, []byte("another-password-4711\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run("user", "passwd", "admin", "--password-file", fresh)
	if got := get(token); got != http.StatusUnauthorized {
		t.Errorf("after another password: %d", got)
	}
	if _, a := s.login("admin", password); a.status != http.StatusUnauthorized {
		t.Errorf("the old password: %d %s", a.status, a.body)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "admin-password")); err == nil {
		t.Error("the file with the old password is there")
	}
	run("user", "add", "eve", "--role", "viewer", "--password-file", fresh)
	token, _ = s.login("eve", "another-password-4711")
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
	s := startSecured(t)
	password := strings.TrimSpace(mustRead(t, filepath.Join(s.dir, "admin-password")))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan map[int]int, 20)
	for worker := range cap(done) {
		go func() {
			got := map[int]int{}
			for i := 0; i < 250 && ctx.Err() == nil; i++ {
				_, a := s.login("admin", "wrong-"+strconv.Itoa(worker)+"-"+strconv.Itoa(i))
				got[a.status]++
			}
			done <- got
		}()
	}
	for range 100 {
		if a := s.send(s.tokens[domain.Viewer], http.MethodGet, s.metadata+"/api/v2/device/name/sample-image", "", ""); a.status != http.StatusOK {
			t.Fatalf("a reader meanwhile: %d %s", a.status, a.body)
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
	other := "127.0.0.9" // the owner, at another address
	s.client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, _ := net.SplitHostPort(address)
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(other)}}
		return d.DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
	}
	s.client.CloseIdleConnections()
	if _, a := s.login("admin", password); a.status != http.StatusOK {
		t.Errorf("the right password from another address: %d %s", a.status, a.body)
	}
	if n := s.log.count("wrong-"); n > 0 {
		t.Errorf("the log has %d of the passwords that were tried", n)
	}
}

// tapAs connects to the tap with a token.
func (s *secured) tapAs(t *testing.T, token string, o ...nats.Option) (*nats.Conn, error) {
	t.Helper()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(s.tap, "tls://"))
	nc, err := nats.Connect("tls://127.0.0.1:"+port, append(o, nats.RootCAs(mustWriteFile(t, "ca.pem", s.ca())), nats.Token(token), nats.NoReconnect(), nats.Timeout(hangs))...)
	if err == nil {
		t.Cleanup(nc.Close)
	}
	return nc, err
}

// wantAnswersHidden holds that a viewer sees no events with answers of receivers, which an operator sees.
func (s *secured) wantAnswersHidden(t *testing.T, viewer *nats.Conn) {
	t.Helper()
	operator, err := s.tapAs(t, s.tokens[domain.Operator])
	if err != nil {
		t.Fatal(err)
	}
	var subs []*nats.Subscription
	for _, nc := range []*nats.Conn{viewer, operator} {
		sub, err := nc.SubscribeSync("ledge.notification.>")
		if err == nil {
			err = nc.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
		subs = append(subs, sub)
	}
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "an answer") }))
	t.Cleanup(receiver.Close)
	host, port, _ := net.SplitHostPort(receiver.Listener.Addr().String())
	s.send(s.tokens[domain.Operator], http.MethodPost, s.notifications+"/api/v2/subscription", "application/json", fmt.Sprintf(
		`[{"apiVersion":"v2","subscription":{"name":"rest","receiver":"r","adminState":"UNLOCKED","categories":["DEVICE_CHANGED"],"channels":[{"type":"REST","host":%q,"port":%s,"path":"/","httpMethod":"POST"}]}}]`, host, port))
	s.send(s.tokens[domain.Operator], http.MethodPatch, s.metadata+"/api/v2/device", "application/json", `[{"apiVersion":"v2","device":{"name":"sample-image","adminState":"LOCKED"}}]`)
	for answered := false; !answered; {
		m, err := subs[1].NextMsg(hangs)
		if err != nil {
			t.Fatalf("the operator sees no transmission: %v", err)
		}
		answered = strings.HasSuffix(m.Subject, ".tried") || strings.HasSuffix(m.Subject, ".processed")
	}
	if err := viewer.Flush(); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for ; ; seen++ {
		n, _, err := subs[0].Pending()
		if err != nil || n == 0 {
			break
		}
		if m, err := subs[0].NextMsg(hangs); err != nil || strings.HasSuffix(m.Subject, ".tried") || strings.HasSuffix(m.Subject, ".processed") {
			t.Errorf("the viewer sees %v, %v", m, err)
		}
	}
	if seen == 0 {
		t.Error("the viewer sees no notification")
	}
}

// TestSecureTap taps a server in secure mode: a viewer sees what happens, an auditor also history, a poster nothing. A token that is
// revoked ends its connection. Ledge's own commands go on beside the server.
func TestSecureTap(t *testing.T) {
	t.Parallel()
	s := startSecured(t)
	for _, token := range []string{s.tokens[domain.Poster], "ledge_a-viewer_AAAAAAAAAAAAAAAAAAAAAAAAAA", ""} {
		if _, err := s.tapAs(t, token); err == nil || !strings.Contains(strings.ToLower(err.Error()), "violation") {
			t.Errorf("token %.14q: %v, want a violation", token, err)
		}
	}
	closed := make(chan struct{})
	viewer, err := s.tapAs(t, s.tokens[domain.Viewer], nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
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
	s.send(s.tokens[domain.Operator], http.MethodPost, s.deviceREST+"/api/v2/resource/sample-numeric/int", "text/plain", "42")
	if m, err := sub.NextMsg(hangs); err != nil || string(m.Data) != "42" {
		t.Errorf("the viewer got %v, %v", m, err)
	}
	auditor, err := s.tapAs(t, s.tokens[domain.Auditor])
	if err != nil {
		t.Fatal(err)
	}
	if m, err := auditor.Request("$JS.API.DIRECT.GET.LEDGE_EVENTS", []byte(`{"seq":1}`), hangs); err != nil || len(m.Data) == 0 {
		t.Errorf("the auditor's history: %v, %v", m, err)
	}
	s.wantAnswersHidden(t, viewer)
	backup := filepath.Join(t.TempDir(), "ledge.backup")
	for _, args := range [][]string{{"log"}, {"verify"}, {"backup", backup}} {
		if out, stderr, code := ledge(t, append(args, "--data-dir", s.dir)...); code != exit.OK || out == "" {
			t.Errorf("ledge %v beside the server: %d %s", args, code, stderr)
		}
	}
	if _, stderr, code := ledge(t, "token", "revoke", "a-viewer", "--data-dir", s.dir); code != exit.OK {
		t.Fatal(stderr)
	}
	select {
	case <-closed:
	case <-t.Context().Done():
		t.Error("the connection of a revoked token goes on")
	}
	s.stop()
	restored := filepath.Join(t.TempDir(), "restored")
	if _, stderr, code := ledge(t, "restore", backup, restored); code != exit.OK {
		t.Fatal(stderr)
	}
	again := &secured{process: start(t, restored, "--secure"), tokens: s.tokens}
	again.trust(t)
	for role, want := range map[domain.Role]int{domain.Operator: http.StatusOK, domain.Viewer: http.StatusOK, domain.Poster: http.StatusForbidden} { // the backup is older than the revocation
		if a := again.send(s.tokens[role], http.MethodGet, again.metadata+"/api/v2/device/all", "", ""); a.status != want {
			t.Errorf("restored, as %s: %d %s, want %d", role, a.status, a.body, want)
		}
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/bridge/porttest"
	"ledge/bridge/zeromqtest"
	"ledge/cmd/internal/exit"
	"ledge/domain"
	"ledge/domain/z85"
)

// clientKeys is the field of a channel.
func clientKeys(keys ...zeromqtest.Keys) string {
	texts := make([]string, len(keys))
	for i, k := range keys {
		texts[i] = k.Text()
	}
	list, _ := json.Marshal(texts)
	return `,"clientKeys":` + string(list)
}

// curveKey is what `ledge curve` prints.
func curveKey(t *testing.T, args ...string) string {
	t.Helper()
	out, stderr, code := ledge(t, append([]string{"curve"}, args...)...)
	if code != exit.OK || len(out) != z85.KeyLength+1 {
		t.Fatalf("ledge curve: %d %q %s", code, out, stderr)
	}
	return strings.TrimSpace(out)
}

func keysOf(server string, client zeromqtest.Keys) []string {
	return []string{server, client.Text(), z85.Encode(client.Private[:])}
}

// TestCurve takes a channel with CURVE from the first start to a libzmq subscriber, through changes of its keys and a restart, in open mode and
// in secure mode with an encrypted secret store.
func TestCurve(t *testing.T) {
	needLibzmq(t)
	for _, mode := range [][]string{nil, {"--secure"}} {
		t.Run(strings.Join(mode, " "), func(t *testing.T) { testCurve(t, mode) })
	}
}

func testCurve(t *testing.T, mode []string) {
	dir, port := t.TempDir(), porttest.Hold(t)
	if len(mode) > 0 {
		setKey(t, keyFile(t))
	}
	flags := append([]string{"--log-level", "debug"}, mode...)
	s := &secured{process: start(t, dir, flags...)}
	token := s.enter(t, len(mode) > 0)
	config := append([]string{"--data-dir", dir}, mode...)
	one, two, stranger := zeromqtest.NewKeys(), zeromqtest.NewKeys(), zeromqtest.NewKeys()
	server := curveKey(t, config...)

	s.change(token, http.MethodPost, gate(port, clientKeys(one)), http.StatusCreated)
	first := s.subscribeWith(port, "t", keysOf(server, one)...)
	s.notice(token, "one")
	first.receives("one")
	for reason, keys := range map[string][]string{
		"server_key": keysOf(stranger.Text(), one), "client_key": keysOf(server, two), "mechanism": nil,
	} {
		refused := &subscriber{tb: t, frames: make(chan []string, 16)}
		refused.runLibzmq(fmt.Sprintf("tcp://127.0.0.1:%d", port), "t", keys...)
		s.await(reason, func() bool {
			return !strings.Contains(s.metrics(token), fmt.Sprintf("ledge_zeromq_refusals_total{reason=%q} 0\n", reason))
		})
		defer func() {
			if n := len(refused.frames); n > 0 {
				t.Errorf("%s: the subscriber got %d messages", reason, n)
			}
		}()
	}
	s.notice(token, "two")
	first.receives("two")

	channels := s.channels(token)
	var shown []struct{ ServerKey string }
	if err := json.Unmarshal([]byte(channels), &shown); err != nil || len(shown) != 1 || shown[0].ServerKey != server {
		t.Errorf("the subscription shows %s, and not the server's key %s", channels, server)
	}
	s.change(token, http.MethodPatch, `[{"apiVersion":"v2","subscription":{"name":"gate","channels":`+channels+`}}]`, http.StatusOK) // as it was read
	s.change(token, http.MethodPatch, gate(port, clientKeys(two)), http.StatusOK)
	s.waitLog("subscriber left")
	second := s.subscribeWith(port, "t", keysOf(server, two)...)
	s.notice(token, "three")
	second.receives("three")

	s.stop()
	if again := curveKey(t, config...); again != server {
		t.Errorf("the key of the stopped server is %s, want %s", again, server)
	}
	s.process = start(t, dir, flags...)
	s.await("libzmq to connect again", func() bool { return s.log.count(`"topic subscribed"`) > 0 })
	s.notice(token, strings.Repeat("large", 4000))
	second.receives(strings.Repeat("large", 4000))
}

// enter returns a token of an operator, where there has to be one.
func (s *secured) enter(t *testing.T, secure bool) string {
	t.Helper()
	if s.client = http.DefaultClient; !secure {
		return ""
	}
	s.trust(t)
	return s.createToken(t, "operator", domain.Operator, "")
}

func (s *secured) change(token, method, body string, want int) {
	s.tb.Helper()
	a := s.send(token, method, s.notifications+"/api/v2/subscription", "application/json", body)
	if !strings.Contains(a.body, fmt.Sprintf(`"statusCode":%d`, want)) {
		s.tb.Fatalf("%s: %d %s", method, a.status, a.body)
	}
}

func (s *secured) notice(token, content string) {
	s.tb.Helper()
	a := s.send(token, http.MethodPost, s.notifications+"/api/v2/notification", "application/json", fmt.Sprintf(
		`[{"apiVersion":"v2","notification":{"category":"c","content":%q,"sender":"test","severity":"NORMAL"}}]`, content))
	if !strings.Contains(a.body, `"statusCode":201`) {
		s.tb.Fatalf("notification: %d %.300s", a.status, a.body)
	}
}

func (s *secured) metrics(token string) string {
	s.tb.Helper()
	return s.send(token, http.MethodGet, s.notifications+"/metrics", "", "").body
}

// channels are those of the subscription "gate", as it is shown.
func (s *secured) channels(token string) string {
	s.tb.Helper()
	var shown struct {
		Subscription struct{ Channels json.RawMessage }
	}
	a := s.send(token, http.MethodGet, s.notifications+"/api/v2/subscription/name/gate", "", "")
	if err := json.Unmarshal([]byte(a.body), &shown); err != nil {
		s.tb.Fatalf("%v: %s", err, a.body)
	}
	return string(shown.Subscription.Channels)
}

// TestCurveCommand holds that `ledge curve` says what it needs.
func TestCurveCommand(t *testing.T) {
	older := t.TempDir() // of a Ledge that made no key
	if err := os.Mkdir(filepath.Join(older, "nats"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := ledge(t, "curve", "--data-dir", older); code != exit.Folder || !strings.Contains(stderr, "start once with `ledge serve`") {
		t.Errorf("without a key: %d %s", code, stderr)
	}
	dir, _ := withSecret(t, keyFile(t))
	setKey(t, "")
	if _, stderr, code := ledge(t, "curve", "--data-dir", dir); code != exit.Folder || !strings.Contains(stderr, "ledge-secret-key") {
		t.Errorf("without the key of the secret store: %d %s", code, stderr)
	}
}

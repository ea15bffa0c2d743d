package delivery

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
	"ledge/cmd/ledgetest"
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
	out, stderr, code := ledgetest.Run(t, append([]string{"curve"}, args...)...)
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
	ledgetest.NeedLibzmq(t)
	for _, mode := range [][]string{nil, {"--secure"}} {
		t.Run(strings.Join(mode, " "), func(t *testing.T) { testCurve(t, mode) })
	}
}

func testCurve(t *testing.T, mode []string) {
	dir, port := t.TempDir(), porttest.Hold(t)
	if len(mode) > 0 {
		ledgetest.SetKey(t, ledgetest.KeyFile(t))
	}
	flags := append([]string{"--log-level", "debug"}, mode...)
	s := &ledgetest.Secured{Node: ledgetest.Start(t, dir, flags...)}
	token := enter(s, t, len(mode) > 0)
	config := append([]string{"--data-dir", dir}, mode...)
	one, two, stranger := zeromqtest.NewKeys(), zeromqtest.NewKeys(), zeromqtest.NewKeys()
	server := curveKey(t, config...)

	change(s, token, http.MethodPost, gate(port, clientKeys(one)), http.StatusCreated)
	first := ledgetest.SubscribeWith(s.Node, port, "t", keysOf(server, one)...)
	notice(s, token, "one")
	receives(first, "one")
	for reason, keys := range map[string][]string{
		"server_key": keysOf(stranger.Text(), one), "client_key": keysOf(server, two), "mechanism": nil,
	} {
		refused := &ledgetest.Subscriber{TB: t, Frames: make(chan []string, 16)}
		refused.RunLibzmq(fmt.Sprintf("tcp://127.0.0.1:%d", port), "t", keys...)
		ledgetest.Await(s.Node, reason, func() bool {
			return !strings.Contains(metrics(s, token), fmt.Sprintf("ledge_zeromq_refusals_total{reason=%q} 0\n", reason))
		})
		defer func() {
			if n := len(refused.Frames); n > 0 {
				t.Errorf("%s: the subscriber got %d messages", reason, n)
			}
		}()
	}
	notice(s, token, "two")
	receives(first, "two")

	channels := shownChannels(s, token)
	var shown []struct{ ServerKey string }
	if err := json.Unmarshal([]byte(channels), &shown); err != nil || len(shown) != 1 || shown[0].ServerKey != server {
		t.Errorf("the subscription shows %s, and not the server's key %s", channels, server)
	}
	change(s, token, http.MethodPatch, `[{"apiVersion":"v2","subscription":{"name":"gate","channels":`+channels+`}}]`, http.StatusOK) // as it was read
	change(s, token, http.MethodPatch, gate(port, clientKeys(two)), http.StatusOK)
	s.WaitLog("subscriber left")
	second := ledgetest.SubscribeWith(s.Node, port, "t", keysOf(server, two)...)
	notice(s, token, "three")
	receives(second, "three")

	s.Stop()
	if again := curveKey(t, config...); again != server {
		t.Errorf("the key of the stopped server is %s, want %s", again, server)
	}
	s.Node = ledgetest.Start(t, dir, flags...)
	ledgetest.Await(s.Node, "libzmq to connect again", func() bool { return s.Log.Count(`"topic subscribed"`) > 0 })
	notice(s, token, strings.Repeat("large", 4000))
	receives(second, strings.Repeat("large", 4000))
}

// enter returns a token of an operator, where there has to be one.
func enter(s *ledgetest.Secured, t *testing.T, secure bool) string {
	t.Helper()
	if s.Client = http.DefaultClient; !secure {
		return ""
	}
	s.Trust(t)
	return s.CreateToken(t, "operator", domain.Operator, "")
}

func change(s *ledgetest.Secured, token, method, body string, want int) {
	s.TB.Helper()
	a := s.Send(token, method, s.Notifications+"/api/v2/subscription", "application/json", body)
	if !strings.Contains(a.Body, fmt.Sprintf(`"statusCode":%d`, want)) {
		s.TB.Fatalf("%s: %d %s", method, a.Status, a.Body)
	}
}

func notice(s *ledgetest.Secured, token, content string) {
	s.TB.Helper()
	a := s.Send(token, http.MethodPost, s.Notifications+"/api/v2/notification", "application/json", fmt.Sprintf(
		`[{"apiVersion":"v2","notification":{"category":"c","content":%q,"sender":"test","severity":"NORMAL"}}]`, content))
	if !strings.Contains(a.Body, `"statusCode":201`) {
		s.TB.Fatalf("notification: %d %.300s", a.Status, a.Body)
	}
}

func metrics(s *ledgetest.Secured, token string) string {
	s.TB.Helper()
	return s.Send(token, http.MethodGet, s.Notifications+"/metrics", "", "").Body
}

// shownChannels returns the channels of the subscription "gate", as the API shows them.
func shownChannels(s *ledgetest.Secured, token string) string {
	s.TB.Helper()
	var shown struct {
		Subscription struct{ Channels json.RawMessage }
	}
	a := s.Send(token, http.MethodGet, s.Notifications+"/api/v2/subscription/name/gate", "", "")
	if err := json.Unmarshal([]byte(a.Body), &shown); err != nil {
		s.TB.Fatalf("%v: %s", err, a.Body)
	}
	return string(shown.Subscription.Channels)
}

// TestCurveCommand holds that `ledge curve` says what it needs.
func TestCurveCommand(t *testing.T) {
	older := t.TempDir() // of a Ledge that made no key
	if err := os.Mkdir(filepath.Join(older, "nats"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := ledgetest.Run(t, "curve", "--data-dir", older); code != exit.Folder || !strings.Contains(stderr, "start once with `ledge serve`") {
		t.Errorf("without a key: %d %s", code, stderr)
	}
	dir, _ := ledgetest.WithSecret(t, ledgetest.KeyFile(t))
	ledgetest.SetKey(t, "")
	if _, stderr, code := ledgetest.Run(t, "curve", "--data-dir", dir); code != exit.Folder || !strings.Contains(stderr, "ledge-secret-key") {
		t.Errorf("without the key of the secret store: %d %s", code, stderr)
	}
}

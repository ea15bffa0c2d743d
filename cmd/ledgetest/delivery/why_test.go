package delivery

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ledge/bridge/porttest"
	"ledge/cmd/internal/channels"
	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// explain runs `ledge why` and returns its answer.
func explain(p *ledgetest.Node, t *testing.T, args ...string) channels.Explanation {
	t.Helper()
	out, stderr, code := ledgetest.Run(t, append([]string{"why", "--json", "--data-dir", p.Dir}, args...)...)
	var w channels.Explanation
	if err := json.Unmarshal([]byte(out), &w); code != exit.OK || err != nil {
		t.Fatalf("why %v: exit code %d, %v\n%s%s", args, code, err, out, stderr)
	}
	return w
}

// holdsFinding holds that a cause is named, with a text, and whether it stops the delivery.
func holdsFinding(w channels.Explanation, t *testing.T, cause string, stops bool, text string) {
	t.Helper()
	for _, f := range w.Findings {
		if f.Cause == cause && f.Stops == stops && strings.Contains(f.Text, text) {
			return
		}
	}
	t.Errorf("no %s with stops %v and %q in %+v", cause, stops, text, w)
}

func processed(p *ledgetest.Node, t *testing.T, category string) (id string) {
	t.Helper()
	a := p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/notification",
		fmt.Sprintf(`[{"apiVersion":"v2","notification":{"category":%q,"content":"x","sender":"s","severity":"NORMAL"}}]`, category), http.StatusCreated)
	var items []struct{ ID string }
	if err := json.Unmarshal([]byte(a.Body), &items); err != nil {
		t.Fatal(err)
	}
	id = items[0].ID
	ledgetest.Until(t, "the notification to have its transmissions", func() bool {
		return strings.Contains(p.Call(http.MethodGet, p.Notifications+"/api/v2/notification/id/"+id, "", "").Body, `"PROCESSED"`)
	})
	return id
}

func addWithChannel(p *ledgetest.Node, name, state, categories, channel string, resends int) {
	p.TB.Helper()
	p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/subscription", fmt.Sprintf(
		`[{"apiVersion":"v2","subscription":{"name":%q,"receiver":"r","categories":[%s],"resendLimit":%d,"resendInterval":"1ms","adminState":%q,"channels":[%s]}}]`,
		name, categories, resends, state, channel), http.StatusCreated)
}

// TestWhy asks why each of several notifications did or did not arrive.
func TestWhy(t *testing.T) {
	t.Parallel()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bad" {
			http.Error(w, "no bad ones", http.StatusBadRequest)
		}
	}))
	t.Cleanup(receiver.Close)
	host, port, _ := strings.Cut(strings.TrimPrefix(receiver.URL, "http://"), ":")
	rest := func(path string) string {
		return fmt.Sprintf(`{"type":"REST","host":%q,"port":%s,"path":%q,"httpMethod":"POST"}`, host, port, path)
	}
	p := ledgetest.Start(t, t.TempDir())
	socket := porttest.Hold(t)
	addWithChannel(p, "good", "UNLOCKED", `"c"`, rest("/good"), 0)
	addWithChannel(p, "bad", "UNLOCKED", `"c"`, rest("/bad"), 0)
	addWithChannel(p, "shut", "LOCKED", `"c"`, rest("/good"), 0)
	addWithChannel(p, "zmq", "UNLOCKED", `"c"`, fmt.Sprintf(`{"type":"ZeroMQ","host":"127.0.0.1","port":%d,"topic":"cam"}`, socket), 0)
	c, other := processed(p, t, "c"), processed(p, t, "other")

	w := explain(p, t, "good", c)
	holdsFinding(w, t, "transmission", false, "SENT")
	if !w.Arrives {
		t.Errorf("it did arrive: %+v", w)
	}
	w = explain(p, t, "bad", c)
	holdsFinding(w, t, "transmission", true, "FAILED")
	holdsFinding(explain(p, t, "bad"), t, "transmission", false, "the last failure")
	holdsFinding(explain(p, t, "good"), t, "transmission", false, "has failed")
	holdsFinding(explain(p, t, "good", other), t, "category", true, `the category "other"; the subscription asks for c`)
	holdsFinding(explain(p, t, "shut", c), t, "locked", true, "locked")
	holdsFinding(explain(p, t, "shut"), t, "locked", true, "LOCKED")
	holdsFinding(explain(p, t, "zmq", c), t, "topic", true, "nobody with that topic")
	holdsFinding(explain(p, t, "zmq"), t, "port", true, "0 subscribers are connected")
	holdsFinding(explain(p, t, "zmq"), t, "replay", false, "last delivery")

	dead := porttest.Hold(t) // nobody listens
	addWithChannel(p, "dead", "UNLOCKED", `"d"`, fmt.Sprintf(`{"type":"REST","host":"127.0.0.1","port":%d,"path":"/in?token=x","httpMethod":"POST"}`, dead), 50)
	p.Notify("d", "x")
	ledgetest.Until(t, "the dead endpoint to fail", func() bool {
		w = explain(p, t, "dead")
		return strings.Contains(fmt.Sprint(w.Findings), "it failed ")
	})
	holdsFinding(w, t, "endpoint", true, "in a row")

	if out, _, code := ledgetest.Run(t, "why", "bad", c, "--data-dir", p.Dir); code != exit.OK || !strings.Contains(out, "it is stopped") || !strings.Contains(out, "\nSTOP  transmission") {
		t.Errorf("for people: %d\n%s", code, out)
	}
	for _, args := range [][]string{{"nobody"}, {"good", "6a1c3f0e-8a44-4c0b-9d5e-2f6b7c8d9e01"}} {
		if _, stderr, code := ledgetest.Run(t, append([]string{"why", "--data-dir", p.Dir}, args...)...); code != exit.Failure || !strings.Contains(stderr, "there is no ") {
			t.Errorf("why %v: %d %s", args, code, stderr)
		}
	}
	p.Stop()
	if _, stderr, code := ledgetest.Run(t, "why", "good", "--data-dir", p.Dir); code != exit.Usage || !strings.Contains(stderr, "no server runs") {
		t.Errorf("without a server: %d %s", code, stderr)
	}
}

// TestWhyTopic connects a subscriber with another topic: what it asks for is in the answer of ledge why, in the transmission
// and in the list of endpoints.
func TestWhyTopic(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir(), "--log-level", "debug")
	socket := porttest.Hold(t)
	addWithChannel(p, "zmq", "UNLOCKED", `"c"`, fmt.Sprintf(`{"type":"ZeroMQ","host":"127.0.0.1","port":%d,"topic":"cam"}`, socket), 0)
	p.Subscribe(socket, "door")
	id := processed(p, t, "c")
	holdsFinding(explain(p, t, "zmq", id), t, "topic", true, "nobody with that topic")
	holdsFinding(explain(p, t, "zmq"), t, "topic", true, `subscribers ask for "door"`)
	holdsFinding(explain(p, t, "zmq"), t, "port", false, "1 subscribers are connected")
	if a := p.Call(http.MethodGet, p.Notifications+"/api/v2/transmission/notification/id/"+id, "", ""); !strings.Contains(a.Body, `published to 0 matching of 1 connected subscribers: they asked for the topics \"door\"`) {
		t.Errorf("the transmission: %s", a.Body)
	}
	a := p.Call(http.MethodGet, p.Notifications+"/api/v2/endpoint/all", "", "")
	if want := `"socket":{"subscribers":1,"topics":[{"topic":"door","subscribers":1}],`; !strings.Contains(a.Body, fmt.Sprintf(`"endpoint":"ZeroMQ/127.0.0.1/%d"`, socket)) || !strings.Contains(a.Body, want) {
		t.Errorf("endpoints: %s, want %s", a.Body, want)
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ledge/bridge/porttest"
)

// loopbackForms are ways to name this machine.
var loopbackForms = []string{"127.0.0.1", "127.1.2.3", "localhost", "a.localhost", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1", "::ffff:0.0.0.0"}

// TestAttackAnswers has REST channels and validations ask services of this machine, and looks for their answers.
func TestAttackAnswers(t *testing.T) {
	private := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/moved") {
			w.Header().Set("Location", "http://10.0.0.1/"+hidden)
			w.WriteHeader(http.StatusFound)
			return
		}
		if strings.Contains(r.URL.Path, "wrong") {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = io.WriteString(w, hidden)
	}))
	t.Cleanup(private.Close)
	greeter := serveBanner(t, hidden+"\r\n")
	a := startAttack(t, "--resend-limit", "0")
	port := urlPort(t, private.URL)
	n := 0
	for _, host := range loopbackForms[:3] {
		for _, to := range []struct {
			path string
			port int
		}{{"/ok", port}, {"/wrong", port}, {"/moved", port}, {"/", greeter}} {
			n++
			name := fmt.Sprint("s", n)
			a.postJSON(http.MethodPost, a.notifications+"/api/v2/subscription", fmt.Sprintf(`[{"apiVersion":"v2","subscription":{"name":%[1]q,"receiver":"r","adminState":"UNLOCKED","categories":[%[1]q],`+
				`"channels":[{"type":"REST","host":%[2]q,"port":%[3]d,"path":%[4]q,"httpMethod":"GET"}]}}]`, name, host, to.port, to.path), http.StatusCreated)
			a.post(name, "x")
			for _, sent := range a.settled(name, 1) {
				if text := fmt.Sprint(sent.Records); strings.Contains(text, hidden) || len(sent.Records) == 0 || len(sent.Records[0].Response) == 0 {
					t.Errorf("%s:%d%s: on record is %s", host, to.port, to.path, text)
				}
			}
		}
	}
	for i, path := range []string{"/wrong", "/moved"} {
		name := fmt.Sprint("spy", i)
		a.postJSON(http.MethodPost, a.metadata+"/api/v2/deviceservice", fmt.Sprintf(`[{"apiVersion":"v2","service":{"name":%q,"baseAddress":%q,"adminState":"UNLOCKED"}}]`, name, private.URL+path), http.StatusCreated)
		got := a.call(http.MethodPost, a.metadata+"/api/v2/device", "application/json", "["+strings.ReplaceAll(deviceJSON("d"+name), "device-rest", name)+"]")
		if strings.Contains(got.body, hidden) || !strings.Contains(got.body, "request failed, status code: ") {
			t.Errorf("validation by %s: %s", path, got.body)
		}
	}
	a.held(t)
}

// serveBanner sends a text that is not HTTP on each connection.
func serveBanner(t *testing.T, text string) (port int) {
	return acceptEach(t, func(conn net.Conn) {
		_, _ = io.WriteString(conn, text)
		conn.Close()
	})
}

// acceptEach calls f with each connection to a free port, one after the other.
func acceptEach(t *testing.T, f func(net.Conn)) (port int) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			f(conn)
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

// TestAttackOwnListeners has Ledge send to itself, by every name of this machine, and past rules against loopback addresses.
func TestAttackOwnListeners(t *testing.T) {
	a := startAttack(t, "--resend-limit", "0")
	socket := porttest.Hold(t)
	a.postJSON(http.MethodPost, a.notifications+"/api/v2/subscription", channelJSON("socket", "127.0.0.1", socket), http.StatusCreated)
	for _, port := range []int{urlPort(t, a.metadata), urlPort(t, a.coreData), urlPort(t, a.deviceREST), urlPort(t, a.notifications), urlPort(t, a.tap), socket} {
		for _, host := range append(loopbackForms, machineAddress(t)) {
			for _, channel := range []string{mqttChannel(host, port, ""), fmt.Sprintf(`{"type":"REST","host":%q,"port":%d,"path":"/","httpMethod":"POST"}`, host, port)} {
				got := a.call(http.MethodPost, a.notifications+"/api/v2/subscription", "application/json", subscriptionJSON("own", "own", channel))
				if !strings.Contains(got.body, "is Ledge's own, for ") {
					t.Errorf("%s: %s", channel, got.body)
				}
			}
		}
	}
	a.postJSON(http.MethodPost, a.metadata+"/api/v2/deviceservice", fmt.Sprintf(`[{"apiVersion":"v2","service":{"name":"self","baseAddress":"%s/x?","adminState":"UNLOCKED"}}]`, a.coreData), http.StatusCreated)
	a.postJSON(http.MethodPost, a.metadata+"/api/v2/device", "["+strings.ReplaceAll(deviceJSON("d"), "device-rest", "self")+"]", http.StatusCreated)
	a.await("a callback that is refused", func() bool {
		line, _ := a.log.find("device service refuses a callback")
		return strings.Contains(line, "is Ledge's own, for core-data")
	})
	a.held(t)
	strict := start(t, t.TempDir(), "--deny-destinations", "127.0.0.0/8,::1")
	for _, host := range []string{"127.0.0.1", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1", "::ffff:0.0.0.0", "64:ff9b::7f00:1", "2002:7f00:1::", "::127.0.0.1"} {
		got := strict.call(http.MethodPost, strict.notifications+"/api/v2/subscription", "application/json", subscriptionJSON("s", "s", fmt.Sprintf(`{"type":"REST","host":%q,"port":80,"path":"/","httpMethod":"POST"}`, host)))
		if !strings.Contains(got.body, "of the setting deny-destinations") {
			t.Errorf("%s: %s", host, got.body)
		}
	}
}

// nested is a notification whose content posts another one, and so on.
func nested(depth int) string {
	body := notificationJSON("loop", "x")
	for range depth {
		body = notificationJSON("loop", body)
	}
	return strings.ReplaceAll(body, "text/plain", "application/json")
}

func (p *process) subscribeLoop(port, channels int) {
	p.tb.Helper()
	list := make([]string, channels)
	for i := range list {
		list[i] = fmt.Sprintf(`{"type":"REST","host":"127.0.0.1","port":%d,"path":"/api/v2/notification?%d","httpMethod":"POST"}`, port, i)
	}
	p.postJSON(http.MethodPost, p.notifications+"/api/v2/subscription", fmt.Sprintf(
		`[{"apiVersion":"v2","subscription":{"name":"loop","receiver":"r","adminState":"UNLOCKED","categories":["loop"],"channels":[%s]}}]`, strings.Join(list, ",")), http.StatusCreated)
}

// ends waits until a round is refused, or until nothing is left to deliver, and returns how many notifications there are.
func (p *process) ends() int {
	p.tb.Helper()
	p.await("the loop's end", func() bool {
		for _, t := range p.transmissions("subscription/name/loop?limit=1000") {
			if strings.Contains(fmt.Sprint(t.Records), "508 Loop Detected") {
				return true
			}
		}
		a := p.call(http.MethodGet, p.notifications+"/api/v2/notification/status/NEW?limit=1", "", "")
		return strings.Contains(a.body, `"totalCount":0`)
	})
	return p.looped()
}

func (p *process) looped() int {
	p.tb.Helper()
	var list struct{ TotalCount int }
	a := p.call(http.MethodGet, p.notifications+"/api/v2/notification/category/loop?limit=1", "", "")
	if err := json.Unmarshal([]byte(a.body), &list); err != nil {
		p.tb.Fatal(err, a.body)
	}
	return list.TotalCount
}

// TestAttackLoop has notifications reach Ledge again through a forwarder, which hides that it is Ledge, and through another Ledge.
func TestAttackLoop(t *testing.T) {
	a := startAttack(t, "--resend-limit", "0")
	a.subscribeLoop(forward(t, a.notifications), 24)
	a.postJSON(http.MethodPost, a.notifications+"/api/v2/notification", nested(2), http.StatusCreated)
	got := a.ends()
	t.Logf("%d bytes became %d notifications", len(nested(2)), got)
	if got > 25 {
		t.Errorf("%d notifications, want 25 at most", got)
	}
	a.held(t)
	one, other := start(t, t.TempDir(), "--resend-limit", "0"), start(t, t.TempDir(), "--resend-limit", "0")
	one.subscribeLoop(urlPort(t, other.notifications), 1)
	other.subscribeLoop(urlPort(t, one.notifications), 1)
	one.postJSON(http.MethodPost, one.notifications+"/api/v2/notification", nested(6), http.StatusCreated)
	until(t, "the end between two", func() bool { return other.looped() > 1 })
	if other.ends(); one.looped() != 2 || other.looped() != 2 {
		t.Errorf("between two: %d and %d notifications, want 2 and 2", one.looped(), other.looped())
	}
}

// forward passes connections on.
func forward(t *testing.T, to string) (port int) {
	return acceptEach(t, func(in net.Conn) {
		out, err := net.Dial("tcp", strings.TrimPrefix(to, "http://"))
		if err != nil {
			in.Close()
			return
		}
		go func() { _, _ = io.Copy(out, in); out.Close() }()
		go func() { _, _ = io.Copy(in, out); in.Close() }()
	})
}

package attack

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
	"ledge/cmd/ledgetest"
)

// loopbackForms are ways to name this machine.
var loopbackForms = []string{"127.0.0.1", "127.1.2.3", "localhost", "a.localhost", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1", "::ffff:0.0.0.0"}

// TestAttackAnswers has REST channels and validations ask services of this machine, and looks for their answers.
func TestAttackAnswers(t *testing.T) {
	private := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/moved") {
			w.Header().Set("Location", "http://10.0.0.1/"+ledgetest.Hidden)
			w.WriteHeader(http.StatusFound)
			return
		}
		if strings.Contains(r.URL.Path, "wrong") {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = io.WriteString(w, ledgetest.Hidden)
	}))
	t.Cleanup(private.Close)
	greeter := serveBanner(t, ledgetest.Hidden+"\r\n")
	a := startAttack(t, "--resend-limit", "0")
	port := ledgetest.URLPort(t, private.URL)
	n := 0
	for _, host := range loopbackForms[:3] {
		for _, to := range []struct {
			path string
			port int
		}{{"/ok", port}, {"/wrong", port}, {"/moved", port}, {"/", greeter}} {
			n++
			name := fmt.Sprint("s", n)
			a.PostJSON(http.MethodPost, a.Notifications+"/api/v2/subscription", fmt.Sprintf(`[{"apiVersion":"v2","subscription":{"name":%[1]q,"receiver":"r","adminState":"UNLOCKED","categories":[%[1]q],`+
				`"channels":[{"type":"REST","host":%[2]q,"port":%[3]d,"path":%[4]q,"httpMethod":"GET"}]}}]`, name, host, to.port, to.path), http.StatusCreated)
			ledgetest.PostNotification(a.Node, name, "x")
			for _, sent := range a.Settled(name, 1) {
				if text := fmt.Sprint(sent.Records); strings.Contains(text, ledgetest.Hidden) || len(sent.Records) == 0 || len(sent.Records[0].Response) == 0 {
					t.Errorf("%s:%d%s: on record is %s", host, to.port, to.path, text)
				}
			}
		}
	}
	for i, path := range []string{"/wrong", "/moved"} {
		name := fmt.Sprint("spy", i)
		a.PostJSON(http.MethodPost, a.Metadata+"/api/v2/deviceservice", fmt.Sprintf(`[{"apiVersion":"v2","service":{"name":%q,"baseAddress":%q,"adminState":"UNLOCKED"}}]`, name, private.URL+path), http.StatusCreated)
		got := a.Call(http.MethodPost, a.Metadata+"/api/v2/device", "application/json", "["+strings.ReplaceAll(ledgetest.DeviceJSON("d"+name), "device-rest", name)+"]")
		if strings.Contains(got.Body, ledgetest.Hidden) || !strings.Contains(got.Body, "request failed, status code: ") {
			t.Errorf("validation by %s: %s", path, got.Body)
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
	a.PostJSON(http.MethodPost, a.Notifications+"/api/v2/subscription", ledgetest.ChannelJSON("socket", "127.0.0.1", socket), http.StatusCreated)
	for _, port := range []int{ledgetest.URLPort(t, a.Metadata), ledgetest.URLPort(t, a.CoreData), ledgetest.URLPort(t, a.DeviceREST), ledgetest.URLPort(t, a.Notifications), ledgetest.URLPort(t, a.NATS), socket} {
		for _, host := range append(loopbackForms, ledgetest.MachineAddress(t)) {
			for _, channel := range []string{mqttChannel(host, port, ""), fmt.Sprintf(`{"type":"REST","host":%q,"port":%d,"path":"/","httpMethod":"POST"}`, host, port)} {
				got := a.Call(http.MethodPost, a.Notifications+"/api/v2/subscription", "application/json", ledgetest.SubscriptionJSON("own", "own", channel))
				if !strings.Contains(got.Body, "is Ledge's own, for ") {
					t.Errorf("%s: %s", channel, got.Body)
				}
			}
		}
	}
	a.PostJSON(http.MethodPost, a.Metadata+"/api/v2/deviceservice", fmt.Sprintf(`[{"apiVersion":"v2","service":{"name":"self","baseAddress":"%s/x?","adminState":"UNLOCKED"}}]`, a.CoreData), http.StatusCreated)
	a.PostJSON(http.MethodPost, a.Metadata+"/api/v2/device", "["+strings.ReplaceAll(ledgetest.DeviceJSON("d"), "device-rest", "self")+"]", http.StatusCreated)
	ledgetest.Await(a.Node, "a callback that is refused", func() bool {
		line, _ := a.Log.Find("device service refuses a callback")
		return strings.Contains(line, "is Ledge's own, for core-data")
	})
	a.held(t)
	strict := ledgetest.Start(t, t.TempDir(), "--deny-destinations", "127.0.0.0/8,::1")
	for _, host := range []string{"127.0.0.1", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1", "::ffff:0.0.0.0", "64:ff9b::7f00:1", "2002:7f00:1::", "::127.0.0.1"} {
		got := strict.Call(http.MethodPost, strict.Notifications+"/api/v2/subscription", "application/json", ledgetest.SubscriptionJSON("s", "s", fmt.Sprintf(`{"type":"REST","host":%q,"port":80,"path":"/","httpMethod":"POST"}`, host)))
		if !strings.Contains(got.Body, "of the setting deny-destinations") {
			t.Errorf("%s: %s", host, got.Body)
		}
	}
}

// nested is a notification whose content posts another one, and so on.
func nested(depth int) string {
	body := ledgetest.NotificationJSON("loop", "x")
	for range depth {
		body = ledgetest.NotificationJSON("loop", body)
	}
	return strings.ReplaceAll(body, "text/plain", "application/json")
}

func subscribeLoop(p *ledgetest.Node, port, channels int) {
	p.TB.Helper()
	list := make([]string, channels)
	for i := range list {
		list[i] = fmt.Sprintf(`{"type":"REST","host":"127.0.0.1","port":%d,"path":"/api/v2/notification?%d","httpMethod":"POST"}`, port, i)
	}
	p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/subscription", fmt.Sprintf(
		`[{"apiVersion":"v2","subscription":{"name":"loop","receiver":"r","adminState":"UNLOCKED","categories":["loop"],"channels":[%s]}}]`, strings.Join(list, ",")), http.StatusCreated)
}

// ends waits until a round is refused, or until nothing is left to deliver, and returns how many notifications there are.
func ends(p *ledgetest.Node) int {
	p.TB.Helper()
	ledgetest.Await(p, "the loop's end", func() bool {
		for _, t := range p.Transmissions("subscription/name/loop?limit=1000") {
			if strings.Contains(fmt.Sprint(t.Records), "508 Loop Detected") {
				return true
			}
		}
		a := p.Call(http.MethodGet, p.Notifications+"/api/v2/notification/status/NEW?limit=1", "", "")
		return strings.Contains(a.Body, `"totalCount":0`)
	})
	return looped(p)
}

func looped(p *ledgetest.Node) int {
	p.TB.Helper()
	var list struct{ TotalCount int }
	a := p.Call(http.MethodGet, p.Notifications+"/api/v2/notification/category/loop?limit=1", "", "")
	if err := json.Unmarshal([]byte(a.Body), &list); err != nil {
		p.TB.Fatal(err, a.Body)
	}
	return list.TotalCount
}

// TestAttackLoop has notifications reach Ledge again through a forwarder, which hides that it is Ledge, and through another Ledge.
func TestAttackLoop(t *testing.T) {
	a := startAttack(t, "--resend-limit", "0")
	subscribeLoop(a.Node, forward(t, a.Notifications), 24)
	a.PostJSON(http.MethodPost, a.Notifications+"/api/v2/notification", nested(2), http.StatusCreated)
	got := ends(a.Node)
	t.Logf("%d bytes became %d notifications", len(nested(2)), got)
	if got > 25 {
		t.Errorf("%d notifications, want 25 at most", got)
	}
	a.held(t)
	one, other := ledgetest.Start(t, t.TempDir(), "--resend-limit", "0"), ledgetest.Start(t, t.TempDir(), "--resend-limit", "0")
	subscribeLoop(one, ledgetest.URLPort(t, other.Notifications), 1)
	subscribeLoop(other, ledgetest.URLPort(t, one.Notifications), 1)
	one.PostJSON(http.MethodPost, one.Notifications+"/api/v2/notification", nested(6), http.StatusCreated)
	ledgetest.Until(t, "the end between two", func() bool { return looped(other) > 1 })
	if ends(other); looped(one) != 2 || looped(other) != 2 {
		t.Errorf("between two: %d and %d notifications, want 2 and 2", looped(one), looped(other))
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

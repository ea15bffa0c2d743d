package delivery

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"ledge/bridge/porttest"
	"ledge/cmd/ledgetest"
)

// TestSocketsBeyondTheLimit holds that a subscription is refused with 503 when it needs one socket too many, that the log warns of a socket
// on all interfaces, and that a restart with a lower limit goes on, and says what it does not bind.
func TestSocketsBeyondTheLimit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := ledgetest.StartWithFiles(t, dir, 96) // which are enough for three sockets
	ports := []int{porttest.Hold(t), porttest.Hold(t), porttest.Hold(t), porttest.Hold(t)}
	ledgetest.AddNamed(p, "first", "a", ports[0])
	ledgetest.AddNamed(p, "filler", "a", ports[3])
	const one = `[{"apiVersion":"v2","subscription":{"name":"NAME","receiver":"r","adminState":"UNLOCKED","categories":["b"],"channels":[{"type":"ZeroMQ","host":"HOST","port":PORT,"topic":"t"}]}}]`
	body := func(name, host string, port int) string {
		return strings.NewReplacer("NAME", name, "HOST", host, "PORT", strconv.Itoa(port)).Replace(one)
	}
	url := p.Notifications + "/api/v2/subscription"
	p.PostJSON(http.MethodPost, url, body("second", "*", ports[1]), http.StatusCreated)
	p.WaitLog("ZeroMQ socket is open to other machines")
	if line, _ := p.Log.Find("ZeroMQ socket is open to other machines"); !strings.Contains(line, `"level":"WARN"`) || !strings.Contains(line, `"host":"*"`) {
		t.Errorf("no warning of the host *, but %q", line)
	}
	a := p.PostJSON(http.MethodPost, url, body("third", "127.0.0.1", ports[2]), http.StatusServiceUnavailable)
	if !strings.Contains(a.Body, "channels[0]: 3 ZeroMQ sockets are bound, which is the limit (fewer where few files may be open)") {
		t.Errorf("got %s", a.Body)
	}
	for _, want := range []string{"ledge_zeromq_sockets 3\n", "ledge_zeromq_peers 0\n", "ledge_zeromq_queued_bytes 0\n"} {
		if text := p.Call(http.MethodGet, p.Notifications+"/metrics", "", "").Body; !strings.Contains(text, want) {
			t.Errorf("the metrics lack %q", want)
		}
	}
	p.Stop()
	p = ledgetest.StartWithFiles(t, dir, 64) // for two
	p.WaitLog("channel not bound")
	if line, _ := p.Log.Find("channel not bound"); !strings.Contains(line, "2 ZeroMQ sockets are bound") {
		t.Errorf("a restart with a lower limit says %q", line)
	}
	for _, name := range []string{"first", "second"} {
		p.Call(http.MethodDelete, p.Notifications+"/api/v2/subscription/name/"+name, "", "")
	}
	ledgetest.AddNamed(p, "fourth", "a", ports[2])
}

package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"ledge/bridge/porttest"
)

// TestSocketsBeyondTheLimit holds that a subscription is refused with 503 when it needs one socket too many, that the log warns of a socket
// on all interfaces, and that a restart with a lower limit goes on, and says what it does not bind.
func TestSocketsBeyondTheLimit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startWithFiles(t, dir, 96) // which are enough for three sockets
	ports := []int{porttest.Hold(t), porttest.Hold(t), porttest.Hold(t), porttest.Hold(t)}
	p.addNamed("first", "a", ports[0])
	p.addNamed("filler", "a", ports[3])
	const one = `[{"apiVersion":"v2","subscription":{"name":"NAME","receiver":"r","adminState":"UNLOCKED","categories":["b"],"channels":[{"type":"ZeroMQ","host":"HOST","port":PORT,"topic":"t"}]}}]`
	body := func(name, host string, port int) string {
		return strings.NewReplacer("NAME", name, "HOST", host, "PORT", strconv.Itoa(port)).Replace(one)
	}
	url := p.notifications + "/api/v2/subscription"
	p.postJSON(http.MethodPost, url, body("second", "*", ports[1]), http.StatusCreated)
	p.waitLog("ZeroMQ socket is open to other machines")
	if line, _ := p.log.find("ZeroMQ socket is open to other machines"); !strings.Contains(line, `"level":"WARN"`) || !strings.Contains(line, `"host":"*"`) {
		t.Errorf("no warning of the host *, but %q", line)
	}
	a := p.postJSON(http.MethodPost, url, body("third", "127.0.0.1", ports[2]), http.StatusServiceUnavailable)
	if !strings.Contains(a.body, "channels[0]: 3 ZeroMQ sockets are bound, which is the limit (fewer where few files may be open)") {
		t.Errorf("got %s", a.body)
	}
	for _, want := range []string{"ledge_zeromq_sockets 3\n", "ledge_zeromq_peers 0\n", "ledge_zeromq_queued_bytes 0\n"} {
		if text := p.call(http.MethodGet, p.notifications+"/metrics", "", "").body; !strings.Contains(text, want) {
			t.Errorf("the metrics lack %q", want)
		}
	}
	p.stop()
	p = startWithFiles(t, dir, 64) // for two
	p.waitLog("channel not bound")
	if line, _ := p.log.find("channel not bound"); !strings.Contains(line, "2 ZeroMQ sockets are bound") {
		t.Errorf("a restart with a lower limit says %q", line)
	}
	for _, name := range []string{"first", "second"} {
		p.call(http.MethodDelete, p.notifications+"/api/v2/subscription/name/"+name, "", "")
	}
	p.addNamed("fourth", "a", ports[2])
}

// startWithFiles starts a node that may have so many files open.
func startWithFiles(t *testing.T, dir string, files int) *process {
	t.Helper()
	p := launchUnder(t, []string{"sh", "-c", fmt.Sprintf(`ulimit -n %d; exec "$@"`, files), "sh"}, dir)
	if err := p.waitReady(); err != nil {
		t.Fatal(err, p.log)
	}
	return p
}

package delivery

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"ledge/bridge/porttest"
	"ledge/cmd/ledgetest"
)

// gate is a subscription "gate" to the category c with one channel on a port.
func gate(port int, more string) string {
	return fmt.Sprintf(`[{"apiVersion":"v2","subscription":{"name":"gate","receiver":"r","adminState":"UNLOCKED","categories":["c"],`+
		`"channels":[{"type":"ZeroMQ","host":"127.0.0.1","port":%d,"topic":"t"%s}]}}]`, port, more)
}

// closesFirst holds that a socket closes a connection before it sends anything.
func closesFirst(t *testing.T, port int) {
	t.Helper()
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(ledgetest.Timeout))
	if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("read %d bytes, %v; want none, and the end", n, err)
	}
}

func wantMetric(p *ledgetest.Node, text string) {
	p.TB.Helper()
	if got := p.Call(http.MethodGet, p.Notifications+"/metrics", "", "").Body; !strings.Contains(got, text+"\n") {
		p.TB.Errorf("the metrics lack %q", text)
	}
}

// TestAllowedNetworks holds that the field allow of a channel decides who receives: at once where it changes, and after a restart.
func TestAllowedNetworks(t *testing.T) {
	t.Parallel()
	ledgetest.NeedLibzmq(t)
	dir := t.TempDir()
	p := ledgetest.Start(t, dir, "--log-level", "debug")
	port := porttest.Hold(t)
	url := p.Notifications + "/api/v2/subscription"
	p.PostJSON(http.MethodPost, url, gate(port, `,"allow":["127.0.0.2/32","10.0.0.0/8"]`), http.StatusCreated)
	closesFirst(t, port)
	wantMetric(p, `ledge_zeromq_refusals_total{reason="network"} 1`)

	p.PostJSON(http.MethodPatch, url, gate(port, `,"allow":["127.0.0.0/8"]`), http.StatusOK)
	s := p.Subscribe(port, "t")
	p.Notify("c", "one", "two")
	receives(s, "one", "two")
	if a := p.Call(http.MethodGet, url+"/name/gate", "", ""); !strings.Contains(a.Body, `"topic":"t","allow":["127.0.0.0/8"]}`) {
		t.Errorf("the subscription is shown as %s", a.Body)
	}

	p.PostJSON(http.MethodPatch, url, gate(port, `,"allow":["10.0.0.0/8"]`), http.StatusOK)
	p.WaitLog("subscriber left")
	wantMetric(p, `ledge_zeromq_refusals_total{reason="revoked"} 1`)
	p.Notify("c", "for nobody")
	p.Stop()
	p = ledgetest.Start(t, dir, "--log-level", "debug")
	closesFirst(t, port)
	p.PostJSON(http.MethodPatch, p.Notifications+"/api/v2/subscription", gate(port, ""), http.StatusOK)
	ledgetest.Await(p, "the subscriber to connect again", func() bool { return p.Log.Count(`"topic subscribed"`) > 0 })
	p.Notify("c", "for all")
	receives(s, "for all")
}

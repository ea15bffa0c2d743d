package main

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"ledge/bridge/porttest"
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
	_ = c.SetDeadline(time.Now().Add(hangs))
	if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("read %d bytes, %v; want none, and the end", n, err)
	}
}

func (p *process) wantMetric(text string) {
	p.tb.Helper()
	if got := p.call(http.MethodGet, p.notifications+"/metrics", "", "").body; !strings.Contains(got, text+"\n") {
		p.tb.Errorf("the metrics lack %q", text)
	}
}

// TestAllowedNetworks holds that the field allow of a channel decides who receives: at once where it changes, and after a restart.
func TestAllowedNetworks(t *testing.T) {
	t.Parallel()
	needLibzmq(t)
	dir := t.TempDir()
	p := start(t, dir, "--log-level", "debug")
	port := porttest.Hold(t)
	url := p.notifications + "/api/v2/subscription"
	p.postJSON(http.MethodPost, url, gate(port, `,"allow":["127.0.0.2/32","10.0.0.0/8"]`), http.StatusCreated)
	closesFirst(t, port)
	p.wantMetric(`ledge_zeromq_refusals_total{reason="network"} 1`)

	p.postJSON(http.MethodPatch, url, gate(port, `,"allow":["127.0.0.0/8"]`), http.StatusOK)
	s := p.subscribe(port, "t")
	p.notify("c", "one", "two")
	s.receives("one", "two")
	if a := p.call(http.MethodGet, url+"/name/gate", "", ""); !strings.Contains(a.body, `"topic":"t","allow":["127.0.0.0/8"]}`) {
		t.Errorf("the subscription is shown as %s", a.body)
	}

	p.postJSON(http.MethodPatch, url, gate(port, `,"allow":["10.0.0.0/8"]`), http.StatusOK)
	p.waitLog("subscriber left")
	p.wantMetric(`ledge_zeromq_refusals_total{reason="revoked"} 1`)
	p.notify("c", "for nobody")
	p.stop()
	p = start(t, dir, "--log-level", "debug")
	closesFirst(t, port)
	p.postJSON(http.MethodPatch, p.notifications+"/api/v2/subscription", gate(port, ""), http.StatusOK)
	p.await("the subscriber to connect again", func() bool { return p.log.count(`"topic subscribed"`) > 0 })
	p.notify("c", "for all")
	s.receives("for all")
}

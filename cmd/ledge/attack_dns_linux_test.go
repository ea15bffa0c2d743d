package main

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"ledge/bridge/dnstest"
	"ledge/bridge/porttest"
)

// namedChannels are ZeroMQ channels at so many names, all on one port.
func namedChannels(prefix string, port, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"type":"ZeroMQ","host":"%s%d.example.","port":%d,"topic":"t"}`, prefix, i, port)
	}
	return strings.Join(list, ",")
}

// TestAttackNames has requests and a start look up many names while the name server is silent.
func TestAttackNames(t *testing.T) {
	if out, err := exec.Command("unshare", "-m", "true").CombinedOutput(); err != nil {
		t.Skipf("the test needs a mount namespace, so root: %v: %s", err, out)
	}
	const address = "127.0.53.1"
	dns := dnstest.StartAt(t, address+":53") // a file resolv.conf names no port
	resolv := mustWriteFile(t, "resolv.conf", "nameserver "+address+"\n")
	asks := []string{"unshare", "-m", "sh", "-c", `mount --bind "$0" /etc/resolv.conf && exec "$@"`, resolv}
	a := startAttackUnder(t, asks)
	port := porttest.Hold(t)
	a.subscribeAll("named", "named", namedChannels("n", port, 40))
	for i := range 40 {
		if asked := dns.Asked(fmt.Sprintf("n%d.example", i)); asked != 2 { // A and AAAA
			t.Errorf("n%d.example was asked for %d times, want 2", i, asked)
		}
	}
	a.call(http.MethodPost, a.notifications+"/api/v2/subscription", "application/json", subscriptionJSON("missing", "missing", namedChannels("missing", port, 8)))
	for i := range 8 {
		if asked := dns.Asked(fmt.Sprintf("missing%d.example", i)); asked != 2 {
			t.Errorf("missing%d.example was asked for %d times, want 2", i, asked)
		}
	}
	dns.Silence(true)
	dns.Forget()
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, _, err := send(ctx, http.DefaultClient, http.MethodPost, a.notifications+"/api/v2/subscription", "application/json", subscriptionJSON("gone", "gone", namedChannels("gone", port, 60)))
		gone <- err
	}()
	a.await("names that are looked up", func() bool { return dns.Names() > 0 })
	cancel()
	<-gone
	if n := dns.Names(); n > 8 {
		t.Errorf("%d names were looked up for one client at once, want 8 at most", n)
	}
	got := a.postJSON(http.MethodPost, a.notifications+"/api/v2/subscription", subscriptionJSON("silent", "silent", namedChannels("silent", port, 60)), http.StatusBadRequest)
	if !strings.Contains(got.body, "no name server has answered in time") && !strings.Contains(got.body, "i/o timeout") {
		t.Errorf("got %s", got.body)
	}
	a.held(t)
	a.stop()
	p := launchUnder(t, asks, a.dir)
	if err := p.waitReady(); err != nil { // though 40 names have no answer
		t.Fatal(err, p.log)
	}
	if _, ok := p.log.find(`"msg":"channel bound"`); ok {
		t.Error("a channel was bound without a name server")
	}
	dns.Silence(false)
	p.await("all channels bound", func() bool { return strings.Count(p.log.String(), `"msg":"channel bound"`) == 40 })
}

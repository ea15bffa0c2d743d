package attack

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"ledge/bridge/dnstest"
	"ledge/bridge/porttest"
	"ledge/cmd/ledgetest"
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
	resolv := ledgetest.MustWriteFile(t, "resolv.conf", "nameserver "+address+"\n")
	asks := []string{"unshare", "-m", "sh", "-c", `mount --bind "$0" /etc/resolv.conf && exec "$@"`, resolv}
	a := startAttackUnder(t, asks)
	port := porttest.Hold(t)
	a.SubscribeAll("named", "named", namedChannels("n", port, 40))
	for i := range 40 {
		if asked := dns.Asked(fmt.Sprintf("n%d.example", i)); asked != 2 { // A and AAAA
			t.Errorf("n%d.example was asked for %d times, want 2", i, asked)
		}
	}
	a.Call(http.MethodPost, a.Notifications+"/api/v2/subscription", "application/json", ledgetest.SubscriptionJSON("missing", "missing", namedChannels("missing", port, 8)))
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
		_, _, err := send(ctx, http.DefaultClient, http.MethodPost, a.Notifications+"/api/v2/subscription", "application/json", ledgetest.SubscriptionJSON("gone", "gone", namedChannels("gone", port, 60)))
		gone <- err
	}()
	ledgetest.Await(a.Node, "names that are looked up", func() bool { return dns.Names() > 0 })
	cancel()
	<-gone
	if n := dns.Names(); n > 8 {
		t.Errorf("%d names were looked up for one client at once, want 8 at most", n)
	}
	got := a.PostJSON(http.MethodPost, a.Notifications+"/api/v2/subscription", ledgetest.SubscriptionJSON("silent", "silent", namedChannels("silent", port, 60)), http.StatusBadRequest)
	if !strings.Contains(got.Body, "no name server has answered in time") && !strings.Contains(got.Body, "i/o timeout") {
		t.Errorf("got %s", got.Body)
	}
	a.held(t)
	a.Stop()
	p := ledgetest.LaunchUnder(t, asks, a.Dir)
	if err := p.WaitReady(); err != nil { // though 40 names have no answer
		t.Fatal(err, p.Log)
	}
	if _, ok := p.Log.Find(`"msg":"channel bound"`); ok {
		t.Error("a channel was bound without a name server")
	}
	dns.Silence(false)
	ledgetest.Await(p, "all channels bound", func() bool { return strings.Count(p.Log.String(), `"msg":"channel bound"`) == 40 })
}

package delivery

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ledge/bridge/porttest"
	"ledge/cmd/ledgetest"
)

// A ZeroMQ channel gets no privileged port, none of Ledge's own on any address, and only what allow-binds has.
func TestGuardedBinds(t *testing.T) {
	fine := porttest.Hold(t)
	p := ledgetest.Start(t, t.TempDir(), "--allow-binds", "127.0.0.0/8")
	for _, c := range []struct {
		host, want string
		port       int
	}{
		{"127.0.0.1", "channels[0].port: 80 is privileged; choose one from 1024 to 65535", 80},
		{"127.0.0.2", "is Ledge's own, for core-metadata; choose another", ledgetest.URLPort(t, p.Metadata)},
		{"127.0.0.2", "is Ledge's own, for support-notifications; choose another", ledgetest.URLPort(t, p.Notifications)},
		{"127.0.0.2", "is Ledge's own, for NATS clients; choose another", ledgetest.URLPort(t, p.NATS)},
		{"*", "channels[0].host: * with port", fine},
	} {
		a := p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/subscription", ledgetest.ChannelJSON("s", c.host, c.port), http.StatusBadRequest)
		if !strings.Contains(a.Body, c.want) {
			t.Errorf("%s:%d: got %s, want %q", c.host, c.port, a.Body, c.want)
		}
	}
	p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/subscription", ledgetest.ChannelJSON("s", "127.0.0.1", fine), http.StatusCreated)
}

// A device service is not registered where only the machine may ask, and is where device services are.
func TestGuardedServices(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	for address, want := range map[string]int{
		"http://169.254.169.254": http.StatusBadRequest, "http://metadata.google.internal/x": http.StatusBadRequest,
		"http://localhost:59901": http.StatusMultiStatus, "http://192.168.1.5:59901": http.StatusMultiStatus,
	} {
		a := p.Call(http.MethodPost, p.Metadata+"/api/v2/deviceservice", "application/json",
			fmt.Sprintf(`[{"apiVersion":"v2","service":{"name":"s-%d","baseAddress":%q,"adminState":"UNLOCKED"}}]`, len(address), address))
		if a.Status != want || strings.Contains(a.Body, `service.baseAddress: `) != (want == http.StatusBadRequest) {
			t.Errorf("%s: %d %s, want %d", address, a.Status, a.Body, want)
		}
	}
}

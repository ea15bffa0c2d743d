package main

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"ledge/bridge/porttest"
)

// channelJSON is a subscription with one ZeroMQ channel, as posted.
func channelJSON(name, host string, port int) string {
	return fmt.Sprintf(`[{"apiVersion":"v2","subscription":{"name":%q,"receiver":"me","adminState":"UNLOCKED","categories":["DEVICE_CHANGED"],`+
		`"channels":[{"type":"ZeroMQ","host":%q,"port":%d,"topic":"cam"}]}}]`, name, host, port)
}

// A ZeroMQ channel gets no privileged port, none of Ledge's own on any address, and only what allow-binds has.
func TestGuardedBinds(t *testing.T) {
	fine := porttest.Hold(t)
	p := start(t, t.TempDir(), "--allow-binds", "127.0.0.0/8")
	for _, c := range []struct {
		host, want string
		port       int
	}{
		{"127.0.0.1", "channels[0].port: 80 is privileged; choose one from 1024 to 65535", 80},
		{"127.0.0.2", "is Ledge's own, for core-metadata; choose another", urlPort(t, p.metadata)},
		{"127.0.0.2", "is Ledge's own, for support-notifications; choose another", urlPort(t, p.notifications)},
		{"127.0.0.2", "is Ledge's own, for the tap; choose another", urlPort(t, p.tap)},
		{"*", "channels[0].host: * with port", fine},
	} {
		a := p.postJSON(http.MethodPost, p.notifications+"/api/v2/subscription", channelJSON("s", c.host, c.port), http.StatusBadRequest)
		if !strings.Contains(a.body, c.want) {
			t.Errorf("%s:%d: got %s, want %q", c.host, c.port, a.body, c.want)
		}
	}
	p.postJSON(http.MethodPost, p.notifications+"/api/v2/subscription", channelJSON("s", "127.0.0.1", fine), http.StatusCreated)
}

func urlPort(t *testing.T, address string) int {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(u.Host)
	if err != nil {
		t.Fatal(err)
	}
	n, _ := strconv.Atoi(port)
	return n
}

// A device service is not registered where only the machine may ask, and is where device services are.
func TestGuardedServices(t *testing.T) {
	p := start(t, t.TempDir())
	for address, want := range map[string]int{
		"http://169.254.169.254": http.StatusBadRequest, "http://metadata.google.internal/x": http.StatusBadRequest,
		"http://localhost:59901": http.StatusMultiStatus, "http://192.168.1.5:59901": http.StatusMultiStatus,
	} {
		a := p.call(http.MethodPost, p.metadata+"/api/v2/deviceservice", "application/json",
			fmt.Sprintf(`[{"apiVersion":"v2","service":{"name":"s-%d","baseAddress":%q,"adminState":"UNLOCKED"}}]`, len(address), address))
		if a.status != want || strings.Contains(a.body, `service.baseAddress: `) != (want == http.StatusBadRequest) {
			t.Errorf("%s: %d %s, want %d", address, a.status, a.body, want)
		}
	}
}

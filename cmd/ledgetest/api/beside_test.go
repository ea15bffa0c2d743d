package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ledge/bridge/porttest"
	"ledge/cmd/internal/services"
	"ledge/cmd/ledgetest"
)

// TestDefaultProtocol holds that devices of device-rest without protocolName are refused with the setting in the cure, and that they have
// its protocol with it: also devices that come to device-rest.
func TestDefaultProtocol(t *testing.T) {
	plain := strings.Replace(ledgetest.DeviceJSON("cam-1"), `"protocolName":"rest",`, "", 1) // as edgex-cli and edgex-ui post it
	const service = `[{"apiVersion":"v2","service":{"name":"svc","baseAddress":"http://localhost:1","adminState":"UNLOCKED"}}]`
	other := strings.NewReplacer("cam-1", "cam-2", "device-rest", "svc").Replace(plain)
	const move = `[{"apiVersion":"v2","device":{"name":"cam-2","serviceName":"device-rest"}}]`
	for _, protocol := range []string{"", "http"} {
		p := ledgetest.Start(t, t.TempDir(), "--default-protocol", protocol)
		devices := p.Metadata + "/api/v2/device"
		p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/deviceservice", service, http.StatusCreated)
		p.PostJSON(http.MethodPost, devices, "["+other+"]", http.StatusCreated)
		if protocol == "" {
			for method, body := range map[string]string{http.MethodPost: "[" + plain + "]", http.MethodPatch: move} {
				a := p.Call(method, devices, "application/json", body)
				if !strings.Contains(a.Body, `"statusCode":400`) || !strings.Contains(a.Body, "in the setting default-protocol") {
					t.Errorf("%s: got %d %s", method, a.Status, a.Body)
				}
			}
			continue
		}
		p.PostJSON(http.MethodPost, devices, "["+plain+"]", http.StatusCreated)
		p.PostJSON(http.MethodPatch, devices, move, http.StatusOK)
		for _, name := range []string{"cam-1", "cam-2"} {
			if d := p.Get(devices+"/name/"+name, "device"); d["protocolName"] != protocol || d["serviceName"] != services.DeviceREST {
				t.Errorf("%s: %v", name, d)
			}
		}
	}
}

// TestAnotherDeviceREST runs a device service on EdgeX's own SDK under the name of device-rest, beside the one inside Ledge: its devices
// have no protocolName, and it is asked, told and commanded as other device services are, also after a crash of Ledge. Both take data. The
// registry lists it at its own address.
func TestAnotherDeviceREST(t *testing.T) {
	t.Parallel()
	path := ledgetest.BuildOnEdgeX(t, sdkFolder)
	dir, port := t.TempDir(), porttest.Hold(t)
	c := newConsul(t)
	c.start()
	metadata := fmt.Sprint(porttest.Hold(t))
	flags := []string{"--default-protocol", "rest", "--samples=false", "--metadata-port", metadata, "--registry", c.address()}
	p := ledgetest.Start(t, dir, flags...)
	c.wantAll(p, "127.0.0.1")
	s := startSDKService(p, t, path, port, "SDK_SERVICE_NAME=device-rest", "EDGEX_USE_REGISTRY=true", fmt.Sprint("REGISTRY_PORT=", c.port))
	s.awaits("added room-1 UNLOCKED")
	s.knows("room-1 UNLOCKED [indoor], thermometer: a thermometer 2")
	if d := p.Get(p.Metadata+"/api/v2/deviceservice/name/device-rest", "service"); d["baseAddress"] != s.url {
		t.Errorf("the service has not registered itself: %v", d)
	}
	device := func(name string) string {
		plain := strings.NewReplacer("sample-image", "thermometer", `"protocolName":"rest",`, "")
		return "[" + plain.Replace(ledgetest.DeviceJSON(name)) + "]"
	}
	devices := p.Metadata + "/api/v2/device"
	a := p.PostJSON(http.MethodPost, devices, device("bad-1"), http.StatusInternalServerError)
	if !strings.Contains(a.Body, "bad-1 has no address") {
		t.Errorf("the driver's refusal is not in the answer: %s", a.Body)
	}
	p.PostJSON(http.MethodPost, devices, device("room-2"), http.StatusCreated)
	s.awaits("added room-2 UNLOCKED")
	p.Kill()
	p = ledgetest.Start(t, dir, flags...)
	p.PostJSON(http.MethodPatch, devices, `[{"apiVersion":"v2","device":{"name":"room-2","adminState":"LOCKED"}}]`, http.StatusOK)
	s.awaits("updated room-2 LOCKED")
	c.until("the registrations of the second start", func() bool { return c.taken["support-notifications"] > 1 })
	c.until("the other device-rest at its own address", func() bool { return c.listed["device-rest"].Port == port })
	p.PostJSON(http.MethodPost, devices, device("bad-2"), http.StatusInternalServerError)
	a = p.Call(http.MethodGet, p.URLs[services.Command]+"/api/v2/device/name/room-1/temperature", "", "")
	if a.Status != http.StatusOK || !strings.Contains(a.Body, `"value":"2.150000e+01"`) {
		t.Errorf("the command: got %d %s", a.Status, a.Body)
	}
	a = p.Call(http.MethodPost, p.DeviceREST+"/api/v2/resource/room-1/temperature", "text/plain", "20.5")
	if a.Status != http.StatusOK {
		t.Errorf("a value for the device-rest inside Ledge: got %d %s", a.Status, a.Body)
	}
	own := fmt.Sprintf(`[{"apiVersion":"v2","service":{"name":"device-rest","baseAddress":%q}}]`, p.DeviceREST)
	p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/deviceservice", own, http.StatusOK)
	p.PostJSON(http.MethodPost, devices, device("bad-3"), http.StatusCreated)
}

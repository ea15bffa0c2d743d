package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ledge/bridge/porttest"
	"ledge/cmd/ledgetest"
)

// sdkService is a device service on EdgeX's device SDK for Go, which is a module of its own: Ledge does not depend on it.
type sdkService struct {
	p   *ledgetest.Node
	cmd *exec.Cmd
	out *ledgetest.Output
	url string
}

const sdkFolder = "testdata/sdkservice"

// startSDKService starts the device service. env has further variables of its environment.
func startSDKService(p *ledgetest.Node, t *testing.T, path string, port int, env ...string) *sdkService {
	t.Helper()
	s := &sdkService{p: p, out: &ledgetest.Output{More: make(chan struct{}, 1)}, url: fmt.Sprintf("http://127.0.0.1:%d", port)}
	s.cmd = exec.Command(path)
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = sdkFolder, s.out, s.out
	s.cmd.Env = append(os.Environ(), "EDGEX_SECURITY_SECRET_STORE=false", fmt.Sprint("SERVICE_PORT=", port),
		"CLIENTS_CORE_METADATA_PORT="+p.Metadata[strings.LastIndex(p.Metadata, ":")+1:])
	s.cmd.Env = append(s.cmd.Env, env...) // the last one of a name holds
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	s.awaits("Service started in")
	return s
}

func (s *sdkService) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait()
}

// awaits waits until the service prints text.
func (s *sdkService) awaits(text string) {
	s.p.TB.Helper()
	ledgetest.Until(s.p.TB, "the device service to print "+text+"\n"+s.out.String(), func() bool { _, ok := s.out.Find(text); return ok })
}

// did returns what the SDK had its driver do, in order, without what a crash of Ledge had it do again.
func (s *sdkService) did() (done []string) {
	for line := range strings.Lines(s.out.String()) {
		line = strings.TrimSpace(line)
		verb, _, _ := strings.Cut(line, " ")
		if slices.Contains([]string{"added", "updated", "removed"}, verb) && !slices.Contains(done, line) {
			done = append(done, line)
		}
	}
	return done
}

// knows waits until the SDK's own picture of metadata is this, with devices and watchers in order of their names.
func (s *sdkService) knows(want string) {
	s.p.TB.Helper()
	var got string
	defer func() {
		if s.p.TB.Failed() {
			s.p.TB.Logf("the SDK knows %s\nnot        %s\n%s", got, want, s.out)
		}
	}()
	ledgetest.Until(s.p.TB, "the SDK to know "+want, func() bool { got = s.known(); return got == want })
}

func (s *sdkService) known() string {
	var all struct {
		Devices []struct {
			Name, AdminState string
			Labels           []string
		}
		Profiles []struct {
			Name, Description string
			DeviceResources   []struct{ Name string }
		}
		Watchers []struct{ Name string }
	}
	a, err := ledgetest.TryCall(http.MethodGet, s.url+"/known", "", "")
	if err == nil {
		err = json.Unmarshal([]byte(a.Body), &all)
	}
	if err != nil {
		return err.Error()
	}
	var parts []string
	for _, d := range all.Devices {
		parts = append(parts, fmt.Sprint(d.Name, " ", d.AdminState, " ", d.Labels))
	}
	for _, d := range all.Profiles {
		parts = append(parts, fmt.Sprint(d.Name, ": ", d.Description, " ", len(d.DeviceResources)))
	}
	for _, d := range all.Watchers {
		parts = append(parts, "watcher "+d.Name)
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// TestEdgeXDeviceService runs a device service on EdgeX's own SDK against Ledge: it registers itself, uploads its profile
// and its device, is asked about devices, and follows what changes, also when either side was down.
func TestEdgeXDeviceService(t *testing.T) {
	t.Parallel()
	path := ledgetest.BuildOnEdgeX(t, sdkFolder)
	dir, port := t.TempDir(), porttest.Hold(t)
	flags := []string{"--metadata-port", fmt.Sprint(porttest.Hold(t))}
	p := ledgetest.Start(t, dir, flags...)
	s := startSDKService(p, t, path, port)
	s.awaits("added room-1 UNLOCKED")
	s.knows("room-1 UNLOCKED [indoor], thermometer: a thermometer 2")
	if a := p.Call(http.MethodGet, p.Metadata+"/api/v2/deviceservice/name/device-sdk", "", ""); !strings.Contains(a.Body, s.url) {
		t.Errorf("the service has not registered itself: %s", a.Body)
	}

	device := func(name string) string {
		return strings.NewReplacer("device-rest", "device-sdk", "sample-image", "thermometer").Replace(ledgetest.DeviceJSON(name))
	}
	devices := p.Metadata + "/api/v2/device"
	a := p.PostJSON(http.MethodPost, devices, "["+device("room-2")+","+device("bad-1")+"]", 201, 500)
	if !strings.Contains(a.Body, "device validation failed") || !strings.Contains(a.Body, "bad-1 has no address") {
		t.Errorf("the driver's refusal is not in the answer: %s", a.Body)
	}
	p.PostJSON(http.MethodPatch, devices, `[{"apiVersion":"v2","device":{"name":"room-1","labels":[]}},{"apiVersion":"v2","device":{"name":"room-2","adminState":"LOCKED","labels":["cold"]}}]`, 200, 200)
	p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/deviceprofile/basicinfo", `[{"apiVersion":"v2","basicinfo":{"name":"thermometer","description":"patched"}}]`, 200)
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/provisionwatcher", `[{"apiVersion":"v2","provisionWatcher":{"name":"finder","identifiers":{"a":"b"},"serviceName":"device-sdk","profileName":"thermometer","adminState":"UNLOCKED"}}]`, 201)
	s.knows("room-1 UNLOCKED [], room-2 LOCKED [cold], thermometer: patched 2, watcher finder")

	p.Kill() // Ledge is down, and comes back
	p = ledgetest.Start(t, dir, flags...)
	p.PostJSON(http.MethodPatch, devices, `[{"apiVersion":"v2","device":{"name":"room-2","adminState":"UNLOCKED"}}]`, 200)
	if a := p.Call(http.MethodDelete, devices+"/name/room-1", "", ""); a.Status != http.StatusOK {
		t.Fatalf("delete: %d %s", a.Status, a.Body)
	}
	s.awaits("removed room-1")
	s.knows("room-2 UNLOCKED [cold], thermometer: patched 2, watcher finder")
	want := []string{"added room-1 UNLOCKED", "added room-2 UNLOCKED", "updated room-1 UNLOCKED", "updated room-2 LOCKED", "updated room-2 UNLOCKED", "removed room-1"}
	if got := s.did(); !slices.Equal(got, want) {
		t.Errorf("the driver did\n%q\nwant\n%q", got, want)
	}

	s.stop() // the service is down, and comes back
	p.PostJSON(http.MethodPost, devices, "["+device("room-3")+"]", 201)
	s = startSDKService(p, t, path, port)
	s.knows("room-1 UNLOCKED [indoor], room-2 UNLOCKED [cold], room-3 UNLOCKED [], thermometer: patched 2, watcher finder")
}

// TestEdgeXServiceRole runs the device service with the rights of the role service: they suffice for it, and do not let it remove data,
// subscriptions or secrets. An application service's subscription and notification are taken.
func TestEdgeXServiceRole(t *testing.T) {
	t.Parallel()
	path := ledgetest.BuildOnEdgeX(t, sdkFolder)
	p := ledgetest.Start(t, t.TempDir(), "--secure", "--loopback", "service")
	for _, url := range []*string{&p.Metadata, &p.CoreData, &p.Notifications} {
		*url = ledgetest.At(t, *url, "http", "127.0.0.1")
	}
	s := startSDKService(p, t, path, porttest.Hold(t))
	s.awaits("added room-1 UNLOCKED")
	s.knows("room-1 UNLOCKED [indoor], thermometer: a thermometer 2")
	const down = `[{"apiVersion":"v2","device":{"name":"room-1","operatingState":"DOWN"}}]`
	p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/device", down, 200)
	channel := fmt.Sprintf(`{"type":"ZeroMQ","host":"127.0.0.1","port":%d,"topic":"t"}`, porttest.Hold(t))
	subscription := ledgetest.SubscriptionJSON("app", "c", channel)
	p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/subscription", subscription, 201)
	const notification = `[{"apiVersion":"v2","notification":{"category":"c","content":"x","sender":"app","severity":"NORMAL"}}]`
	p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/notification", notification, 201)
	for _, url := range []string{
		p.CoreData + "/api/v2/event/age/0", p.CoreData + "/api/v2/event/device/name/room-1", p.Notifications + "/api/v2/cleanup",
		p.Notifications + "/api/v2/subscription/name/app", p.Metadata + "/api/v2/deviceservice/name/device-sdk",
	} {
		if a := p.Call(http.MethodDelete, url, "", ""); a.Status != http.StatusForbidden || !strings.Contains(a.Body, "operator or admin") {
			t.Errorf("DELETE %s: got %d %s, want 403", url, a.Status, a.Body)
		}
	}
}

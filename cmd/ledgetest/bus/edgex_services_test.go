package bus

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"ledge/bridge/porttest"
	"ledge/cmd/internal/services"
	"ledge/cmd/ledgetest"
)

// startService runs a service of EdgeX's in its folder until the test ends.
func startService(t *testing.T, path, folder string, p *ledgetest.Node, env ...string) *busClient {
	t.Helper()
	cmd := exec.Command(path)
	b := &busClient{t: t, cmd: cmd, out: &ledgetest.Output{More: make(chan struct{}, 1)}}
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, b.out, b.out
	cmd.Env = append(os.Environ(), "EDGEX_SECURITY_SECRET_STORE=false", fmt.Sprint("SERVICE_PORT=", porttest.Hold(t)),
		"CLIENTS_CORE_METADATA_PORT="+portOf(p.Metadata))
	cmd.Env = append(cmd.Env, env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s says\n%s", folder, b.out)
		}
	})
	return b
}

// TestEdgeXServices runs a device service on EdgeX's device SDK and an application service on its application SDK, with each message bus.
// Over Redis they have EdgeX's default login. The readings of the device service are in core-data once, also after it or Ledge was killed.
// The application service hears them, and the events that are posted over REST: simple, with several values, and binary.
func TestEdgeXServices(t *testing.T) {
	t.Parallel()
	const tag, device, app = "include_nats_messaging", "../api/testdata/sdkservice", "testdata/appservice"
	devicePath, appPath := ledgetest.BuildOnEdgeX(t, device, tag), ledgetest.BuildOnEdgeX(t, app, tag)
	for _, c := range []struct{ kind, protocol, setting, login string }{
		{"redis", "redis", "--edgex-bus=redis:", "usernamepassword"}, {"mqtt", "tcp", "--edgex-bus=mqtt:", "none"},
		{"nats-jetstream", "tcp", "--nats-port=", "none"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			dir, port := t.TempDir(), fmt.Sprint(porttest.Hold(t))
			flags := []string{c.setting + port}
			for _, service := range []string{"metadata", "command"} {
				flags = append(flags, "--"+service+"-port", fmt.Sprint(porttest.Hold(t)))
			}
			p := ledgetest.Start(t, dir, flags...)
			busOf := func(section string) []string {
				return []string{section + "_HOST=127.0.0.1", section + "_PORT=" + port, section + "_PROTOCOL=" + c.protocol}
			}
			const trigger = "TRIGGER_EDGEXMESSAGEBUS_"
			hears := startService(t, appPath, app, p, append(append(busOf(trigger+"SUBSCRIBEHOST"), busOf(trigger+"PUBLISHHOST")...),
				trigger+"TYPE="+c.kind, trigger+"OPTIONAL_AUTHMODE="+c.login)...)
			hears.want("StoreAndForward disabled")
			queue := append(busOf("MESSAGEQUEUE"), "MESSAGEQUEUE_TYPE="+c.kind, "MESSAGEQUEUE_AUTHMODE="+c.login,
				"DEVICE_USEMESSAGEBUS=true")
			devices := startService(t, devicePath, device, p, queue...)
			devices.want("added room-1")

			read := func(command string) {
				t.Helper()
				url := p.URLs[services.Command] + "/api/v2/device/name/room-1/" + command + "?ds-pushevent=yes"
				if a := p.Call(http.MethodGet, url, "", ""); a.Status != http.StatusOK {
					t.Fatalf("%s: %d %s", command, a.Status, a.Body)
				}
			}
			recorded := func(n int) {
				t.Helper()
				ledgetest.Until(t, fmt.Sprint(n, " events"), func() bool { return p.CountEvents("room-1") == n })
			}
			read("temperature")
			read("all")
			recorded(2)
			hears.want("heard room-1 temperature 2.150000e+01")
			hears.want("heard room-1 all 2.150000e+01 2.150000e+01")
			if a := p.PostImage("\xff\xd8\xff\xd9"); a.Status != http.StatusOK {
				t.Fatalf("an image: %d %s", a.Status, a.Body)
			}
			hears.want("heard sample-image jpeg 4")

			_ = devices.cmd.Process.Kill()
			startService(t, devicePath, device, p, queue...).want("Service started in")
			read("temperature")
			recorded(3)
			p.Kill()
			p = ledgetest.Start(t, dir, flags...)
			recorded(3)
			ledgetest.Until(t, "an event after the crash", func() bool { read("temperature"); return p.CountEvents("room-1") > 3 })
		})
	}
}

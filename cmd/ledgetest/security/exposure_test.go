package security

import (
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/secure"
	"ledge/cmd/internal/services"
	"ledge/cmd/ledgetest"
)

// An address that other machines can reach is refused at the start, before anything is listened on or written.
func TestOpenAddressesAreRefused(t *testing.T) {
	t.Parallel()
	ports := services.FreePorts("0")
	for _, setting := range []string{"host", "metadata-port", "console-port", "nats-host"} {
		for _, host := range []string{"0.0.0.0", "::", "192.0.2.1", "::ffff:192.0.2.1", "169.254.1.1"} {
			dir := filepath.Join(t.TempDir(), "data")
			c := config.Default()
			flags := c.Settings()
			value := host
			if strings.HasSuffix(setting, "-port") {
				value = net.JoinHostPort(host, "0")
			}
			if err := flags.Parse(append(slices.Clone(ports), "--data-dir", dir, "--"+setting, value)); err != nil {
				t.Fatal(err)
			}
			_, err := secure.FindAddresses(t.Context(), c.BindSettings(), c.AllowInsecure || c.Secure)
			if e, ok := errors.AsType[exit.Error](err); !ok || e.Code != exit.Usage || !strings.Contains(err.Error(), "setting "+setting+": "+host) || !strings.Contains(err.Error(), "or set allow-insecure") {
				t.Errorf("%s %s: got %v", setting, host, err)
			}
		}
	}
	dir := filepath.Join(t.TempDir(), "data")
	_, stderr, code := ledgetest.Run(t, slices.Concat([]string{"serve"}, ports, []string{"--data-dir", dir, "--metadata-port", "0.0.0.0:0", "--nats-host", "::"})...)
	for _, want := range []string{"setting metadata-port: 0.0.0.0 can be reached", "setting nats-host: :: can be reached", "127.0.0.1", "reverse proxy", "allow-insecure"} {
		if code != exit.Usage || !strings.Contains(stderr, want) {
			t.Errorf("exit code %d, %q does not say %q", code, stderr, want)
		}
	}
	if left, _ := filepath.Glob(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// With allow-insecure it is listened on, and one line of the log says so. A bus that is off is not an address.
func TestOpenAddressesAreNamed(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir(), "--allow-insecure", "--host", "LocalHost.", "--data-port", "0.0.0.0:0", "--nats-host", "0.0.0.0", "--notifications-port", "127.0.0.2:0")
	port := func(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }
	got := p.Call(http.MethodGet, "http://127.0.0.3:"+port(p.CoreData)+"/api/v2/ping", "", "")
	if got.Status != http.StatusOK {
		t.Errorf("127.0.0.3: got %d %s", got.Status, got.Body)
	}
	p.Stop()
	var lines []string
	for line := range strings.Lines(p.Log.String()) {
		if strings.Contains(line, "allow-insecure") {
			lines = append(lines, line)
		}
	}
	if len(lines) != 1 || !strings.Contains(lines[0], `"level":"WARN"`) {
		t.Fatalf("got %q, want one line of level WARN", lines)
	}
	for name, want := range map[string]string{
		services.Data: p.CoreData, "nats": p.NATS, services.Metadata: "", services.DeviceREST: "", services.Notifications: "",
	} {
		_, want, _ = strings.Cut(want, "://")
		if got := ledgetest.LogField(lines[0], name); got != want || want != "" && !strings.HasPrefix(want, "[::]:") && !strings.HasPrefix(want, "0.0.0.0:") {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	q := ledgetest.Start(t, t.TempDir(), "--nats-host", "0.0.0.0", "--nats-port", "-1", "--device-rest-port", "[::1]:0")
	if !strings.Contains(q.DeviceREST, "[::1]:") {
		t.Errorf("device-rest is at %s", q.DeviceREST)
	}
	q.Stop()
	if _, ok := q.Log.Find("allow-insecure"); ok {
		t.Error("a start on loopback addresses warns")
	}
}

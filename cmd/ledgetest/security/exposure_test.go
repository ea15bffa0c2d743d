package security

import (
	"errors"
	"net/http"
	"path/filepath"
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
	for _, setting := range []string{"metadata-host", "data-host", "device-rest-host", "notifications-host", "nats-host"} {
		for _, host := range []string{"0.0.0.0", "::", "192.0.2.1", "::ffff:192.0.2.1", "169.254.1.1"} {
			dir := filepath.Join(t.TempDir(), "data")
			c := config.Default()
			flags := c.Settings()
			if err := flags.Parse(append([]string{"--data-dir", dir, "--" + setting, host}, ports...)); err != nil {
				t.Fatal(err)
			}
			_, err := secure.FindAddresses(t.Context(), c.BindSettings(), c.AllowInsecure || c.Secure)
			if e, ok := errors.AsType[exit.Error](err); !ok || e.Code != exit.Usage || !strings.Contains(err.Error(), "setting "+setting+": "+host) || !strings.Contains(err.Error(), "or set allow-insecure") {
				t.Errorf("%s %s: got %v", setting, host, err)
			}
		}
	}
	dir := filepath.Join(t.TempDir(), "data")
	_, stderr, code := ledgetest.Run(t, append([]string{"serve", "--data-dir", dir, "--metadata-host", "0.0.0.0", "--nats-host", "::"}, ports...)...)
	for _, want := range []string{"setting metadata-host: 0.0.0.0 can be reached", "setting nats-host: :: can be reached", "127.0.0.1", "reverse proxy", "allow-insecure"} {
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
	p := ledgetest.Start(t, t.TempDir(), "--allow-insecure", "--data-host", "0.0.0.0", "--nats-host", "0.0.0.0", "--metadata-host", "LocalHost.", "--notifications-host", "127.0.0.2")
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
	for setting, want := range map[string]string{"data-host": p.CoreData, "nats-host": p.NATS, "metadata-host": "", "device-rest-host": "", "notifications-host": ""} {
		_, want, _ = strings.Cut(want, "://")
		if got := ledgetest.LogField(lines[0], setting); got != want || want != "" && !strings.HasPrefix(want, "[::]:") && !strings.HasPrefix(want, "0.0.0.0:") {
			t.Errorf("%s: got %q, want %q", setting, got, want)
		}
	}
	q := ledgetest.Start(t, t.TempDir(), "--nats-host", "0.0.0.0", "--nats-port", "-1", "--device-rest-host", "::1")
	if !strings.Contains(q.DeviceREST, "[::1]:") {
		t.Errorf("device-rest is at %s", q.DeviceREST)
	}
	q.Stop()
	if _, ok := q.Log.Find("allow-insecure"); ok {
		t.Error("a start on loopback addresses warns")
	}
}

package security

import (
	"net/http"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
)

// With allow-insecure it is listened on, and one line of the log says so. A tap that is off is not an address.
func TestOpenAddressesAreNamed(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir(), "--allow-insecure", "--data-host", "0.0.0.0", "--tap-host", "0.0.0.0", "--metadata-host", "LocalHost.", "--notifications-host", "127.0.0.2")
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
	for setting, want := range map[string]string{"data-host": p.CoreData, "tap-host": p.Tap, "metadata-host": "", "device-rest-host": "", "notifications-host": ""} {
		_, want, _ = strings.Cut(want, "://")
		if got := ledgetest.LogField(lines[0], setting); got != want || want != "" && !strings.HasPrefix(want, "[::]:") && !strings.HasPrefix(want, "0.0.0.0:") {
			t.Errorf("%s: got %q, want %q", setting, got, want)
		}
	}
	q := ledgetest.Start(t, t.TempDir(), "--tap-host", "0.0.0.0", "--tap-port", "-1", "--device-rest-host", "::1")
	if !strings.Contains(q.DeviceREST, "[::1]:") {
		t.Errorf("device-rest is at %s", q.DeviceREST)
	}
	q.Stop()
	if _, ok := q.Log.Find("allow-insecure"); ok {
		t.Error("a start on loopback addresses warns")
	}
}

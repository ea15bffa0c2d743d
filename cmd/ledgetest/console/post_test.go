package console

import (
	"html"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// TestConsolePostTo runs the command that the page of a device shows, before and after the first value, for each kind of value.
func TestConsolePostTo(t *testing.T) {
	t.Parallel()
	ledgetest.NeedCurl(t)
	p := ledgetest.Start(t, t.TempDir())
	ledgetest.AddSensorProfile(p)
	ledgetest.AddSensor(p, "hall-1", "")
	c := p.NewRole(t, domain.Viewer)
	if err := os.WriteFile(filepath.Join(p.Dir, "FILE"), []byte(drawn(0)), 0o600); err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`<pre [^>]*class="snippet"[^>]*>(curl [^<]*)</pre>`)
	for resource, mediaType := range map[string]string{
		"image": "image/jpeg", "people": "text/plain", "note": "text/plain", "status": "application/json", "firmware": "application/octet-stream",
	} {
		for range 2 {
			page := c.Get("/devices/hall-1?resource=" + resource)
			ledgetest.Want(page, t, http.StatusOK, p.DeviceREST+"/api/v2/resource/hall-1/"+resource, "listens on this machine only", "'Content-Type: "+mediaType+"'")
			found := command.FindStringSubmatch(page.Text)
			if found == nil {
				t.Fatalf("%s: no command in\n%s", resource, page.Text)
			}
			run := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(html.UnescapeString(found[1]), "curl ", "curl -sS --fail-with-body --noproxy '*' ", 1))
			run.Dir = p.Dir
			if out, err := run.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", found[1], err, out)
			}
		}
		ledgetest.Want(c.Get("/readings?device=hall-1&resource="+resource), t, http.StatusOK, "2 readings")
	}
	const locked = "The device is LOCKED, and refuses values"
	if strings.Contains(c.Get("/devices/hall-1").Text, locked) {
		t.Error("the page calls an unlocked device LOCKED")
	}
	p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/device",
		`[{"apiVersion":"v2","device":{"name":"hall-1","adminState":"LOCKED"}}]`, http.StatusOK)
	ledgetest.Want(c.Get("/devices/hall-1"), t, http.StatusOK, locked)
}

package main

import (
	"html"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ledge/domain"
)

// TestConsolePostTo runs the command that the page of a device shows, before and after the first value, for each kind of value.
func TestConsolePostTo(t *testing.T) {
	t.Parallel()
	needCurl(t)
	p := start(t, t.TempDir())
	p.addSensorProfile()
	p.addSensor("hall-1", "")
	c := p.newRole(t, domain.Viewer)
	if err := os.WriteFile(filepath.Join(p.dir, "FILE"), []byte(drawn(0)), 0o600); err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`<pre [^>]*class="snippet"[^>]*>(curl [^<]*)</pre>`)
	for resource, mediaType := range map[string]string{
		"image": "image/jpeg", "people": "text/plain", "note": "text/plain", "status": "application/json", "firmware": "application/octet-stream",
	} {
		for range 2 {
			page := c.get("/devices/hall-1?resource=" + resource)
			page.want(t, http.StatusOK, p.deviceREST+"/api/v2/resource/hall-1/"+resource, "listens on this machine only", "'Content-Type: "+mediaType+"'")
			found := command.FindStringSubmatch(page.text)
			if found == nil {
				t.Fatalf("%s: no command in\n%s", resource, page.text)
			}
			run := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(html.UnescapeString(found[1]), "curl ", "curl -sS --fail-with-body --noproxy '*' ", 1))
			run.Dir = p.dir
			if out, err := run.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", found[1], err, out)
			}
		}
		c.get("/readings?device=hall-1&resource="+resource).want(t, http.StatusOK, "2 readings")
	}
}

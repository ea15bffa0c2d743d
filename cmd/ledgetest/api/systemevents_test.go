package api

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
)

// TestSystemEvents runs the consumer that docs/integrate.md shows and holds that it prints what EdgeX users expect.
func TestSystemEvents(t *testing.T) {
	if text := ledgetest.MustRead(t, "../../../docs/integrate.md"); !strings.Contains(text, "go run ./docs/tour/systemevents") {
		t.Fatal("docs/integrate.md does not say how to run the consumer")
	}
	example := filepath.Join(t.TempDir(), "systemevents")
	if out, err := exec.Command("go", "build", "-o", example, "../../../docs/tour/systemevents").CombinedOutput(); err != nil {
		t.Fatalf("build the consumer: %v\n%s", err, out)
	}
	p := ledgetest.Start(t, t.TempDir())
	out := (&ledgetest.Shell{T: t}).Background(exec.Command(example, p.Tap))
	ledgetest.Until(t, "the consumer", func() bool { return strings.Contains(out.String(), "listening on ") })
	p.AddDevice("cam-1")
	p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/device", `[{"apiVersion":"v2","device":{"name":"cam-1","labels":["door"]}}]`, 200)
	p.Call(http.MethodDelete, p.Metadata+"/api/v2/device/name/cam-1", "", "")
	const topic = "edgex/system-events/core-metadata/device/"
	ledgetest.Until(t, "three system events", func() bool { return strings.Count(out.String(), "\n"+topic) == 3 })

	lines := strings.Split(strings.TrimSpace(out.String()), "\n")[1:]
	for i, action := range []string{"add", "update", "delete"} {
		event, ok := strings.CutPrefix(lines[i], topic+action+"/device-rest/sample-image ")
		var e struct {
			APIVersion, Type, Action, Source, Owner string
			Details                                 struct {
				Name, ID string
				Labels   []string
			}
			Timestamp int64
		}
		if err := json.Unmarshal([]byte(event), &e); !ok || err != nil {
			t.Fatalf("%s: %v", lines[i], err)
		}
		if e.APIVersion != "v2" || e.Type != "device" || e.Action != action || e.Source != "core-metadata" || e.Owner != "device-rest" ||
			e.Details.Name != "cam-1" || e.Details.ID == "" || len(e.Details.Labels) != min(i, 1) || e.Timestamp < 1e18 {
			t.Errorf("got %s", lines[i])
		}
	}
}

package api

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"ledge/bridge/porttest"
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
	dir, natsPort, metadataPort := t.TempDir(), strconv.Itoa(porttest.Hold(t)), strconv.Itoa(porttest.Hold(t))
	flags := []string{"--nats-port", natsPort, "--metadata-port", metadataPort, "--bus-max-bytes", "1MiB"}
	p := ledgetest.Start(t, dir, flags...)
	p.AddDevice("old")
	fillCopy(p)
	out := (&ledgetest.Shell{T: t}).Background(exec.Command(example, p.NATS, p.Metadata))
	ledgetest.Until(t, "the consumer", func() bool { return strings.Contains(out.String(), "listening on ") })
	const topic = "edgex/system-events/core-metadata/device/"
	said := func() (lines []string) {
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(line, topic) {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
		return lines
	}
	p.AddDevice("cam-1")
	ledgetest.Until(t, "a system event", func() bool { return len(said()) == 1 })
	p.Kill()
	p = ledgetest.Start(t, dir, flags...)
	p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/device", `[{"apiVersion":"v2","device":{"name":"cam-1","labels":["door"]}}]`, 200)
	p.Call(http.MethodDelete, p.Metadata+"/api/v2/device/name/cam-1", "", "")
	ledgetest.Until(t, "two more after a kill", func() bool { return len(said()) == 3 })
	p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/device", `[{"apiVersion":"v2","device":{"name":"old","labels":["door"]}}]`, 200)
	ledgetest.Until(t, "a change of a device whose first events the copy does not have", func() bool { return len(said()) == 4 })

	lines := said()
	if !strings.Contains(lines[3], `"profileName":"sample-image"`) || !strings.Contains(lines[3], `"labels":["door"]`) || !strings.Contains(lines[3], `"name":"old"`) {
		t.Errorf("got %s", lines[3])
	}
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

// fillCopy changes a device until the copy of the log begins behind the first events, and waits until the copy has all changes.
func fillCopy(p *ledgetest.Node) {
	p.TB.Helper()
	nc, js := ledgetest.MustJetStream(p.TB, p.NATS)
	defer nc.Close()
	state := func() jetstream.StreamState {
		s, err := js.Stream(p.TB.Context(), "LEDGE_EVENTS")
		if err != nil {
			p.TB.Fatal(err)
		}
		return s.CachedInfo().State
	}
	p.AddDevice("big")
	first := state().LastSeq
	ledgetest.Until(p.TB, "the copy to be full", func() bool {
		for n := range 2 {
			text := strings.Repeat(strconv.Itoa(n), 100<<10)
			p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/device", `[{"apiVersion":"v2","device":{"name":"big","description":"`+text+`"}}]`, 200)
		}
		return state().FirstSeq > first
	})
	last := uint64(0)
	for _, f := range ledgetest.Facts(p.TB, p.Dir) {
		if strings.HasPrefix(f.Subject, "ledge.event.") {
			last = f.Seq
		}
	}
	ledgetest.Until(p.TB, "the copy to have all changes", func() bool { return state().LastSeq >= last })
}

package main

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// serviceConfig returns what a service shows under /api/v2/config.
func (p *process) serviceConfig(url string) map[string]string {
	p.tb.Helper()
	var got struct{ Config map[string]string }
	a := p.call(http.MethodGet, url+"/api/v2/config", "", "")
	if err := json.Unmarshal([]byte(a.body), &got); err != nil || a.status != http.StatusOK {
		p.tb.Fatalf("GET %s/api/v2/config: %d %s", url, a.status, a.body)
	}
	return got.Config
}

// Each service shows its settings under the names and with the values that `ledge config` prints, and all services
// together show all of them.
func TestServicesShowTheirSettings(t *testing.T) {
	t.Setenv("LEDGE_LIMIT_WRITE_TIME", "1m")
	p := start(t, t.TempDir(), "--max-result-count", "77", "--limit-inline-bytes", "2048")
	out, stderr, code := ledge(t, append([]string{"config"}, p.cmd.Args[2:]...)...)
	var want map[string]string
	if err := yaml.Unmarshal([]byte(out), &want); err != nil || code != exitOK {
		t.Fatalf("ledge config: %d %s, %v", code, stderr, err)
	}
	shown := map[string]string{}
	for _, s := range []struct {
		name, url string
		has, not  string
	}{
		{metadataService, p.metadata, "metadata-port limit-profile-bytes strict-profile-changes strict-profile-deletes units-file validate-units allow-destinations deny-destinations", "allow-binds device-rest-port data-port notifications-port limit-inline-bytes readings-max-age"},
		{dataService, p.coreData, "data-port limit-event-bytes limit-inline-bytes readings-max-age", "metadata-port limit-json-bytes limit-resource-bytes notifications-host"},
		{deviceRESTService, p.deviceREST, "device-rest-port limit-inline-bytes limit-json-bytes readings-max-age readings-check-state", "metadata-port notifications-max-age validate-units"},
		{notificationsService, p.notifications, "notifications-port notifications-max-age limit-json-bytes allow-binds allow-destinations deny-destinations", "metadata-host device-rest-host limit-profile-bytes"},
	} {
		got := p.serviceConfig(s.url)
		for name, value := range got {
			if w, ok := want[name]; !ok || value != w {
				t.Errorf("%s: %s is %q, want %q", s.name, name, value, w)
			}
		}
		for _, name := range append(strings.Fields(s.has), "data-dir", "log-level", "limit-write-time", "limit-body-memory", "tap-port") {
			if _, ok := got[name]; !ok {
				t.Errorf("%s does not show %s: %v", s.name, name, got)
			}
		}
		for _, name := range strings.Fields(s.not) {
			if _, ok := got[name]; ok {
				t.Errorf("%s shows %s", s.name, name)
			}
		}
		maps.Copy(shown, got)
	}
	if !maps.Equal(shown, want) {
		t.Errorf("shown by some service: %v\nwant %v", slices.Sorted(maps.Keys(shown)), slices.Sorted(maps.Keys(want)))
	}
	for name, value := range map[string]string{"max-result-count": "77", "limit-inline-bytes": "2KiB", "limit-write-time": "1m0s"} {
		if shown[name] != value {
			t.Errorf("%s: got %q, want %q", name, shown[name], value)
		}
	}
}

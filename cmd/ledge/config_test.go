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
	t.Setenv("LEDGE_RESEND_INTERVAL", "1m")
	p := start(t, t.TempDir(), "--max-result-count", "77", "--disk-reserve", "2048KiB")
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
		{metadataService, p.metadata, "metadata-port strict-profiles units-file pprof allow-destinations deny-destinations", "allow-binds device-rest-port data-port notifications-port persist-data readings-max-age"},
		{dataService, p.coreData, "data-port persist-data readings-max-age", "metadata-port strict-profiles notifications-host"},
		{deviceRESTService, p.deviceREST, "device-rest-port persist-data readings-max-age", "metadata-port notifications-max-age units-file"},
		{notificationsService, p.notifications, "notifications-port notifications-max-age resend-limit smtp-server allow-binds allow-destinations deny-destinations", "metadata-host device-rest-host persist-data"},
	} {
		got := p.serviceConfig(s.url)
		for name, value := range got {
			if w, ok := want[name]; !ok || value != w {
				t.Errorf("%s: %s is %q, want %q", s.name, name, value, w)
			}
		}
		for _, name := range append(strings.Fields(s.has), "data-dir", "log-level", "disk-reserve", "tap-port") {
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
	for name, value := range map[string]string{"max-result-count": "77", "disk-reserve": "2MiB", "resend-interval": "1m0s"} {
		if shown[name] != value {
			t.Errorf("%s: got %q, want %q", name, shown[name], value)
		}
	}
}

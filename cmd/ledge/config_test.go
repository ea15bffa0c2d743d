package main

import (
	"encoding/json"
	"fmt"
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
	for name, value := range map[string]string{"max-result-count": "77", "disk-reserve": "2MiB", "resend-interval": "1m"} {
		if shown[name] != value {
			t.Errorf("%s: got %q, want %q", name, shown[name], value)
		}
	}
}

// Times and sizes take their long units in the file, the environment and the flags, and are printed in the shortest form.
func TestUnits(t *testing.T) {
	t.Setenv("LEDGE_EVENTS_MAX_AGE", "1w2d")
	t.Setenv("LEDGE_EVENTS_MAX_BYTES", "1T")
	file := mustWriteFile(t, "c.yaml", "readings: {max-age: 2w, max-bytes: 512M, retention: 'cam.*.* age=1w bytes=2G'}")
	out, stderr, code := ledge(t, "config", "--config", file, "--notifications-max-age", "7d", "--notifications-max-bytes", "2048K", "--disk-reserve", "65536")
	for name, value := range map[string]string{
		"events-max-age": "9d", "events-max-bytes": "1TiB", "readings-max-age": "14d", "readings-max-bytes": "512MiB", "notifications-max-age": "7d",
		"notifications-max-bytes": "2MiB", "disk-reserve": "64KiB", "readings-retention": "cam.*.* age=1w bytes=2G", "resend-interval": "1s",
	} {
		if !strings.Contains(out, fmt.Sprintf("\n%s: %q\n", name, value)) {
			t.Errorf("%s is not %q: %d %s", name, value, code, stderr)
		}
	}
	for _, bad := range []string{"10GB", "10g", "1.5G", "G", "-1G", "10K5", "9999999T", "10 GiBs"} {
		_, stderr, code := ledge(t, "config", "--disk-reserve", bad)
		if code != exitUsage || !strings.Contains(stderr, "is no size; write it as 512, 64KiB, 16M or 10G, which are powers of 1024") {
			t.Errorf("%s: %d %s", bad, code, stderr)
		}
	}
}

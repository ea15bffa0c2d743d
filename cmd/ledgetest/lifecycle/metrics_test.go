package lifecycle

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"ledge/cmd/internal/admin"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/services"
	"ledge/cmd/ledgetest"
)

// scrape returns the series of all ports with their values, and holds that no series is shown twice.
func scrape(p *ledgetest.Node, t *testing.T) map[string]float64 {
	t.Helper()
	all, from := map[string]float64{}, map[string]string{}
	for service, url := range ledgetest.Ports(p) {
		a := p.Call(http.MethodGet, url+"/metrics", "", "")
		if a.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", service, a.Status, a.Body)
		}
		for line := range strings.Lines(a.Body) {
			name, value, ok := strings.Cut(strings.TrimSpace(line), "} ")
			if ok {
				name += "}"
			} else if name, value, ok = strings.Cut(strings.TrimSpace(line), " "); !ok || strings.HasPrefix(line, "#") {
				continue
			}
			if strings.HasPrefix(line, "#") {
				continue
			}
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatalf("%s: %s", service, line)
			}
			if first := from[name]; first != "" {
				t.Errorf("%s is shown by %s and by %s", name, first, service)
			}
			all[name], from[name] = n, service
		}
	}
	return all
}

// TestMetricsAreWellFormed holds that each port's text is as Prometheus wants it, and that one port alone has the process's
// series.
func TestMetricsAreWellFormed(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir(), "--readings-retention", "camera.> age=1d")
	p.AddDevice("cam-1")
	process := 0
	for service, url := range ledgetest.Ports(p) {
		text := p.Call(http.MethodGet, url+"/metrics", "", "").Body
		problems, err := promlint.New(strings.NewReader(text)).Lint()
		if err != nil {
			t.Fatalf("%s: %v\n%s", service, err, text)
		}
		for _, problem := range problems {
			if strings.HasPrefix(problem.Metric, "ledge_") {
				t.Errorf("%s: %s: %s", service, problem.Metric, problem.Text)
			}
		}
		if strings.Contains(text, "\ngo_goroutines ") && strings.Contains(text, "\nprocess_start_time_seconds ") {
			process++
		}
		if own := `ledge_http_requests_total{method="GET",route=`; service == services.Metadata && !strings.Contains(text, own) && !strings.Contains(text, `service="`+service+`"`) {
			t.Errorf("%s has no requests of its own:\n%s", service, text)
		}
	}
	if process != 1 {
		t.Errorf("%d ports have the process's series, want 1", process)
	}
	scrape(p, t)
}

// moved is a series with how much a flow moves it, at least.
type moved struct {
	name  string
	least float64
}

// TestMetricsMove sends what moves each metric, and holds that it does.
func TestMetricsMove(t *testing.T) {
	t.Parallel()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/bad") {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	t.Cleanup(receiver.Close)
	host, port, _ := strings.Cut(strings.TrimPrefix(receiver.URL, "http://"), ":")
	p := ledgetest.Start(t, t.TempDir())
	before := scrape(p, t)
	subscription := func(name, path string) string {
		return fmt.Sprintf(`{"apiVersion":"v2","subscription":{"name":%q,"receiver":"r","categories":["c"],"resendLimit":1,"resendInterval":"1ms","adminState":"UNLOCKED",`+
			`"channels":[{"type":"REST","host":%q,"port":%s,"path":%q,"httpMethod":"POST"}]}}`, name, host, port, path)
	}
	p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/subscription", "["+subscription("good", "/good")+","+subscription("bad", "/bad")+"]", http.StatusCreated, http.StatusCreated)
	p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/notification", `[{"apiVersion":"v2","notification":{"category":"c","content":"x","sender":"s","severity":"NORMAL"}}]`, http.StatusCreated)
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/deviceservice", fmt.Sprintf(`[{"apiVersion":"v2","service":{"name":"svc","baseAddress":%q,"adminState":"UNLOCKED"}}]`, receiver.URL), http.StatusCreated)
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/device", "["+strings.Replace(ledgetest.DeviceJSON("cam-1"), `"device-rest"`, `"svc"`, 1)+"]", http.StatusCreated)
	p.Call(http.MethodGet, p.Metadata+"/api/v2/device/name/cam-1", "", "")
	p.Call(http.MethodGet, p.Metadata+"/api/v2/device/name/nobody", "", "")
	p.Call(http.MethodGet, p.Metadata+"/nowhere", "", "")
	p.Call(http.MethodGet, p.Metadata+"//nowhere", "", "")
	p.Call("BREW", p.Metadata+"/nowhere", "", "")
	p.Call(http.MethodPost, p.DeviceREST+"/api/v2/resource/sample-image/jpeg", "image/jpeg", "x")
	want := []moved{
		{`ledge_http_requests_total{method="GET",route="/api/v2/device/name/:name",service="core-metadata",status="200"}`, 1},
		{`ledge_http_requests_total{method="GET",route="/api/v2/device/name/:name",service="core-metadata",status="404"}`, 1},
		{`ledge_http_requests_total{method="GET",route="unknown",service="core-metadata",status="404"}`, 1},
		{`ledge_http_requests_total{method="GET",route="refused",service="core-metadata",status="301"}`, 1},
		{`ledge_http_requests_total{method="OTHER",route="unknown",service="core-metadata",status="404"}`, 1},
		{`ledge_http_requests_total{method="POST",route="/api/v2/resource/:device/:resource",service="device-rest",status="200"}`, 1},
		{`ledge_http_request_duration_seconds_count{method="GET",route="/api/v2/device/name/:name",service="core-metadata"}`, 2},
		{`ledge_append_group_events_sum{stream="LEDGE_EVENTS"}`, 4},
		{`ledge_append_group_bytes_sum{stream="LEDGE_READINGS"}`, 1},
		{`ledge_append_fsync_duration_seconds_count{stream="LEDGE_EVENTS"}`, 1},
		{`ledge_append_duration_seconds_count{stream="LEDGE_NOTIFICATIONS"}`, 1},
		{`ledge_stream_last_sequence{stream="LEDGE_EVENTS"}`, 4},
		{`ledge_delivery_tries_total{kind="REST",result="sent"}`, 1},
		{`ledge_delivery_tries_total{kind="REST",result="failed"}`, 1},
		{`ledge_deliveries_total{kind="REST",result="sent"}`, 1},
		{`ledge_deliveries_total{kind="REST",result="failed"}`, 1},
		{`ledge_delivery_duration_seconds_count{kind="REST"}`, 1},
		{`ledge_callbacks_total{result="accepted"}`, 1},
	}
	var after map[string]float64
	missing := func() (list []string) {
		for _, m := range want {
			if after[m.name]-before[m.name] < m.least {
				list = append(list, fmt.Sprintf("%s moved by %g, want %g", m.name, after[m.name]-before[m.name], m.least))
			}
		}
		return list
	}
	ledgetest.Until(t, "all metrics to move", func() bool {
		after = scrape(p, t)
		return len(missing()) == 0
	})
	for name := range after {
		if strings.Contains(name, "cam-1") || strings.Contains(name, "nowhere") || strings.Contains(name, "BREW") {
			t.Errorf("what a client sends is a label: %s", name)
		}
	}
	p.WaitLog(`"request refused"`)
	if line, _ := p.Log.Find(`"request refused"`); !strings.Contains(line, `"level":"INFO"`) || !strings.Contains(line, `"reason":`) {
		t.Errorf("no line of a refused request:\n%s", p.Log)
	}
}

// TestMetricsAreDocumented holds the table of docs/monitoring.md to what the ports show.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	_, text, _ := strings.Cut(ledgetest.MustRead(t, "../../../docs/monitoring.md"), "\n| metric |")
	text, _, _ = strings.Cut(text, "\n\n")
	var documented []string
	for _, m := range regexp.MustCompile("`(ledge_[a-z_]+)").FindAllStringSubmatch(text, -1) {
		documented = append(documented, m[1])
	}
	p := ledgetest.Start(t, t.TempDir(), "--readings-retention", "camera.> age=1d")
	p.AddDevice("cam-1") // series of requests are there once there was one
	shown := map[string]bool{}
	for _, url := range ledgetest.Ports(p) {
		for _, m := range regexp.MustCompile(`(?m)^# TYPE (ledge_[a-z_]+) `).FindAllStringSubmatch(p.Call(http.MethodGet, url+"/metrics", "", "").Body, -1) {
			shown[m[1]] = true
		}
	}
	for name := range shown {
		if !slices.Contains(documented, name) {
			t.Errorf("%s is not in docs/monitoring.md", name)
		}
	}
	for _, name := range documented {
		// A reason of refusals is a series from its first refusal on. Series of TLS exist in secure mode.
		if !shown[name] && !strings.HasPrefix(name, "ledge_tls_") && name != "ledge_nats_refused_total" && name != "ledge_identity_refused_total" {
			t.Errorf("%s is in docs/monitoring.md and not shown", name)
		}
	}
}

// TestPprof holds that profiles are at the admin socket, as a client of HTTP asks for them, and at no port.
func TestPprof(t *testing.T) {
	t.Parallel()
	if !admin.Available {
		t.Skip("this system has no admin socket")
	}
	p := ledgetest.Start(t, t.TempDir())
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(p.Dir, datadir.AdminSocketFile))
	}
	c := http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}, Timeout: ledgetest.Timeout}
	for path, want := range map[string]string{
		"http://ledge/debug/pprof/goroutine?debug=1": "goroutine profile: ", "http://ledge/debug/pprof/profile?seconds=1": "\x1f\x8b",
		"http://core-metadata/debug/pprof/cmdline": "404",
	} {
		resp, err := c.Get(path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.HasPrefix(string(text), want) && strconv.Itoa(resp.StatusCode) != want {
			t.Errorf("%s: %d %v %.200q, want %q", path, resp.StatusCode, err, text, want)
		}
	}
	for _, at := range []string{p.Metadata, p.CoreData} {
		if a := p.Call(http.MethodGet, at+"/debug/pprof/goroutine", "", ""); a.Status != http.StatusNotFound {
			t.Errorf("at a port: %d", a.Status)
		}
	}
}

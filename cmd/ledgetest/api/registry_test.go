package api

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ledge/bridge/porttest"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/services"
	"ledge/cmd/ledgetest"
)

// consul answers as the documentation of Consul's HTTP API for agents says, as far as go-mod-registry and Ledge use it: no Debian package
// has the program itself. It makes a health check when it is asked about the service. TestRegistryOfConsul runs Consul, if it is there.
type consul struct {
	t      *testing.T
	port   int
	server *http.Server

	mu       sync.Mutex
	token    string // that each PUT needs; "" needs none
	listed   map[string]listed
	checks   map[string]healthCheck // by service
	requests []string               // method and path of each PUT
	taken    map[string]int         // registrations by service
}

// listed is a service, as PUT /v1/agent/service/register has it and GET /v1/agent/services shows it.
type listed struct {
	ID, Name, Service, Address string
	Port                       int
	Check                      *healthCheck `json:",omitempty"`
}

type healthCheck struct {
	CheckID, ID, Name, Notes, ServiceID, HTTP, Interval string
	TLSSkipVerify                                       bool
}

func newConsul(t *testing.T) *consul {
	t.Helper()
	c := &consul{t: t, port: porttest.Hold(t), taken: map[string]int{}}
	c.forget()
	return c
}

// address is the value of the setting registry.
func (c *consul) address() string { return fmt.Sprint("consul://127.0.0.1:", c.port) }

// start has Consul listen; stop ends it.
func (c *consul) start() {
	c.t.Helper()
	l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", c.port))
	if err != nil {
		c.t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /v1/agent/service/register", c.change(func(r *http.Request) int {
		var one listed
		if json.NewDecoder(r.Body).Decode(&one) != nil || one.Name == "" {
			return http.StatusBadRequest
		}
		if one.ID == "" {
			one.ID = one.Name
		}
		one.Service, one.Name = one.Name, ""
		c.taken[one.Service]++
		if one.Check != nil {
			c.checks[one.Service] = *one.Check
		}
		one.Check = nil
		c.listed[one.ID] = one
		return http.StatusOK
	}))
	mux.HandleFunc("PUT /v1/agent/check/register", c.change(func(r *http.Request) int {
		var one healthCheck
		if json.NewDecoder(r.Body).Decode(&one) != nil || c.listed[one.ServiceID].ID == "" {
			return http.StatusBadRequest
		}
		c.checks[one.ServiceID] = one
		return http.StatusOK
	}))
	mux.HandleFunc("PUT /v1/agent/service/deregister/{id}", c.change(func(r *http.Request) int {
		if _, there := c.listed[r.PathValue("id")]; !there {
			return http.StatusNotFound
		}
		delete(c.checks, c.listed[r.PathValue("id")].Service)
		delete(c.listed, r.PathValue("id"))
		return http.StatusOK
	}))
	mux.HandleFunc("GET /v1/agent/services", func(w http.ResponseWriter, _ *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		_ = json.NewEncoder(w).Encode(c.listed)
	})
	mux.HandleFunc("GET /v1/health/checks/{service}", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode([]map[string]string{{"Status": c.health(r.PathValue("service"))}})
	})
	mux.HandleFunc("GET /v1/status/leader", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `"127.0.0.1:8300"`) })
	c.server = &http.Server{Handler: mux}
	go c.server.Serve(l)
	c.t.Cleanup(c.stop)
}

func (c *consul) stop() { c.server.Close() }

// change answers a PUT, if it has the token.
func (c *consul) change(f func(*http.Request) int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.requests = append(c.requests, r.Method+" "+r.URL.Path)
		if c.token != "" && r.Header.Get("X-Consul-Token") != c.token {
			http.Error(w, "Permission denied: anonymous token lacks permission 'service:write'", http.StatusForbidden)
			return
		}
		w.WriteHeader(f(r))
	}
}

// forget is a restart of an agent that keeps nothing on disk.
func (c *consul) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listed, c.checks = map[string]listed{}, map[string]healthCheck{}
}

// checkOf returns the health check of a service.
func (c *consul) checkOf(service string) (check healthCheck, there bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	check, there = c.checks[service]
	return check, there
}

// health makes the health check of a service: an answer of 200 to 299 is passing.
func (c *consul) health(service string) string {
	one, there := c.checkOf(service)
	interval, err := time.ParseDuration(one.Interval)
	if !there || err != nil || interval <= 0 {
		return "critical"
	}
	client := http.Client{Timeout: ledgetest.Timeout, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: one.TLSSkipVerify}, //nolint:gosec // as Consul does
	}}
	resp, err := client.Get(one.HTTP)
	if err != nil {
		return "critical"
	}
	resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return "critical"
	}
	return "passing"
}

// wantAll waits until all services of a node are listed with the host and their ports, and pass their checks.
func (c *consul) wantAll(p *ledgetest.Node, host string) {
	c.t.Helper()
	want := map[string]listed{}
	for _, one := range services.REST() {
		port := ledgetest.URLPort(c.t, p.URLs[one.Name])
		want[one.Name] = listed{ID: one.Name, Service: one.Name, Address: host, Port: port}
	}
	c.until("all services", func() bool { return fmt.Sprint(c.listed) == fmt.Sprint(want) })
	for name := range want {
		check, _ := c.checkOf(name)
		if got := c.health(name); got != "passing" {
			c.t.Errorf("the health of %s is %s: %+v", name, got, check)
		}
		if check.Interval != "10s" || check.CheckID != name || check.Name != "Health Check: "+name {
			c.t.Errorf("the check of %s is %+v", name, check)
		}
	}
}

// until waits for a condition on the fields of c.
func (c *consul) until(what string, done func() bool) {
	c.t.Helper()
	ledgetest.Until(c.t, what, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return done()
	})
}

// readWarnings returns the warnings of `ledge health`.
func readWarnings(t *testing.T, p *ledgetest.Node) string {
	t.Helper()
	out, stderr, code := ledgetest.Run(t, "health", "--data-dir", p.Dir)
	if code != exit.OK {
		t.Fatalf("ledge health: %d %s", code, stderr)
	}
	return out
}

// TestRegistryByTheDocumentedAPIOfConsul starts without Consul, registers when Consul is there, also with one that has forgotten all, and
// takes the services back at a clean stop.
func TestRegistryByTheDocumentedAPIOfConsul(t *testing.T) {
	t.Parallel()
	c := newConsul(t)
	p := ledgetest.Start(t, t.TempDir(), "--registry", c.address())
	const warning = "warning: EdgeX services cannot find Ledge"
	ledgetest.Until(t, warning, func() bool { return strings.Contains(readWarnings(t, p), warning) })
	for _, says := range []string{"core-metadata: ", "connection refused; start Consul there, or correct the setting registry"} {
		if got := readWarnings(t, p); !strings.Contains(got, says) {
			t.Errorf("the warning is %q, want %q", got, says)
		}
	}
	c.start()
	c.wantAll(p, "127.0.0.1")
	ledgetest.Until(t, "no warning", func() bool { return readWarnings(t, p) == "ready\n" })
	if n := strings.Count(p.Log.String(), "services are not registered with Consul"); n != 1 {
		t.Errorf("the log has %d warnings, want 1\n%s", n, p.Log)
	}
	c.forget()
	c.wantAll(p, "127.0.0.1")
	if code := p.Stop(); code != exit.OK {
		t.Fatalf("exit code %d\n%s", code, p.Log)
	}
	if len(c.listed) > 0 || len(c.checks) > 0 {
		t.Errorf("after the stop Consul lists %v", c.listed)
	}
}

// TestRegistryOfASecureNode has Consul ask for a token, and check the health of services with certificates of Ledge's own CA.
func TestRegistryOfASecureNode(t *testing.T) {
	c := newConsul(t)
	c.token = "a-token-of-consul-4711"
	c.start()
	credentials := t.TempDir()
	t.Setenv("CREDENTIALS_DIRECTORY", credentials)
	dir := t.TempDir()
	p := ledgetest.Start(t, dir, "--secure", "--registry", c.address())
	const cure = "Permission denied: anonymous token lacks permission 'service:write'\\n\"; " +
		"put a token that may write services into the file ledge-registry-token of $CREDENTIALS_DIRECTORY"
	ledgetest.Until(t, "a warning", func() bool { return strings.Contains(readWarnings(t, p), cure) })
	if code := p.Stop(); code != exit.OK {
		t.Fatalf("exit code %d\n%s", code, p.Log)
	}
	if err := os.WriteFile(filepath.Join(credentials, "ledge-registry-token"), []byte(c.token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p = ledgetest.Start(t, dir, "--secure", "--registry", c.address())
	at, err := url.Parse(p.Metadata)
	if err != nil {
		t.Fatal(err)
	}
	c.wantAll(p, at.Hostname())
	if strings.Contains(p.Log.String(), c.token) {
		t.Error("the log has the token")
	}
	if code := p.Stop(); code != exit.OK || len(c.listed) > 0 {
		t.Errorf("exit code %d, Consul lists %v", code, c.listed)
	}
}

// TestRegistryOfConsul has Consul itself list the services of a node in secure mode, with access lists, and check their health.
func TestRegistryOfConsul(t *testing.T) {
	path, err := exec.LookPath("consul")
	if err != nil {
		t.Skip("Consul is not installed; another test has its documented API")
	}
	const token = "5e0a4a5c-6a5e-4f0c-9e55-6a1f3f0a4711"
	at := fmt.Sprint("127.0.0.1:", porttest.Hold(t))
	_, port, _ := net.SplitHostPort(at)
	agent := exec.Command(path, "agent", "-dev", "-bind", "127.0.0.1", "-http-port", port, "-dns-port", "-1", "-grpc-port", "-1",
		"-server-port", strconv.Itoa(porttest.Hold(t)), "-serf-lan-port", strconv.Itoa(porttest.Hold(t)), "-serf-wan-port", "-1",
		"-hcl", `acl { enabled = true, default_policy = "deny", tokens { initial_management = "`+token+`" } }`)
	out := (&ledgetest.Shell{T: t}).Background(agent)
	credentials, dir := t.TempDir(), t.TempDir()
	t.Setenv("CREDENTIALS_DIRECTORY", credentials)
	flags := []string{"--secure", "--registry", "consul://" + at}
	p := ledgetest.Start(t, dir, flags...)
	ledgetest.Until(t, "a refusal", func() bool { return strings.Contains(readWarnings(t, p), "into the file ledge-registry-token") })
	p.Stop()
	if err := os.WriteFile(filepath.Join(credentials, "ledge-registry-token"), []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	p = ledgetest.Start(t, dir, flags...)
	healthy := func() (names []string) {
		a, err := ledgetest.TryCall(http.MethodGet, "http://"+at+"/v1/agent/checks", "", "", "X-Consul-Token", token)
		var checks map[string]struct{ ServiceName, Status string }
		if err != nil || json.Unmarshal([]byte(a.Body), &checks) != nil {
			return nil
		}
		for _, one := range checks {
			if one.Status == "passing" {
				names = append(names, one.ServiceName)
			}
		}
		return names
	}
	ledgetest.Until(t, "healthy services\n"+out.String(), func() bool { return len(healthy()) == len(services.REST()) })
	if code := p.Stop(); code != exit.OK {
		t.Fatalf("exit code %d\n%s", code, p.Log)
	}
	a, err := ledgetest.TryCall(http.MethodGet, "http://"+at+"/v1/agent/services", "", "", "X-Consul-Token", token)
	if err != nil || strings.TrimSpace(a.Body) != "{}" {
		t.Errorf("after the stop Consul lists %s, %v", a.Body, err)
	}
}

// TestRegistryElsewhere holds that a loopback address is named if Consul is on another machine, and that deny-destinations holds.
func TestRegistryElsewhere(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir(), "--registry", "consul://consul.invalid:8500", "--deny-destinations", "*.invalid")
	for _, says := range []string{
		"Consul lists core-metadata, core-data, core-command, device-rest, support-notifications at a loopback address",
		"consul.invalid is refused as a destination by the entry *.invalid of the setting deny-destinations",
	} {
		ledgetest.Until(t, says, func() bool { return strings.Contains(readWarnings(t, p), says) })
	}
	if code := p.Stop(); code != exit.OK {
		t.Fatalf("exit code %d\n%s", code, p.Log)
	}
}

// TestEdgeXFindsLedgeInTheRegistry runs a device service on EdgeX's own SDK, whose go-mod-registry finds core-metadata in the registry
// alone: its own configuration has a port without a listener.
func TestEdgeXFindsLedgeInTheRegistry(t *testing.T) {
	t.Parallel()
	path := ledgetest.BuildOnEdgeX(t, sdkFolder)
	c := newConsul(t)
	c.start()
	p := ledgetest.Start(t, t.TempDir(), "--registry", c.address())
	s := startSDKService(p, t, path, porttest.Hold(t), "EDGEX_USE_REGISTRY=true", "REGISTRY_PORT="+strconv.Itoa(c.port),
		"CLIENTS_CORE_METADATA_PORT="+strconv.Itoa(porttest.Hold(t)))
	s.awaits("added room-1 UNLOCKED")
	s.awaits("Using registry for URL for 'core-metadata': " + p.Metadata)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.requests, "PUT /v1/agent/check/register") || c.listed["device-sdk"].ID == "" {
		t.Errorf("the device service is not registered: %v", c.requests)
	}
}

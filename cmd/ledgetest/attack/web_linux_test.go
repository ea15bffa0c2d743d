package attack

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"ledge/bridge/porttest"
	"ledge/cmd/ledgetest"
	"ledge/handlers/openapi"
	"ledge/handlers/web"
)

// rawHTTP sends a request as it is written here and returns the answer, nil where the connection ends without one.
func rawHTTP(t *testing.T, address, method, path string, header map[string]string, body string) *ledgetest.Answer {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(ledgetest.Timeout))
	text := fmt.Sprintf("%s %s HTTP/1.1\r\nConnection: close\r\nContent-Length: %d\r\n", method, path, len(body))
	if header["Host"] == "" {
		text += "Host: " + address + "\r\n"
	}
	for name, value := range header {
		text += name + ": " + value + "\r\n"
	}
	_, _ = io.WriteString(conn, text+"\r\n"+body) // fails where the other side hangs up before
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return &ledgetest.Answer{Status: resp.StatusCode, Body: string(b), Header: resp.Header}
}

// foreign are the headers of requests that a browser sends for a page of another origin, with what the refusal names.
var foreign = []struct {
	header map[string]string
	names  string
}{
	{map[string]string{"Origin": "http://evil.example"}, "trusted-origins"},
	{map[string]string{"Origin": "null"}, "trusted-origins"},
	{map[string]string{"Origin": "http://localhost:8080", "Sec-Fetch-Site": "same-site"}, "trusted-origins"},
	{map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, "another origin"},
	{map[string]string{"Host": "rebind.example:59881"}, "allow-hosts"},
	{map[string]string{"Host": "127.0.0.1.rebind.example", "Origin": "http://127.0.0.1.rebind.example", "Sec-Fetch-Site": "same-origin"}, "allow-hosts"},
	{map[string]string{"Host": "edgex-core-metadata.evil.example"}, "allow-hosts"},
}

// TestForeignPages holds that no request that a browser would send for a foreign page, or for one whose name was made to
// resolve to this machine, reads or changes anything, on any HTTP port, whatever its path and method.
func TestForeignPages(t *testing.T) {
	a := startAttack(t)
	device := "[" + ledgetest.DeviceJSON("evil") + "]"
	secret := `{"apiVersion":"v2","path":"evil","secretData":[{"key":"k","value":"v"}]}`
	profile, err := os.ReadFile("../../../docs/tour/cam.yaml")
	if err != nil {
		t.Fatal(err)
	}
	form := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f.yaml\"\r\n\r\n" + string(profile) + "\r\n--b--\r\n"
	sent, passed := 0, 0
	for service, url := range map[string]string{"metadata": a.Metadata, "data": a.CoreData, "device-rest": a.DeviceREST, "notifications": a.Notifications} {
		address := strings.TrimPrefix(url, "http://")
		for _, f := range foreign {
			for _, r := range []struct{ method, path, contentType, body string }{
				{"GET", "/api/v2/ping", "", ""}, {"GET", "/metrics", "", ""}, {"HEAD", "/api/v2/config", "", ""}, {"GET", "/nowhere", "", ""},
				{"GET", "//x/../api/v2/version", "", ""}, {"GET", "/a%2Fb", "", ""}, {"OPTIONS", "/api/v2/device", "", ""}, {"TRACE", "/", "", ""},
				{"POST", "/api/v2/device", "text/plain", device}, {"POST", "/api/v2/secret", "text/plain", secret}, {"PATCH", "/api/v2/nowhere", "text/plain", device},
				{"POST", "/api/v2/deviceprofile/uploadfile", "multipart/form-data; boundary=b", form},
				{"POST", "/api/v2/resource/bystander/jpeg", "text/plain", "evil"}, {"DELETE", "/api/v2/device/name/bystander", "", ""},
			} {
				header := map[string]string{"Content-Type": r.contentType}
				for name, value := range f.header {
					header[name] = value
				}
				got := rawHTTP(t, address, r.method, r.path, header, r.body)
				sent++
				if got == nil || got.Status != http.StatusForbidden || r.method != "HEAD" && !strings.Contains(got.Body, f.names) {
					if passed++; passed <= 5 {
						t.Errorf("%s: %s %s with %v: got %+v, want 403 that names %s", service, r.method, r.path, f.header, got, f.names)
					}
				} else {
					shielded(t, service+" "+r.method+" "+r.path, got.Header)
				}
			}
		}
	}
	if passed > 0 {
		t.Errorf("%d of %d foreign requests passed", passed, sent)
	}
	for _, path := range []string{"/api/v2/device/name/evil", "/api/v2/deviceprofile/name/camera"} {
		if got := a.Call(http.MethodGet, a.Metadata+path, "", ""); got.Status != http.StatusNotFound {
			t.Errorf("%s: got %d %s", path, got.Status, got.Body)
		}
	}
	a.held(t)
}

// shielded holds that an answer cannot be loaded by a foreign page as something that it is not.
func shielded(t *testing.T, what string, h http.Header) {
	t.Helper()
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin"} {
		if got := h[name]; len(got) != 1 || got[0] != want {
			t.Errorf("%s: %s: got %q, want %q once", what, name, got, want)
		}
	}
	want := web.Sandbox
	if strings.HasSuffix(what, "/api/v2/docs") {
		want = openapi.Policy
	}
	if got := h["Content-Security-Policy"]; len(got) != 1 || got[0] != want {
		t.Errorf("%s: the policy is %q, want %q once", what, got, want)
	}
}

// TestOwnPagesAndPrograms holds that programs and the service's own pages are answered, under each of its names, and that all
// their answers are shielded.
func TestOwnPagesAndPrograms(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir(), "--allow-hosts", "*.lan,Gateway.Example", "--trusted-origins", "http://UI.example:4000")
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimPrefix(p.Metadata, "http://")
	for _, c := range []struct {
		method, path string
		header       map[string]string
		status       int
	}{
		{"GET", "/api/v2/ping", nil, 200},
		{"GET", "/api/v2/ping", map[string]string{"Host": "localhost"}, 200},
		{"GET", "/api/v2/ping", map[string]string{"Host": "LOCALHOST.:59881"}, 200},
		{"GET", "/api/v2/ping", map[string]string{"Host": "[::1]:59881"}, 200},
		{"GET", "/api/v2/ping", map[string]string{"Host": "192.0.2.7"}, 200},
		{"GET", "/api/v2/ping", map[string]string{"Host": host}, 200},
		{"GET", "/api/v2/ping", map[string]string{"Host": "edge-7.lan:80"}, 200},
		{"GET", "/api/v2/ping", map[string]string{"Host": "gateway.example"}, 200},
		{"GET", "/api/v2/ping", map[string]string{"Host": "lan"}, 403},
		{"GET", "/api/v2/ping", map[string]string{"Host": "edgex-core-metadata"}, 403}, // only at first
		{"GET", "/api/v2/docs", map[string]string{"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}, 200},
		{"GET", "/api/v2/openapi.yaml", map[string]string{"Sec-Fetch-Site": "same-origin"}, 200},
		{"GET", "/api/v2/device/all", map[string]string{"Origin": p.Metadata}, 200},
		{"GET", "/api/v2/device/all", map[string]string{"Origin": "http://ui.example:4000", "Sec-Fetch-Site": "cross-site"}, 200},
		{"GET", "/api/v2/device/all", map[string]string{"Origin": "http://ui.example:4001"}, 403},
		{"OPTIONS", "/api/v2/device", map[string]string{"Origin": "http://ui.example:4000", "Access-Control-Request-Method": "PATCH"}, 204},
		{"OPTIONS", "/api/v2/device", nil, 405},
		{"GET", "/metrics", nil, 200}, {"GET", "/nowhere", nil, 404}, {"GET", "//x", nil, 301}, {"GET", "/a%2Fb", nil, 404}, {"GET", "/api/v2/device/name/x", nil, 404},
		{"PUT", "/api/v2/device", nil, 405}, {"POST", "/api/v2/device", map[string]string{"Content-Type": "application/json"}, 400},
	} {
		got := rawHTTP(t, address, c.method, c.path, c.header, "")
		if got == nil || got.Status != c.status {
			t.Errorf("%s %s with %v: got %+v, want %d", c.method, c.path, c.header, got, c.status)
			continue
		}
		shielded(t, c.method+" "+c.path, got.Header)
	}
}

// TestHTTPAtOtherPorts holds that a page cannot use the NATS port or a ZeroMQ socket by what a browser sends: both end the
// connection at the first line, whatever the body says.
func TestHTTPAtOtherPorts(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	port := porttest.Hold(t)
	p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/subscription", fmt.Sprintf(`[{"apiVersion":"v2","subscription":{"name":"s","receiver":"r","adminState":"UNLOCKED",
		"categories":["DEVICE_CHANGED"],"channels":[{"type":"ZeroMQ","host":"127.0.0.1","port":%d,"topic":"t"}]}}]`, port), http.StatusCreated)
	smuggled := map[string]string{
		strings.TrimPrefix(p.NATS[strings.LastIndex(p.NATS, "/")+1:], "nats://"): "\r\nCONNECT {}\r\nSUB ledge.> 1\r\nPING\r\n",
		fmt.Sprintf("127.0.0.1:%d", port):                                        "\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x03\x01NULL" + strings.Repeat("\x00", 48),
	}
	for address, body := range smuggled {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "HEAD", "OPTIONS", "INFO", "SUB"} {
			conn, err := net.Dial("tcp", address[strings.LastIndex(address, "@")+1:])
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.SetDeadline(time.Now().Add(ledgetest.Timeout))
			_, _ = fmt.Fprintf(conn, "%s / HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", method, len(body), body)
			got, err := io.ReadAll(conn)
			conn.Close()
			if e, ok := err.(net.Error); ok && e.Timeout() {
				t.Errorf("%s at %s: the connection goes on", method, address)
			}
			if strings.Contains(string(got), "PONG") || strings.Contains(string(got), "MSG ") || strings.Contains(string(got), "READY") {
				t.Errorf("%s at %s: got %q", method, address, got)
			}
		}
	}
	var health struct{ StatusCode int }
	if got := p.Call(http.MethodGet, p.Notifications+"/api/v2/health", "", ""); json.Unmarshal([]byte(got.Body), &health) != nil || got.Status != http.StatusOK {
		t.Errorf("afterwards: %d %s", got.Status, got.Body)
	}
}

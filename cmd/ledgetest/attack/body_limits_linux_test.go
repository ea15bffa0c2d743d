package attack

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// bodyRoute is a route that takes a body, at a service.
type bodyRoute struct{ service, method, path, header string }

// bodyRoutes are those of all ports. Entities in their paths do not exist.
func bodyRoutes(p *ledgetest.Node, t *testing.T) (all []bodyRoute) {
	t.Helper()
	names := strings.NewReplacer(":", "x", "{", "", "}", "")
	for name, url := range map[string]string{"metadata": p.Metadata, "data": p.CoreData, "devicerest": p.DeviceREST, "notifications": p.Notifications} {
		var document struct {
			Paths map[string]map[string]yaml.Node
		}
		if err := yaml.Unmarshal([]byte(ledgetest.MustRead(t, filepath.Join("..", "..", "..", "handlers", name, "openapi_merged.yaml"))), &document); err != nil {
			t.Fatal(err)
		}
		for path, methods := range document.Paths {
			for method := range methods {
				if method = strings.ToUpper(method); slices.Contains([]string{"POST", "PUT", "PATCH"}, method) {
					all = append(all, bodyRoute{url, method, "/api/v2" + names.Replace(path), ""})
				}
			}
		}
	}
	cookie := "Cookie: " + p.NewRole(t, domain.Admin).Cookie.String() + "\r\n"
	for route := range ledgetest.ConsoleRoutes() {
		if method, path, _ := strings.Cut(route, " "); method == http.MethodPost {
			for _, media := range []string{"application/x-www-form-urlencoded", "multipart/form-data; boundary=b"} {
				all = append(all, bodyRoute{p.Console, method, names.Replace(path), cookie + "Content-Type: " + media + "\r\n"})
			}
		}
	}
	return all
}

// refusedStatus are the statuses of a body that is not taken: it is too long, or it is not looked at.
var refusedStatus = []int{400, 401, 403, 404, 413, 415, 501}

// TestEveryRouteBoundsItsBody sends a body beyond every limit to each route of each port: without a declared length, for as long as the
// node reads, and with one. Each is refused, and its connection is closed. Nothing of the bodies stays in memory: a service that still held
// some would refuse the declared length with 503. Before, the console took 256 MiB of each form.
func TestEveryRouteBoundsItsBody(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	routes := bodyRoutes(p, t)
	if len(routes) < 60 {
		t.Fatalf("only %d routes were found", len(routes))
	}
	const most = 48 << 20 // profiles have the highest limit but for values, 32 MiB, and sockets have buffers
	chunk := "8000\r\n" + strings.Repeat("x", 0x8000) + "\r\n"
	for _, length := range []string{"Transfer-Encoding: chunked", fmt.Sprint("Content-Length: ", 1<<30)} {
		for _, r := range routes {
			what := fmt.Sprintf("%s %s%s, %s", r.method, r.service, r.path, length)
			address := strings.TrimPrefix(r.service, "http://")
			c := dialService(p, t, r.service)
			sent := make(chan int)
			go func() {
				_, err := fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: %s\r\n%s%s\r\n\r\n", r.method, r.path, address, r.header, length)
				n := 0
				for strings.HasPrefix(length, "Transfer") && err == nil && n < most {
					_, err = io.WriteString(c, chunk)
					n += len(chunk)
				}
				sent <- n
			}()
			status := refusalOf(t, what, c)
			c.Close()
			n := <-sent
			wanted := refusedStatus
			if r.service == p.Console && !strings.HasPrefix(r.path, "/devices/xname/values/") { // which streams its value to device-rest
				wanted = []int{http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}
			}
			if !slices.Contains(wanted, status) || n >= most {
				t.Errorf("%s: got %d after %d bytes", what, status, n)
			}
		}
	}
}

// refusalOf returns the status of the answer, after which the connection is closed.
func refusalOf(t *testing.T, what string, c net.Conn) int {
	t.Helper()
	in := bufio.NewReader(c)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return 0
	}
	_, _ = io.Copy(io.Discard, resp.Body) // it may be cut off: what is sent meanwhile is not read
	if !resp.Close {
		t.Errorf("%s: %d, and the connection stays open", what, resp.StatusCode)
	}
	return resp.StatusCode
}

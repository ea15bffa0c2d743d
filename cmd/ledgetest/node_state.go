package ledgetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"testing"
	"time"

	"ledge/cmd/internal/services"
)

// Count returns the total of a list of notifications or transmissions.
func Count(p *Node, path string) int {
	p.TB.Helper()
	a := p.Call(http.MethodGet, p.Notifications+"/api/v2/"+path, "", "")
	var list struct{ TotalCount *int }
	if err := json.Unmarshal([]byte(a.Body), &list); err != nil || list.TotalCount == nil {
		p.TB.Fatalf("GET %s: %d %s", path, a.Status, a.Body)
	}
	return *list.TotalCount
}

// WaitCount asks until the total passes.
func (p *Node) WaitCount(path string, passes func(int) bool) int {
	p.TB.Helper()
	for deadline := time.Now().Add(Timeout); ; {
		n := Count(p, path)
		if passes(n) {
			return n
		}
		if time.Now().After(deadline) {
			p.TB.Fatalf("%s: still %d after %v\n%s", path, n, Timeout, p.Log)
		}
	}
}

// IsNone reports whether n is 0.
func IsNone(n int) bool { return n == 0 }

// CountEvents returns how many data events of a device there are.
func (p *Node) CountEvents(device string) int {
	p.TB.Helper()
	a := p.Call(http.MethodGet, p.CoreData+"/api/v2/event/count/device/name/"+device, "", "")
	var answer struct{ Count *int }
	if err := json.Unmarshal([]byte(a.Body), &answer); err != nil || answer.Count == nil {
		p.TB.Fatalf("count of %s: %d %s", device, a.Status, a.Body)
	}
	return *answer.Count
}

// WaitLog waits for a line that contains text.
func (p *Node) WaitLog(text string) {
	p.TB.Helper()
	for deadline := time.After(Timeout); ; {
		if _, ok := p.Log.Find(text); ok {
			return
		}
		select {
		case <-p.Log.More:
		case <-deadline:
			p.TB.Fatalf("no line with %s\n%s", text, p.Log)
		}
	}
}

// HasDevice reports whether a device is there.
func (p *Node) HasDevice(name string) bool {
	p.TB.Helper()
	return p.Call(http.MethodGet, p.Metadata+"/api/v2/device/name/"+name, "", "").Status == http.StatusOK
}

// Ports are the addresses of the HTTP services, by name.
func Ports(p *Node) map[string]string {
	ports := maps.Clone(p.URLs)
	delete(ports, services.Console)
	return ports
}

// StartWithFiles starts a node that may have so many files open.
func StartWithFiles(t *testing.T, dir string, files int) *Node {
	t.Helper()
	p := LaunchUnder(t, []string{"sh", "-c", fmt.Sprintf(`ulimit -n %d; exec "$@"`, files), "sh"}, dir)
	if err := p.WaitReady(); err != nil {
		t.Fatal(err, p.Log)
	}
	return p
}

package delivery

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ledge/cmd/ledgetest"
)

// moody is a device service that sometimes is out of order or cuts the line, and that notes what it takes, in order.
type moody struct {
	*httptest.Server
	mu     sync.Mutex
	random *rand.Rand
	took   map[string][]string // by device: the methods, each once
	calls  int
	calm   bool
}

func newMoody(t *testing.T) *moody {
	m := &moody{random: rand.New(rand.NewPCG(*ledgetest.Seed, 1)), took: map[string][]string{}}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

func (m *moody) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.URL.Path, "/validate/") {
		return
	}
	name := path.Base(r.URL.Path)
	var body struct{ Device struct{ Name string } }
	if r.Method != http.MethodDelete && json.NewDecoder(r.Body).Decode(&body) == nil {
		name = body.Device.Name
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	switch mood := m.random.IntN(10); {
	case !m.calm && mood == 0:
		panic(http.ErrAbortHandler)
	case !m.calm && mood < 4:
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		if !slices.Contains(m.took[name], r.Method) {
			m.took[name] = append(m.took[name], r.Method)
		}
	}
}

func (m *moody) has(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.took[name], " ")
}

// TestCallbacksSurviveKills kills the process again and again while devices come, change and go, and holds that their
// service hears of each change that was acknowledged, and of the changes of one device in their order.
func TestCallbacksSurviveKills(t *testing.T) {
	t.Parallel()
	rounds := 4
	if testing.Short() {
		rounds = 2
	}
	dir, service := t.TempDir(), newMoody(t)
	random := rand.New(rand.NewPCG(*ledgetest.Seed, 2))
	p := ledgetest.Start(t, dir)
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/deviceservice", fmt.Sprintf(`[{"apiVersion":"v2","service":{"name":"moody","baseAddress":%q,"adminState":"UNLOCKED"}}]`, service.URL), 201)
	known := map[string]string{} // by device: what was acknowledged
	for round := range rounds {
		after := time.Duration(random.IntN(2500)) * time.Millisecond // how far the callbacks are is recorded each second
		kill := time.AfterFunc(after, func() { _ = p.Cmd.Process.Kill() })
		for i := 0; ; i++ {
			if !liveAndDie(p, known, fmt.Sprintf("d-%d-%d", round, i)) {
				break
			}
		}
		kill.Stop()
		<-p.Exited
		p = ledgetest.Start(t, dir)
	}
	service.mu.Lock()
	service.calm = true
	service.mu.Unlock()
	for name, want := range known {
		ledgetest.Until(t, "the callbacks of "+name, func() bool { return strings.HasPrefix(service.has(name), want) })
	}
	service.mu.Lock()
	defer service.mu.Unlock()
	t.Logf("%d kills, %d devices, %d callbacks", rounds, len(known), service.calls)
}

// liveAndDie adds, changes and removes a device; it is false when the process is gone.
func liveAndDie(p *ledgetest.Node, known map[string]string, name string) bool {
	devices := p.Metadata + "/api/v2/device"
	for _, step := range []struct{ method, url, body string }{
		{http.MethodPost, devices, "[" + strings.ReplaceAll(ledgetest.DeviceJSON(name), "device-rest", "moody") + "]"},
		{http.MethodPatch, devices, `[{"apiVersion":"v2","device":{"name":"` + name + `","adminState":"LOCKED"}}]`},
		{http.MethodDelete, devices + "/name/" + name, ""},
	} {
		if a, err := ledgetest.TryCall(step.method, step.url, "application/json", step.body); err != nil || a.Status >= 300 {
			return false
		}
		heard := strings.Replace(step.method, http.MethodPatch, http.MethodPut, 1)
		known[name] = strings.TrimSpace(known[name] + " " + heard)
	}
	return true
}

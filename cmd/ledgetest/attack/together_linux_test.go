package attack

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// attackKind is one kind of client that attacks again and again, from an address of its own.
type attackKind struct {
	*attack
	address string
	client  *http.Client
	console *ledgetest.ConsoleClient // logged in as a viewer, or as an operator for what only that may do
}

// send sends a request. The answer does not matter: refusals are expected.
func (h *attackKind) send(ctx context.Context, method, url, contentType, body string) {
	_, _, _ = send(ctx, h.client, method, url, contentType, body)
}

// stream sends a body of a size in chunks, without its length, to a page of the console or a service.
func (h *attackKind) stream(ctx context.Context, url, contentType, part string, size int) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, io.LimitReader(&endless{text: part}, int64(size)))
	if err != nil {
		return
	}
	r.Header.Set("Content-Type", contentType)
	if h.console.Cookie != nil {
		r.AddCookie(h.console.Cookie)
	}
	if resp, err := h.client.Do(r); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

// page loads a page of the console.
func (h *attackKind) page(ctx context.Context, path string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, h.Console+path, nil)
	if err != nil {
		return
	}
	r.AddCookie(h.console.Cookie)
	if resp, err := h.client.Do(r); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

// stall opens connections to a port, sends text on each, and keeps them open for a while.
func (h *attackKind) stall(ctx context.Context, to, text string, n int) {
	dialer := dialerAt(h.address)
	var open []net.Conn
	for range n {
		c, err := dialer.DialContext(ctx, "tcp", to)
		if err != nil {
			break
		}
		_ = c.(*net.TCPConn).SetLinger(0)
		_, _ = io.WriteString(c, text)
		open = append(open, c)
	}
	select {
	case <-ctx.Done():
	case <-time.After(2 * time.Second):
	}
	for _, c := range open {
		c.Close()
	}
}

// endless repeats a text.
type endless struct {
	text string
	at   int
}

// Read implements io.Reader.
func (e *endless) Read(p []byte) (n int, err error) {
	for n < len(p) {
		m := copy(p[n:], e.text[e.at:])
		n, e.at = n+m, (e.at+m)%len(e.text)
	}
	return n, nil
}

// openNow is how many descriptors the node has.
func (a *attack) openNow() int {
	files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", a.Cmd.Process.Pid))
	return len(files)
}

func hostAt(url string) string { return strings.TrimPrefix(url, "http://") }

// hostileKinds are the kinds of clients. Each function is one round.
func hostileKinds(receiver int) map[string]func(ctx context.Context, h *attackKind) {
	const form = "application/x-www-form-urlencoded"
	head := func(path, more string) string {
		return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\n" + more + "\r\n\r\n"
	}
	return map[string]func(ctx context.Context, h *attackKind){
		"unknown keys": func(ctx context.Context, h *attackKind) {
			h.send(ctx, "POST", h.Metadata+"/api/v2/device", "application/json", `[{"apiVersion":"v2","device":{`+growthParts(19_000, `"k~":1`, ",")+`}}]`)
		},
		"misspelled keys": func(ctx context.Context, h *attackKind) {
			h.send(ctx, "POST", h.Notifications+"/api/v2/subscription", "application/json", `[{"apiVersion":"v2","subscription":{`+growthParts(19_000, `"nam~":1`, ",")+`}}]`)
		},
		"empty objects": func(ctx context.Context, h *attackKind) {
			h.send(ctx, "POST", h.Metadata+"/api/v2/deviceprofile", "application/json", `[{"apiVersion":"v2","profile":{"name":"p","deviceResources":[`+strings.Repeat("{},", 200_000)+`{}]}}]`)
		},
		"YAML of one mapping": func(ctx context.Context, h *attackKind) {
			h.send(ctx, "POST", h.Metadata+"/api/v2/deviceprofile/uploadfile", ledgetest.YAMLFormType, ledgetest.YAMLForm("name: p\n"+growthParts(400_000, "k~: 1\n", "")))
		},
		"YAML of short nodes": func(ctx context.Context, h *attackKind) {
			h.send(ctx, "POST", h.Metadata+"/api/v2/deviceprofile/uploadfile", ledgetest.YAMLFormType, ledgetest.YAMLForm("name: p\ndeviceResources: ["+strings.Repeat("a,", 3<<20)+"a]"))
		},
		"YAML of aliases": func(ctx context.Context, h *attackKind) {
			h.send(ctx, "POST", h.Metadata+"/api/v2/deviceprofile/uploadfile", ledgetest.YAMLFormType, ledgetest.YAMLForm("name: p\nx-a: &a {name: r, attributes: {a: 1, b: 2}}\ndeviceResources:\n"+strings.Repeat("- *a\n", 150_000)))
		},
		"large values": func(ctx context.Context, h *attackKind) {
			h.stream(ctx, h.DeviceREST+"/api/v2/resource/bystander/jpeg", "image/jpeg", "picture", 32<<20)
		},
		"slow bodies": func(ctx context.Context, h *attackKind) {
			h.stall(ctx, hostAt(h.Metadata), head("/api/v2/device", "Content-Type: application/json\r\nContent-Length: 1000000")+"[", 100)
		},
		"half headers": func(ctx context.Context, h *attackKind) {
			h.stall(ctx, hostAt(h.CoreData), "GET /"+strings.Repeat("x", 20_000), 100)
		},
		"unread answers": func(ctx context.Context, h *attackKind) {
			h.stall(ctx, hostAt(h.Metadata), "GET /api/v2/device/all?limit=1024 HTTP/1.1\r\nHost: localhost\r\n\r\n", 6)
		},
		"large devices": func(ctx context.Context, h *attackKind) {
			h.send(ctx, "PATCH", h.Metadata+"/api/v2/device", "application/json", `[{"apiVersion":"v2","device":{"name":"large-1","description":"`+strings.Repeat("y", 2<<20)+fmt.Sprint(time.Now().UnixNano())+`"}}]`)
		},
		"lists by many labels": func(ctx context.Context, h *attackKind) {
			h.send(ctx, "GET", h.Metadata+"/api/v2/device/all?limit=-1&labels="+growthParts(3000, "l~", ","), "", "")
		},
		"slow logins": func(ctx context.Context, h *attackKind) {
			h.stall(ctx, hostAt(h.Console), head("/login", "Content-Type: "+form+"\r\nContent-Length: 100")+"user", 64)
		},
		"wrong passwords": func(ctx context.Context, h *attackKind) {
			h.send(ctx, "POST", h.Console+"/login", form, url.Values{"username": {"test-admin"}, "password": {"not that one"}}.Encode())
		},
		"long forms": func(ctx context.Context, h *attackKind) {
			h.stream(ctx, h.Console+"/account/password", form, "a=b&", 64<<20)
		},
		"slow forms": func(ctx context.Context, h *attackKind) {
			h.stall(ctx, hostAt(h.Console), head("/logout", "Content-Type: "+form+"\r\nContent-Length: 268435456")+strings.Repeat("a=b&", 1<<20), 3)
		},
		"forms of files": func(ctx context.Context, h *attackKind) {
			h.stream(ctx, h.Console+"/profiles/+upload", "multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\nx\r\n", 32<<20)
		},
		"imports": func(ctx context.Context, h *attackKind) {
			contentType, body := formOf("action", "preview", "text", "deviceList: ["+strings.Repeat("{},", 4<<20)+"{}]")
			h.stream(ctx, h.Console+"/devices/+import", contentType, body, len(body))
		},
		"large pages": func(ctx context.Context, h *attackKind) {
			h.page(ctx, "/devices/large-1/history")
			h.page(ctx, "/devices?q=large")
		},
		"live pages": func(ctx context.Context, h *attackKind) {
			h.stall(ctx, hostAt(h.Console), "GET /live HTTP/1.1\r\nHost: localhost\r\nCookie: "+h.console.Cookie.String()+"\r\n\r\n", 300)
		},
		"silent NATS clients": func(ctx context.Context, h *attackKind) {
			h.stall(ctx, strings.TrimPrefix(h.NATS, "nats://"), "CONNECT {}\r\nSUB ledge.> 1\r\n", 60)
		},
		"NATS clients that do not log in": func(ctx context.Context, h *attackKind) {
			h.stall(ctx, strings.TrimPrefix(h.NATS, "nats://"), "", 100)
		},
		"keys of idempotency": func(ctx context.Context, h *attackKind) {
			r, err := http.NewRequestWithContext(ctx, "POST", h.Notifications+"/api/v2/notification", strings.NewReader("["+growthParts(200, `{"apiVersion":"v2","notification":{"category":"none","content":"c","sender":"s","severity":"NORMAL"}}`, ",")+"]"))
			if err != nil {
				return
			}
			r.Header.Set("Idempotency-Key", fmt.Sprint(time.Now().UnixNano()))
			if resp, err := h.client.Do(r); err == nil {
				resp.Body.Close()
			}
		},
		"notifications to a receiver that refuses them": func(ctx context.Context, h *attackKind) {
			var channels []string
			for i := range 60 {
				channels = append(channels, fmt.Sprintf(`{"type":"REST","host":"127.0.0.1","port":%d,"httpMethod":"POST","path":"/%d"}`, receiver, i))
			}
			h.send(ctx, "POST", h.Notifications+"/api/v2/subscription", "application/json", `[{"apiVersion":"v2","subscription":{"name":"refused","receiver":"r","adminState":"UNLOCKED","categories":["refused"],"channels":[`+strings.Join(channels, ",")+`]}}]`)
			h.send(ctx, "POST", h.Notifications+"/api/v2/notification", "application/json", "["+growthParts(100, `{"apiVersion":"v2","notification":{"category":"refused","content":"c~","sender":"s","severity":"NORMAL"}}`, ",")+"]")
		},
	}
}

// TestAttacksTogether has all kinds of hostile clients attack at once, each again and again. The bystander is refused nothing, and afterwards
// the descriptors are given back. The node takes 191 to 235 MiB. Its slowest answer takes 0.5 to 0.9 s on a quiet machine, and up to 3.9 s
// beside compilers. Before, garbage grew by 64 MiB above the live heap: up to 277 MiB.
func TestAttacksTogether(t *testing.T) {
	a := startAttack(t)
	for _, role := range []domain.Role{domain.Admin, domain.Operator, domain.Viewer} {
		a.AddConsoleUser(t, role)
	}
	for i := range 12 {
		device := strings.Replace(ledgetest.DeviceJSON(fmt.Sprintf("large-%d", i)), `"device":{`, `"device":{"description":"`+strings.Repeat("x", 2<<20)+`",`, 1)
		a.PostJSON(http.MethodPost, a.Metadata+"/api/v2/device", "["+device+"]", http.StatusCreated)
	}
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	t.Cleanup(refusing.Close)
	kinds := hostileKinds(refusing.Listener.Addr().(*net.TCPAddr).Port)
	viewer, operator := ledgetest.NewConsoleClient(a.Node), ledgetest.NewConsoleClient(a.Node)
	viewer.Login(t, "test-viewer", ledgetest.ConsolePassword)
	operator.Login(t, "test-operator", ledgetest.ConsolePassword)
	before := a.openNow()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	rounds := map[string]*atomic.Int64{}
	for name, round := range kinds {
		h := &attackKind{attack: a, address: fmt.Sprint("127.0.1.", 10+len(rounds)), console: viewer}
		if name == "imports" || name == "forms of files" {
			h.console = operator
		}
		h.client = clientAt(h.address)
		n := new(atomic.Int64)
		rounds[name] = n
		all.Go(func() {
			defer h.client.CloseIdleConnections()
			for ; ctx.Err() == nil; n.Add(1) {
				round(ctx, h)
			}
		})
	}
	from := a.served()
	for name, n := range rounds {
		ledgetest.Await(a.Node, "a round of "+name, func() bool { return n.Load() > 0 })
	}
	ledgetest.Await(a.Node, "requests of the bystander", func() bool { return a.served() >= from+30 })
	cancel()
	all.Wait()
	ledgetest.Await(a.Node, "descriptors that are given back", func() bool { return a.openNow() <= before+20 })
	a.held(t)
}

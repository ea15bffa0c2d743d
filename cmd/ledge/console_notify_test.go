package main

import (
	"bufio"
	"context"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"ledge/bridge/porttest"
	"ledge/domain"
)

// TestConsoleProfileToEnvelope does in the browser what the specification describes: it uploads a profile and adds a ZeroMQ subscription,
// and a subscriber with libzmq receives the change of a device.
func TestConsoleProfileToEnvelope(t *testing.T) {
	t.Parallel()
	p := startSeed(t)
	b := p.logIn(t, domain.Operator)
	file, err := filepath.Abs("../../docs/tour/cam.yaml")
	if err != nil {
		t.Fatal(err)
	}
	b.open("/profiles/+upload")
	b.picture("profile-upload")
	b.dropFile("#f-file", file)
	b.click("form[enctype] button")
	b.see(".notice")
	if at := b.path(); at != "/profiles/camera" {
		t.Fatalf("after the upload: at %s", at)
	}
	b.picture("profile")
	port := porttest.Hold(t)
	b.open("/subscriptions/+add")
	b.fill("#f-name", "watch", "#f-receiver", "operators", "#f-channels-0--host", "127.0.0.1", "#f-channels-0--port", strconv.Itoa(port), "#f-channels-0--topic", "changes")
	b.click("button[name=check]")
	b.until("/is free/.test(document.body.innerText)")
	b.picture("subscription-form")
	b.click("#save")
	b.see(".notice")
	ask[bool](b, `document.addEventListener("copy", () => { window.copied = getSelection().toString(); }), true`)
	b.click("details.card summary")
	b.click("details[open] button.copy")
	b.until(`document.querySelector("details[open] button.copy").innerText === "Copied"`)
	if copied := ask[string](b, "window.copied"); !strings.Contains(copied, "import zmq") || !strings.Contains(copied, strconv.Itoa(port)) {
		t.Errorf("the clipboard has %q, want the program in Python", copied)
	}
	s := p.subscribe(port, "changes")
	p.postJSON(http.MethodPatch, p.metadata+"/api/v2/device", `[{"apiVersion":"v2","device":{"name":"sample-image","operatingState":"DOWN"}}]`, http.StatusOK)
	if topic, body := s.next(); topic != "changes" || !strings.Contains(body, `"deviceName":"sample-image"`) || !strings.Contains(body, `"operatingState":"DOWN"`) {
		t.Errorf("received %q %s", topic, body)
	}
	b.until("/1 subscriber with/.test(document.body.innerText) && document.querySelectorAll('#recent tbody a').length === 1")
	b.click("form[action$='/test'] button")
	b.see(".transmission")
	if topic, body := s.next(); topic != "changes" || !strings.Contains(body, `"test":true`) {
		t.Errorf("test received as %q %s", topic, body)
	}
	b.until("/SENT/.test(document.querySelector('.transmission').innerText)")
	b.picture("notification")
	for _, path := range []string{"/profiles", "/subscriptions", "/subscriptions/watch", "/notifications", "/services", "/watchers", "/services/device-rest"} {
		b.open(path)
		b.see("h1")
		b.picture(strings.Trim(strings.ReplaceAll(path, "/", "-"), "-"))
		if wide := ask[bool](b, "document.documentElement.scrollWidth > innerWidth"); wide {
			t.Errorf("%s is wider than the window", path)
		}
	}
}

// newRole returns a client of the console that has logged in with a role.
func (p *process) newRole(t *testing.T, role domain.Role) *consoleClient {
	t.Helper()
	p.addConsoleUser(t, role)
	c := newConsoleClient(p)
	c.login(t, "test-"+string(role), consolePassword)
	return c
}

// want fails where a page has another status, or does not have a text.
func (got page) want(t *testing.T, status int, texts ...string) {
	t.Helper()
	if got.StatusCode != status {
		t.Fatalf("%s %s: %s, want %d\n%s", got.Request.Method, got.Request.URL, got.Status, status, got.text)
	}
	for _, text := range texts {
		if !strings.Contains(html.UnescapeString(got.text), text) {
			t.Errorf("%s %s: has no %q\n%s", got.Request.Method, got.Request.URL, text, got.text)
		}
	}
}

func zmqForm(name, topic string, port int) url.Values {
	return url.Values{"name": {name}, "receiver": {"r"}, "adminState": {"UNLOCKED"}, "categories": {"DEVICE_CHANGED, other"},
		"channels[0].type": {"ZeroMQ"}, "channels[0].host": {"127.0.0.1"}, "channels[0].port": {strconv.Itoa(port)}, "channels[0].topic": {topic}}
}

var revisionIn = regexp.MustCompile(`name="revision" value="(\d+)"`)

func TestConsoleProfiles(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	c := p.newRole(t, domain.Operator)
	upload := func(yaml string) page { return c.post("/profiles/+upload", url.Values{"yaml": {yaml}}) }
	upload("name: a\nmodel: [1\n").want(t, http.StatusBadRequest, "Line ", "model: [1")
	upload("name: a\ndeviceResources:\n  - name: x\n    properties: {valueType: Nope, readWrite: R}\n").want(t, http.StatusBadRequest, "Line 4, column 29", "Nope")
	upload("name: a\ndescription: <script>alert(1)</script>\n").want(t, http.StatusSeeOther)
	if text := c.get("/profiles/a").text; strings.Contains(text, "<script>alert") {
		t.Error("a description runs as a script")
	}
	revision := revisionIn.FindStringSubmatch(c.get("/profiles/a/edit").text)[1]
	edit := url.Values{"revision": {revision}, "yaml": {"name: a\nmodel: M-2\n"}}
	c.post("/profiles/a/edit", edit).want(t, http.StatusSeeOther)
	c.post("/profiles/a/edit", edit).want(t, http.StatusPreconditionFailed, "Somebody else", "M-2")
	upload("name: b\nparents: []\n").want(t, http.StatusSeeOther)
	c.get("/profiles/b").want(t, http.StatusOK, "The profile is uploaded. Ignored, because unknown: parents in line 2.")
	p.postJSON(http.MethodPost, p.metadata+"/api/v2/deviceprofile", "["+manyResources("large", 2001)+"]", http.StatusCreated)
	large := c.get("/profiles/large")
	large.want(t, http.StatusOK, "node-1999", "The page shows the first 2000 resources")
	if strings.Contains(large.text, "node-2000") || strings.Contains(large.text, "<pre") {
		t.Error("a page shows all resources of a large profile")
	}
	c.get("/profiles/large/edit").want(t, http.StatusUnprocessableEntity, "cannot be edited here")
	c.get("/profiles?model=M-2").want(t, http.StatusOK, "/profiles/a")
	c.post("/profiles/sample-image/delete", nil).want(t, http.StatusConflict, "is in use", "/devices/sample-image")
	c.post("/profiles/a/delete", nil).want(t, http.StatusSeeOther)
	c.get("/profiles/a").want(t, http.StatusNotFound)
}

func TestConsoleSubscriptions(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	c := p.newRole(t, domain.Operator)
	port := porttest.Hold(t)
	bad := zmqForm("watch", "", port)
	c.post("/subscriptions/+add", bad).want(t, http.StatusBadRequest, "topic", `value="watch"`)
	hostile := `"><img src=x onerror=alert(1)>`
	form := zmqForm("watch", "changes", port)
	form.Set("description", hostile)
	c.post("/subscriptions/+add", form).want(t, http.StatusSeeOther)
	viewed := c.get("/subscriptions/watch")
	viewed.want(t, http.StatusOK, "Send a test", hostile, "tcp://127.0.0.1:"+strconv.Itoa(port))
	if strings.Contains(viewed.text, "<img src=x") {
		t.Error("a description is markup")
	}
	second := url.Values{"more": {"REST"}}
	for key, value := range form {
		second[key] = value
	}
	c.post("/subscriptions/watch/edit", second).want(t, http.StatusOK, "channels[1].httpMethod", "is shared")
	revision := revisionIn.FindStringSubmatch(c.get("/subscriptions/watch/edit").text)[1]
	form.Set("revision", revision)
	form.Set("receiver", "others")
	c.post("/subscriptions/watch/edit", form).want(t, http.StatusSeeOther)
	c.post("/subscriptions/watch/edit", form).want(t, http.StatusPreconditionFailed, "Somebody else")
	c.get("/subscriptions?receiver=others&category=other").want(t, http.StatusOK, "/subscriptions/watch")
	c.post("/subscriptions/watch/replay", url.Values{"from": {"2020-01-01T00:00"}}).want(t, http.StatusConflict, "connect a SUB socket first")
	c.post("/subscriptions/watch/state", url.Values{"adminState": {"LOCKED"}}).want(t, http.StatusSeeOther)
	c.get("/subscriptions/watch").want(t, http.StatusOK, "LOCKED", "Unlock")
	c.post("/subscriptions/watch/replay", url.Values{"from": {"2020-01-01T00:00"}}).want(t, http.StatusLocked, "UNLOCKED")
	viewer := p.newRole(t, domain.Viewer)
	if text := viewer.get("/subscriptions/watch").text; strings.Contains(text, "Send a test") || strings.Contains(text, "Delete") {
		t.Error("a viewer sees forms")
	}
	viewer.post("/subscriptions/watch/delete", nil).want(t, http.StatusForbidden)
	c.post("/subscriptions/watch/delete", nil).want(t, http.StatusSeeOther)
}

// TestConsoleChannelForms adds a subscription of each kind of channel by its form. A missing field is named beside its input, and the
// input is kept.
func TestConsoleChannelForms(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "--smtp-server", "smtp+plain://127.0.0.1:"+strconv.Itoa(porttest.Hold(t)), "--smtp-sender", "ledge@example.org")
	c := p.newRole(t, domain.Operator)
	for kind, one := range map[string]struct {
		fields           map[string]string
		missing, problem string
	}{
		"ZeroMQ": {map[string]string{"host": "127.0.0.1", "port": strconv.Itoa(porttest.Hold(t)), "topic": "changes"}, "topic", "f-channels-0--topic-error"},
		"REST":   {map[string]string{"scheme": "http", "host": "127.0.0.1", "port": "8123", "path": "/in", "httpMethod": "POST"}, "host", "f-channels-0--host-error"},
		"MQTT":   {map[string]string{"scheme": "tcp", "host": "127.0.0.1", "port": "1883", "topic": "site/alarms", "publisher": "ledge"}, "publisher", "f-channels-0--publisher-error"},
		"EMAIL":  {map[string]string{"recipients": "anna@example.org"}, "recipients", "f-channels-0--recipients-error"},
	} {
		name := "by-" + strings.ToLower(kind)
		form := url.Values{"name": {name}, "receiver": {"people"}, "adminState": {"UNLOCKED"}, "categories": {"DEVICE_CHANGED"}, "channels[0].type": {kind}}
		for field, value := range one.fields {
			form.Set("channels[0]."+field, value)
		}
		value := form.Get("channels[0]." + one.missing)
		form.Set("channels[0]."+one.missing, "")
		c.post("/subscriptions/+add", form).want(t, http.StatusBadRequest, `id="`+one.problem+`"`, `value="people"`)
		form.Set("channels[0]."+one.missing, value)
		c.post("/subscriptions/+add", form).want(t, http.StatusSeeOther)
		stored := p.call(http.MethodGet, p.notifications+"/api/v2/subscription/name/"+name, "", "").body
		for _, want := range []string{`"type":"` + kind + `"`, value} {
			if !strings.Contains(stored, want) {
				t.Errorf("%s is stored without %s: %s", kind, want, stored)
			}
		}
	}
}

// TestConsoleSnippets runs the Python program that the page shows.
func TestConsoleSnippets(t *testing.T) {
	t.Parallel()
	needLibzmq(t)
	p := startSeed(t)
	c := p.newRole(t, domain.Operator)
	c.post("/subscriptions/+add", zmqForm("watch", `a "topic'\x`, porttest.Hold(t))).want(t, http.StatusSeeOther)
	text := c.get("/subscriptions/watch").text
	for language, run := range map[string][]string{"Python": {python, "-c", ""}, "Shell": {"sh", "-c", "exec "}} {
		_, code, ok := strings.Cut(text, `data-language="`+language+`">`)
		code, _, _ = strings.Cut(code, "</pre>")
		if !ok {
			t.Fatalf("no program for %s", language)
		}
		joined := p.log.count(`"topic subscribed"`)
		ctx, cancel := context.WithTimeout(t.Context(), hangs)
		defer cancel()
		cmd := exec.CommandContext(ctx, run[0], run[1], run[2]+html.UnescapeString(code)) // exec: the process that the test ends is the program
		cmd.Stderr, cmd.Env = os.Stderr, append(os.Environ(), "PATH="+filepath.Dir(python)+":"+os.Getenv("PATH"))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		p.await("the program's subscription", func() bool { return p.log.count(`"topic subscribed"`) > joined })
		p.addDevice("cam-" + language)
		if language == "Python" {
			defer func() {
				c.post("/subscriptions/watch/replay", url.Values{"from": {"2020-01-01T00:00"}}).want(t, http.StatusSeeOther)
				c.get("/subscriptions").want(t, http.StatusOK, "Sent again: ")
			}()
		}
		lines := bufio.NewScanner(out)
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), `a "topic'\x {`) || !strings.Contains(lines.Text(), "cam-"+language) {
			t.Errorf("%s printed %q", language, lines.Text())
		}
	}
}

func TestConsoleNotifications(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	c := p.newRole(t, domain.Operator)
	c.post("/notifications/+send", url.Values{"category": {"c"}, "severity": {"NORMAL"}, "sender": {"s"}}).want(t, http.StatusBadRequest, "content")
	sent := c.post("/notifications/+send", url.Values{"category": {"fire"}, "labels": {"l1, l2"}, "severity": {"CRITICAL"}, "sender": {"s"}, "description": {"<script>alert(2)</script>"}, "content": {"<script>alert(1)</script>"}})
	sent.want(t, http.StatusSeeOther)
	at := sent.Header.Get("Location")
	if text := c.get(at).text; strings.Contains(text, "<script>alert") {
		t.Error("content runs as a script")
	}
	for _, q := range []string{"severity=CRITICAL", "category=fire", "label=l2", "from=2020-01-01T00:00", "ack=false"} {
		c.get("/notifications?"+q).want(t, http.StatusOK, at)
	}
	for _, q := range []string{"severity=MINOR", "category=x", "to=2020-01-01T00:00", "ack=true"} {
		if got := c.get("/notifications?" + q); got.StatusCode != http.StatusOK || strings.Contains(got.text, at) {
			t.Errorf("%s: %s, or it shows the notification", q, got.Status)
		}
	}
	c.get("/notifications?category=fire").want(t, http.StatusOK, "alert(1)") // its content
	c.get("/notifications?from=yesterday").want(t, http.StatusUnprocessableEntity, "f-from-error", "Write the time as")
	c.post(at+"/acknowledge", nil).want(t, http.StatusSeeOther)
	c.get("/notifications?ack=true").want(t, http.StatusOK, at)
	viewer := p.newRole(t, domain.Viewer)
	if text := viewer.get(at).text; strings.Contains(text, "/delete") {
		t.Error("a viewer sees forms")
	}
	viewer.post(at+"/delete", nil).want(t, http.StatusForbidden)
	c.post(at+"/delete", nil).want(t, http.StatusSeeOther)
	c.get(at).want(t, http.StatusNotFound)
}

func TestConsoleServicesAndWatchers(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	c := p.newRole(t, domain.Operator)
	c.post("/services/+add", url.Values{"name": {"s-1"}, "baseAddress": {"nowhere"}, "adminState": {"UNLOCKED"}}).want(t, http.StatusBadRequest, "baseAddress", `value="s-1"`)
	service := url.Values{"name": {"s-1"}, "baseAddress": {"http://127.0.0.1:1"}, "adminState": {"UNLOCKED"}, "labels": {"<script>alert(1)</script>"}}
	c.post("/services/+add", service).want(t, http.StatusSeeOther)
	if text := c.get("/services").text; !strings.Contains(text, "/services/s-1") || strings.Contains(text, "<script>alert") {
		t.Errorf("the list of services has no s-1, or runs its label:\n%s", text)
	}
	service.Set("adminState", "LOCKED")
	c.post("/services/s-1", service).want(t, http.StatusSeeOther)
	c.get("/services/s-1").want(t, http.StatusOK, "LOCKED")
	watcher := url.Values{"name": {"w-1"}, "serviceName": {"device-rest"}, "profileName": {"nosuch"}, "adminState": {"UNLOCKED"}, "identifiers": {"address=10\\..*\r\nport=3=4"}, "blockingIdentifiers": {"port=397\nport=398"}}
	c.post("/watchers/+add", watcher).want(t, http.StatusNotFound, "nosuch", "port=3=4")
	watcher.Set("profileName", "sample-image")
	c.post("/watchers/+add", watcher).want(t, http.StatusSeeOther)
	c.get("/watchers/w-1").want(t, http.StatusOK, "address=10\\..*\nport=3=4", "port=397\nport=398")
	watcher.Set("labels", "lb")
	c.post("/watchers/w-1", watcher).want(t, http.StatusSeeOther)
	c.get("/watchers?label=lb").want(t, http.StatusOK, "/watchers/w-1")
	c.post("/watchers/w-1/delete", nil).want(t, http.StatusSeeOther)
	viewer := p.newRole(t, domain.Viewer)
	for _, path := range []string{"/services", "/services/s-1", "/watchers"} {
		if got := viewer.get(path); got.StatusCode != http.StatusOK || strings.Contains(got.text, "+add") || strings.Contains(got.text, "Save") {
			t.Errorf("a viewer gets %s with forms, or not at all: %s", path, got.Status)
		}
	}
	c.post("/services/s-1/delete", nil).want(t, http.StatusSeeOther)
}

// TestConsoleTryAgain presses "try again now" while a receiver refuses, while it is away, and when it is back. Only who may change
// something sees what the receiver answered.
func TestConsoleTryAgain(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	c, viewer := p.newRole(t, domain.Operator), p.newRole(t, domain.Viewer)
	var well atomic.Bool
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !well.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(receiver.Close)
	subscribe := func(name, port string) {
		p.postJSON(http.MethodPost, p.notifications+"/api/v2/subscription", fmt.Sprintf(`[{"apiVersion":"v2","subscription":{"name":%q,"receiver":"r","categories":[%q],"adminState":"UNLOCKED","resendLimit":3,"resendInterval":"1h",
			"channels":[{"type":"REST","host":"127.0.0.1","port":%s,"path":"/in","httpMethod":"POST"}]}}]`, name, name, port), http.StatusCreated)
	}
	tried := func(name string, count int, status string) {
		t.Helper()
		until(t, fmt.Sprintf("%d tries of all transmissions to %s, which are %s", count, name, status), func() bool {
			all := p.transmissions("subscription/name/" + name)
			return len(all) > 0 && !slices.ContainsFunc(all, func(one transmission) bool { return one.Status != status || len(one.Records) != count })
		})
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(receiver.URL, "http://"), ":")
	subscribe("refused", port)
	p.post("refused", "c")
	tried("refused", 1, domain.StatusResending)
	c.get("/").want(t, http.StatusOK, "500 Internal Server Error")
	c.get("/subscriptions/refused").want(t, http.StatusOK, "1 failure in a row", "500 Internal Server Error")
	for _, path := range []string{"/", "/subscriptions/refused"} {
		got := viewer.get(path)
		got.want(t, http.StatusOK)
		if strings.Contains(got.text, "500 Internal Server Error") || strings.Contains(got.text, "Try again now") {
			t.Errorf("a viewer sees the answer of a receiver, or may try again, at %s:\n%s", path, got.text)
		}
	}
	viewer.post("/subscriptions/refused/try", nil).want(t, http.StatusForbidden)
	c.post("/subscriptions/refused/try", nil).want(t, http.StatusSeeOther)
	tried("refused", 2, domain.StatusResending)
	well.Store(true)
	c.post("/subscriptions/refused/try", nil).want(t, http.StatusSeeOther)
	tried("refused", 3, domain.StatusSent)
	c.post("/subscriptions/refused/try", nil)
	c.get("/subscriptions/refused").want(t, http.StatusOK, "Nothing waits for the endpoints")

	away := porttest.Hold(t)
	subscribe("away", strconv.Itoa(away))
	for range 20 {
		p.post("away", "c")
	}
	tried("away", 1, domain.StatusResending)
	c.post("/subscriptions/nosuch/try", nil).want(t, http.StatusNotFound)
	for range 5 { // nobody is there
		c.post("/subscriptions/away/try", nil).want(t, http.StatusSeeOther)
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(away)))
	if err != nil {
		t.Fatal(err)
	}
	back := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), ReadHeaderTimeout: hangs}}
	back.Start()
	t.Cleanup(back.Close)
	c.post("/subscriptions/away/try", nil).want(t, http.StatusSeeOther)
	tried("away", 2, domain.StatusSent) // nobody's absence has cost a resend, and all follow the probe
}

// TestConsoleLastCallbacks looks at what came of the callbacks of a device service.
func TestConsoleLastCallbacks(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	c, viewer := p.newRole(t, domain.Operator), p.newRole(t, domain.Viewer)
	var well atomic.Bool
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !well.Load() {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"apiVersion":"v2","message":"the inner word of the service","statusCode":400}`) // which is shown, also of this machine
		}
	}))
	t.Cleanup(service.Close)
	p.postJSON(http.MethodPost, p.metadata+"/api/v2/deviceservice", fmt.Sprintf(`[{"apiVersion":"v2","service":{"name":"meters","baseAddress":%q,"adminState":"UNLOCKED"}}]`, service.URL), http.StatusCreated)
	c.get("/services/meters").want(t, http.StatusOK, "has not called this service back")
	c.get("/services/device-rest").want(t, http.StatusOK, "needs no callbacks")
	watcher := url.Values{"name": {"finder"}, "serviceName": {"meters"}, "profileName": {"sample-image"}, "adminState": {"UNLOCKED"}, "identifiers": {"address=1"}}
	c.post("/watchers/+add", watcher).want(t, http.StatusSeeOther)
	until(t, "the callback about the watcher", func() bool { return strings.Contains(c.get("/watchers/finder").text, "not accepted") })
	c.get("/watchers/finder").want(t, http.StatusOK, "watcher finder", "the inner word of the service")
	if text := viewer.get("/watchers/finder").text; !strings.Contains(text, "not accepted") || strings.Contains(text, "inner word") {
		t.Errorf("a viewer sees what a device service answered, or not that it refused:\n%s", text)
	}
	well.Store(true)
	p.postJSON(http.MethodPost, p.metadata+"/api/v2/device", `[{"apiVersion":"v2","device":{"name":"m-1","serviceName":"meters","profileName":"sample-image","adminState":"UNLOCKED","operatingState":"UP","protocols":{"p":{"a":"1"}}}}]`, http.StatusCreated)
	until(t, "the callback about the device", func() bool { return strings.Contains(c.get("/services/meters").text, "device m-1") })
	c.get("/services/meters").want(t, http.StatusOK, ">accepted<", "watcher finder")
	if text := c.get("/watchers/finder").text; strings.Contains(text, "m-1") {
		t.Error("a watcher's page shows the calls about devices")
	}
}

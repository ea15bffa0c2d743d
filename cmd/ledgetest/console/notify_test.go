package console

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
	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// TestConsoleProfileToEnvelope does in the browser what the specification describes: it uploads a profile and adds a ZeroMQ subscription,
// and a subscriber with libzmq receives the change of a device.
func TestConsoleProfileToEnvelope(t *testing.T) {
	t.Parallel()
	p := ledgetest.StartSeed(t)
	b := logIn(p, t, domain.Operator)
	file, err := filepath.Abs("../../../docs/tour/cam.yaml")
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
	b.see("#delete button:enabled")
	device := strings.Replace(ledgetest.DeviceJSON("till-7"), `"sample-image"`, `"camera"`, 1)
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/device", "["+device+"]", http.StatusCreated)
	b.see("#delete button:disabled")
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
	s := p.Subscribe(port, "changes")
	p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/device", `[{"apiVersion":"v2","device":{"name":"sample-image","operatingState":"DOWN"}}]`, http.StatusOK)
	if topic, body := s.Next(); topic != "changes" || !strings.Contains(body, `"deviceName":"sample-image"`) || !strings.Contains(body, `"operatingState":"DOWN"`) {
		t.Errorf("received %q %s", topic, body)
	}
	b.until("/1 subscriber with/.test(document.body.innerText) && document.querySelectorAll('#recent tbody a').length === 1")
	b.click("form[action$='/test'] button")
	b.see("#note section")
	if topic, body := s.Next(); topic != "changes" || !strings.Contains(body, `"test":true`) {
		t.Errorf("test received as %q %s", topic, body)
	}
	b.until("/SENT/.test(document.querySelector('#note section').innerText)")
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

func zmqForm(name, topic string, port int) url.Values {
	return url.Values{"name": {name}, "receiver": {"r"}, "adminState": {"UNLOCKED"}, "categories": {"DEVICE_CHANGED, other"},
		"channels[0].type": {"ZeroMQ"}, "channels[0].host": {"127.0.0.1"}, "channels[0].port": {strconv.Itoa(port)}, "channels[0].topic": {topic}}
}

var revisionIn = regexp.MustCompile(`name="revision" value="(\d+)"`)

func TestConsoleProfiles(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	c := p.NewRole(t, domain.Operator)
	upload := func(yaml string) ledgetest.Page { return c.Post("/profiles/+upload", url.Values{"yaml": {yaml}}) }
	ledgetest.Want(upload("name: a\nmodel: [1\n"), t, http.StatusBadRequest, "Line ", "model: [1")
	ledgetest.Want(upload("name: a\ndeviceResources:\n  - name: x\n    properties: {valueType: Nope, readWrite: R}\n"), t, http.StatusBadRequest, "Line 4, column 29", "Nope")
	ledgetest.Want(upload("name: a\ndescription: <script>alert(1)</script>\n"), t, http.StatusSeeOther)
	if text := c.Get("/profiles/a").Text; strings.Contains(text, "<script>alert") {
		t.Error("a description runs as a script")
	}
	revision := revisionIn.FindStringSubmatch(c.Get("/profiles/a/edit").Text)[1]
	edit := url.Values{"revision": {revision}, "yaml": {"name: a\nmodel: M-2\n"}}
	ledgetest.Want(c.Post("/profiles/a/edit", edit), t, http.StatusSeeOther)
	ledgetest.Want(c.Post("/profiles/a/edit", edit), t, http.StatusPreconditionFailed, "Somebody else", "M-2")
	ledgetest.Want(upload("name: b\nparents: []\n"), t, http.StatusSeeOther)
	ledgetest.Want(c.Get("/profiles/b"), t, http.StatusOK, "The profile is uploaded. Ignored, because unknown: parents in line 2.")
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/deviceprofile", "["+ledgetest.ManyResources("large", 2001)+"]", http.StatusCreated)
	large := c.Get("/profiles/large")
	ledgetest.Want(large, t, http.StatusOK, "node-1999", "The page shows the first 2000 resources")
	if strings.Contains(large.Text, "node-2000") || strings.Contains(large.Text, "<pre") {
		t.Error("a page shows all resources of a large profile")
	}
	ledgetest.Want(c.Get("/profiles/large/edit"), t, http.StatusUnprocessableEntity, "cannot be edited here")
	ledgetest.Want(c.Get("/profiles?model=M-2"), t, http.StatusOK, "/profiles/a")
	_, example, _ := strings.Cut(c.Get("/profiles/+upload").Text, `data-language="YAML">`)
	example, _, _ = strings.Cut(example, "</pre>")
	ledgetest.Want(upload(html.UnescapeString(example)), t, http.StatusSeeOther)
	ledgetest.Want(c.Get("/profiles/oven"), t, http.StatusOK, "image/jpeg", `type="submit">Delete`)
	ledgetest.Want(c.Get("/profiles/sample-image"), t, http.StatusOK, "disabled title=",
		`href="/devices/+add?profile=sample-image">Add a device`)
	ledgetest.Want(c.Get("/devices/+add?profile=sample-image"), t, http.StatusOK, `<option value="sample-image" selected>`)
	ledgetest.Want(c.Get("/devices/sample-image/delete"), t, http.StatusOK,
		`<a href="/devices/sample-image/history">Its history</a> can restore it`)
	if text := p.NewRole(t, domain.Viewer).Get("/profiles/sample-image").Text; strings.Contains(text, "+add") {
		t.Error("a viewer may add a device")
	}
	ledgetest.Want(c.Post("/profiles/sample-image/delete", nil), t, http.StatusConflict, "is in use", "/devices/sample-image")
	ledgetest.Want(c.Post("/profiles/a/delete", nil), t, http.StatusSeeOther)
	ledgetest.Want(c.Get("/profiles/a"), t, http.StatusNotFound)
}

func TestConsoleSubscriptions(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	c := p.NewRole(t, domain.Operator)
	port := porttest.Hold(t)
	bad := zmqForm("watch", "", port)
	ledgetest.Want(c.Post("/subscriptions/+add", bad), t, http.StatusBadRequest, "topic", `value="watch"`)
	privileged := zmqForm("watch", "changes", 80) // the engine refuses it, after the checks of the domain
	ledgetest.Want(c.Post("/subscriptions/+add", privileged), t, http.StatusBadRequest, "privileged", `id="f-channels-0--port-error"`)
	hostile := `"><img src=x onerror=alert(1)>`
	form := zmqForm("watch", "changes", port)
	form.Set("description", hostile)
	ledgetest.Want(c.Post("/subscriptions/+add", form), t, http.StatusSeeOther)
	viewed := c.Get("/subscriptions/watch")
	ledgetest.Want(viewed, t, http.StatusOK, "Send a test", hostile, "tcp://127.0.0.1:"+strconv.Itoa(port))
	if strings.Contains(viewed.Text, "<img src=x") {
		t.Error("a description is markup")
	}
	test := c.Post("/subscriptions/watch/test", nil)
	ledgetest.Want(test, t, http.StatusSeeOther)
	ledgetest.Until(t, "a test without a subscriber", func() bool {
		return strings.Contains(c.Get(test.Header.Get("Location")).Text, "nobody got it. watch: published to 0 subscribers: none is connected")
	})
	ledgetest.Want(c.Get(test.Header.Get("Location")), t, http.StatusOK, `<span class="tag warn">SENT to nobody</span>`)
	ledgetest.Want(c.Get("/subscriptions"), t, http.StatusOK,
		`<span class="warn">The last message was published, and no subscriber got it</span>`)
	ledgetest.Want(c.Get("/notifications"), t, http.StatusOK, ` class="warn">1 sent to nobody<`)
	ledgetest.Want(c.Post("/subscriptions/watch/resend", nil), t, http.StatusSeeOther)
	ledgetest.Want(c.Get("/subscriptions/watch"), t, http.StatusOK, "No message was given up.")
	second := url.Values{"more": {"REST"}}
	for key, value := range form {
		second[key] = value
	}
	ledgetest.Want(c.Post("/subscriptions/watch/edit", second), t, http.StatusOK,
		"channels[1].httpMethod", "has a ZeroMQ socket of Ledge already")
	revision := revisionIn.FindStringSubmatch(c.Get("/subscriptions/watch/edit").Text)[1]
	form.Set("revision", revision)
	form.Set("receiver", "others")
	ledgetest.Want(c.Post("/subscriptions/watch/edit", form), t, http.StatusSeeOther)
	ledgetest.Want(c.Post("/subscriptions/watch/edit", form), t, http.StatusPreconditionFailed, "Somebody else")
	ledgetest.Want(c.Get("/subscriptions?receiver=others&category=other"), t, http.StatusOK, "/subscriptions/watch")
	ledgetest.Want(c.Post("/subscriptions/watch/replay", url.Values{"from": {"2020-01-01T00:00"}}), t, http.StatusConflict, "connect a SUB socket first")
	ledgetest.Want(c.Post("/subscriptions/watch/state", url.Values{"adminState": {"LOCKED"}}), t, http.StatusSeeOther)
	ledgetest.Want(c.Get("/subscriptions/watch"), t, http.StatusOK, "LOCKED", "Unlock")
	ledgetest.Want(c.Post("/subscriptions/watch/replay", url.Values{"from": {"2020-01-01T00:00"}}), t, http.StatusLocked, "UNLOCKED")
	viewer := p.NewRole(t, domain.Viewer)
	if text := viewer.Get("/subscriptions/watch").Text; strings.Contains(text, "Send a test") || strings.Contains(text, "Delete") {
		t.Error("a viewer sees forms")
	}
	ledgetest.Want(viewer.Post("/subscriptions/watch/delete", nil), t, http.StatusForbidden)
	ledgetest.Want(c.Post("/subscriptions/watch/delete", nil), t, http.StatusSeeOther)
}

// TestConsoleChannelForms adds a subscription of each kind of channel by its form. A missing field is named beside its input, and the
// input is kept.
func TestConsoleChannelForms(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir(), "--smtp-server", "smtp+plain://127.0.0.1:"+strconv.Itoa(porttest.Hold(t))+"?from=ledge@example.org")
	c := p.NewRole(t, domain.Operator)
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
		ledgetest.Want(c.Post("/subscriptions/+add", form), t, http.StatusBadRequest, `id="`+one.problem+`"`, `value="people"`)
		form.Set("channels[0]."+one.missing, value)
		ledgetest.Want(c.Post("/subscriptions/+add", form), t, http.StatusSeeOther)
		stored := p.Call(http.MethodGet, p.Notifications+"/api/v2/subscription/name/"+name, "", "").Body
		for _, want := range []string{`"type":"` + kind + `"`, value} {
			if !strings.Contains(stored, want) {
				t.Errorf("%s is stored without %s: %s", kind, want, stored)
			}
		}
	}
	form := url.Values{
		"name": {"by-url"}, "receiver": {"people"}, "adminState": {"UNLOCKED"}, "categories": {"DEVICE_CHANGED"},
		"channels[0].type": {"REST"}, "channels[0].scheme": {"http"},
		"channels[0].host": {"http://127.0.0.1:9/in"}, "channels[0].port": {"80"},
		"channels[0].path": {""}, "channels[0].httpMethod": {"POST"},
	}
	const refused = `"http://127.0.0.1:9/in" is not an IP address or a host name`
	ledgetest.Want(c.Post("/subscriptions/+add", form), t, http.StatusBadRequest, refused)
	form.Set("channels[0].port", "9")
	ledgetest.Want(c.Post("/subscriptions/+add", form), t, http.StatusSeeOther)
	stored := p.Call(http.MethodGet, p.Notifications+"/api/v2/subscription/name/by-url", "", "").Body
	if !strings.Contains(stored, `"scheme":"http","host":"127.0.0.1","port":9,"path":"/in"`) {
		t.Errorf("a URL is stored as %s", stored)
	}
}

// TestConsoleSnippets runs the Python program that the page shows.
func TestConsoleSnippets(t *testing.T) {
	t.Parallel()
	ledgetest.NeedLibzmq(t)
	p := ledgetest.StartSeed(t)
	c := p.NewRole(t, domain.Operator)
	ledgetest.Want(c.Post("/subscriptions/+add", zmqForm("watch", `a "topic'\x`, porttest.Hold(t))), t, http.StatusSeeOther)
	text := c.Get("/subscriptions/watch").Text
	for language, run := range map[string][]string{"Python": {ledgetest.Python, "-c", ""}, "Shell": {"sh", "-c", "exec "}} {
		_, code, ok := strings.Cut(text, `data-language="`+language+`">`)
		code, _, _ = strings.Cut(code, "</pre>")
		if !ok {
			t.Fatalf("no program for %s", language)
		}
		joined := p.Log.Count(`"topic subscribed"`)
		ctx, cancel := context.WithTimeout(t.Context(), ledgetest.Timeout)
		defer cancel()
		cmd := exec.CommandContext(ctx, run[0], run[1], run[2]+html.UnescapeString(code)) // exec: the process that the test ends is the program
		cmd.Stderr, cmd.Env = os.Stderr, append(os.Environ(), "PATH="+filepath.Dir(ledgetest.Python)+":"+os.Getenv("PATH"))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		ledgetest.Await(p, "the program's subscription", func() bool { return p.Log.Count(`"topic subscribed"`) > joined })
		p.AddDevice("cam-" + language)
		if language == "Python" {
			defer func() {
				ledgetest.Want(c.Post("/subscriptions/watch/replay", url.Values{"from": {"2020-01-01T00:00"}}), t, http.StatusSeeOther)
				ledgetest.Want(c.Get("/subscriptions"), t, http.StatusOK, "Sent again: ")
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
	p := ledgetest.Start(t, t.TempDir())
	c := p.NewRole(t, domain.Operator)
	ledgetest.Want(c.Post("/notifications/+send", url.Values{"category": {"c"}, "severity": {"NORMAL"}, "sender": {"s"}}), t, http.StatusBadRequest, "content")
	sent := c.Post("/notifications/+send", url.Values{"category": {"fire"}, "labels": {"l1, l2"}, "severity": {"CRITICAL"}, "sender": {"s"}, "description": {"<script>alert(2)</script>"}, "content": {"<script>alert(1)</script>"}})
	ledgetest.Want(sent, t, http.StatusSeeOther)
	at := sent.Header.Get("Location")
	if text := c.Get(at).Text; strings.Contains(text, "<script>alert") {
		t.Error("content runs as a script")
	}
	for _, q := range []string{
		"severity=CRITICAL", "text=Fire", "text=L2&severity=CRITICAL", "category=fire", "label=l2", "from=2020-01-01T00:00", "ack=false",
	} {
		ledgetest.Want(c.Get("/notifications?"+q), t, http.StatusOK, at)
	}
	ledgetest.Want(c.Get("/notifications?from=2026-01-02&to=2026-01-01"), t, http.StatusUnprocessableEntity, "f-to-error",
		"The end is before the start.")
	for _, q := range []string{"severity=MINOR", "text=L2&severity=MINOR", "text=l3", "category=x", "to=2020-01-01T00:00", "ack=true"} {
		if got := c.Get("/notifications?" + q); got.StatusCode != http.StatusOK || strings.Contains(got.Text, at) {
			t.Errorf("%s: %s, or it shows the notification", q, got.Status)
		}
	}
	ledgetest.Want(c.Get("/notifications?category=fire"), t, http.StatusOK, "alert(1)") // its content
	ledgetest.Want(c.Get("/notifications?text=ALERT"), t, http.StatusOK, at, "<caption>1 of 1 notification, ")
	ledgetest.Want(c.Get("/notifications?text=nosuch"), t, http.StatusOK, "No notification matches.", "Show all notifications")
	ledgetest.Want(c.Get("/notifications?from=yesterday"), t, http.StatusUnprocessableEntity, "f-from-error", "Write the time as")
	ledgetest.Want(c.Post(at+"/acknowledge", nil), t, http.StatusSeeOther)
	ledgetest.Want(c.Get("/notifications?ack=true"), t, http.StatusOK, at)
	viewer := p.NewRole(t, domain.Viewer)
	ledgetest.Want(viewer.Get(at), t, http.StatusOK,
		"acknowledged by <strong>test-operator</strong> <time", `<a href="/notifications">Notifications</a>`)
	if strings.Contains(viewer.Get(at).Text, "/ledger?") {
		t.Error("a viewer is led to the ledger")
	}
	events := regexp.MustCompile(`"(/ledger\?log=notifications[^"]*)"`).FindStringSubmatch(p.NewRole(t, domain.Auditor).Get(at).Text)
	if len(events) == 0 {
		t.Fatal("an auditor is not led to the events of the notification")
	}
	ledgetest.Want(p.NewRole(t, domain.Auditor).Get(html.UnescapeString(events[1])), t, http.StatusOK,
		"matching events of ", "notifications.acknowledged", "notification.added")
	ledgetest.Want(c.Post(at+"/acknowledge", url.Values{"undo": {"1"}}), t, http.StatusSeeOther)
	if strings.Contains(viewer.Get(at).Text, "acknowledged by") {
		t.Error("the page names who has acknowledged a notification that is not acknowledged any more")
	}
	if text := viewer.Get(at).Text; strings.Contains(text, "/delete") {
		t.Error("a viewer sees forms")
	}
	ledgetest.Want(viewer.Post(at+"/delete", nil), t, http.StatusForbidden)
	ledgetest.Want(c.Post(at+"/delete", nil), t, http.StatusSeeOther)
	ledgetest.Want(c.Get(at), t, http.StatusNotFound)
}

// TestConsoleSearch finds notifications by the words that the list shows, and by their waiting messages. An acknowledgement leads back to
// the same search.
func TestConsoleSearch(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	c := p.NewRole(t, domain.Operator)
	p.AddDevice("hall")
	p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/subscription", `[{"apiVersion":"v2","subscription":{"name":"gate",
		"receiver":"porter","adminState":"UNLOCKED","categories":["DEVICE_CHANGED"],
		"channels":[{"type":"REST","host":"127.0.0.1","port":1,"path":"/alarm","httpMethod":"POST"}]}}]`, http.StatusCreated)
	for _, state := range []string{"LOCKED", "UNLOCKED"} {
		ledgetest.Want(c.Post("/devices/hall/state", url.Values{"state": {state}}), t, http.StatusSeeOther)
	}
	p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/notification", `[{"apiVersion":"v2","notification":{"category":"note",
		"content":"the hall is UNLOCKED","sender":"porter","severity":"CRITICAL"}}]`, http.StatusCreated)
	ledgetest.Until(t, "the notifications", func() bool {
		return strings.Contains(c.Get("/notifications?delivery=waiting").Text, "<caption>2 of 3 ")
	})
	for query, want := range map[string]int{
		"text=hall":                      3,
		"text=unlocked":                  2, // one is a note; the data of the locking has UNLOCKED too
		"text=hall+unlocked+by":          1,
		"text=test-operator+LOCKED":      2,
		"text=porter+hall":               1,
		"text=device-rest":               0, // is in the data of changes, which the list does not show
		"text=hall&severity=CRITICAL":    1,
		"text=note&delivery=waiting":     0,
		"delivery=waiting&ack=false":     2,
		"text=unlocked+hall&ack=true":    0,
		"text=hall+DEVICE_CHANGED+loc":   2,
		"text=hall&category=note":        1,
		"text=hall&subscription=gate":    2,
		"delivery=failed&severity=MINOR": 0,
	} {
		if rows := strings.Count(c.Get("/notifications?"+query).Text, `<th scope="row">`); rows != want {
			t.Errorf("%s finds %d notifications, want %d", query, rows, want)
		}
	}
	const search = "/notifications?ack=false&severity=CRITICAL"
	page := c.Get(search).Text
	ids := regexp.MustCompile(`name="id" value="([^"]+)"`).FindAllStringSubmatch(page, -1)
	if len(ids) != 1 || !strings.Contains(page, `name="back" value="`+html.EscapeString(search)) {
		t.Fatalf("the form has %d notifications, or does not know its search:\n%s", len(ids), page)
	}
	const all = "/notifications"
	for back, want := range map[string]string{search: search, "": all, "//elsewhere/notifications?a": all, "/devices?q=a": all} {
		got := c.Post("/notifications/+acknowledge", url.Values{"id": {ids[0][1]}, "back": {back}})
		if got.StatusCode != http.StatusSeeOther || got.Header.Get("Location") != want {
			t.Errorf("back to %q: %s, to %q, want %q", back, got.Status, got.Header.Get("Location"), want)
		}
	}
}

func TestConsoleServicesAndWatchers(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	c := p.NewRole(t, domain.Operator)
	ledgetest.Want(c.Post("/services/+add", url.Values{"name": {"s-1"}, "baseAddress": {"nowhere"}, "adminState": {"UNLOCKED"}}), t, http.StatusBadRequest, "baseAddress", `value="s-1"`)
	service := url.Values{"name": {"s-1"}, "baseAddress": {"http://127.0.0.1:1"}, "adminState": {"UNLOCKED"}, "labels": {"<script>alert(1)</script>"}}
	ledgetest.Want(c.Post("/services/+add", service), t, http.StatusSeeOther)
	if text := c.Get("/services").Text; !strings.Contains(text, "/services/s-1") || strings.Contains(text, "<script>alert") {
		t.Errorf("the list of services has no s-1, or runs its label:\n%s", text)
	}
	service.Set("adminState", "LOCKED")
	ledgetest.Want(c.Post("/services/s-1", service), t, http.StatusSeeOther)
	ledgetest.Want(c.Get("/services/s-1"), t, http.StatusOK, "LOCKED")
	watcher := url.Values{"name": {"w-1"}, "serviceName": {"device-rest"}, "profileName": {"nosuch"}, "adminState": {"UNLOCKED"}, "identifiers": {"address=10\\..*\r\nport=3=4"}, "blockingIdentifiers": {"port=397\nport=398"}}
	ledgetest.Want(c.Post("/watchers/+add", watcher), t, http.StatusNotFound, "nosuch", "port=3=4")
	watcher.Set("profileName", "sample-image")
	ledgetest.Want(c.Post("/watchers/+add", watcher), t, http.StatusSeeOther)
	ledgetest.Want(c.Get("/watchers/w-1"), t, http.StatusOK, "address=10\\..*\nport=3=4", "port=397\nport=398")
	watcher.Set("labels", "lb")
	ledgetest.Want(c.Post("/watchers/w-1", watcher), t, http.StatusSeeOther)
	ledgetest.Want(c.Get("/watchers?label=lb"), t, http.StatusOK, "/watchers/w-1")
	ledgetest.Want(c.Post("/watchers/w-1/delete", nil), t, http.StatusSeeOther)
	viewer := p.NewRole(t, domain.Viewer)
	for _, path := range []string{"/services", "/services/s-1", "/watchers"} {
		if got := viewer.Get(path); got.StatusCode != http.StatusOK || strings.Contains(got.Text, "+add") || strings.Contains(got.Text, "Save") {
			t.Errorf("a viewer gets %s with forms, or not at all: %s", path, got.Status)
		}
	}
	ledgetest.Want(c.Post("/services/s-1/delete", nil), t, http.StatusSeeOther)
}

// TestConsoleTryAgain presses "try again now" while a receiver refuses, while it is away, and when it is back. Only who may change
// something sees what the receiver answered.
func TestConsoleTryAgain(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	c, viewer := p.NewRole(t, domain.Operator), p.NewRole(t, domain.Viewer)
	var well atomic.Bool
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !well.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(receiver.Close)
	subscribe := func(name, port string) {
		p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/subscription", fmt.Sprintf(`[{"apiVersion":"v2","subscription":{"name":%q,"receiver":"r","categories":[%q],"adminState":"UNLOCKED","resendLimit":3,"resendInterval":"1h",
			"channels":[{"type":"REST","host":"127.0.0.1","port":%s,"path":"/in","httpMethod":"POST"}]}}]`, name, name, port), http.StatusCreated)
	}
	tried := func(name string, count int, status string) {
		t.Helper()
		ledgetest.Until(t, fmt.Sprintf("%d tries of all transmissions to %s, which are %s", count, name, status), func() bool {
			all := p.Transmissions("subscription/name/" + name)
			return len(all) > 0 && !slices.ContainsFunc(all, func(one ledgetest.Transmission) bool { return one.Status != status || len(one.Records) != count })
		})
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(receiver.URL, "http://"), ":")
	subscribe("refused", port)
	ledgetest.PostNotification(p, "refused", "c")
	tried("refused", 1, domain.StatusResending)
	ledgetest.Want(c.Get("/"), t, http.StatusOK, "500 Internal Server Error")
	ledgetest.Want(c.Get("/subscriptions/refused"), t, http.StatusOK, "1 failure in a row", "500 Internal Server Error")
	for _, path := range []string{"/", "/subscriptions/refused"} {
		got := viewer.Get(path)
		ledgetest.Want(got, t, http.StatusOK)
		if strings.Contains(got.Text, "500 Internal Server Error") || strings.Contains(got.Text, "Try again now") {
			t.Errorf("a viewer sees the answer of a receiver, or may try again, at %s:\n%s", path, got.Text)
		}
	}
	ledgetest.Want(viewer.Post("/subscriptions/refused/try", nil), t, http.StatusForbidden)
	ledgetest.Want(c.Post("/subscriptions/refused/try", nil), t, http.StatusSeeOther)
	tried("refused", 2, domain.StatusResending)
	well.Store(true)
	ledgetest.Want(c.Post("/subscriptions/refused/try", nil), t, http.StatusSeeOther)
	tried("refused", 3, domain.StatusSent)
	c.Post("/subscriptions/refused/try", nil)
	ledgetest.Want(c.Get("/subscriptions/refused"), t, http.StatusOK, "Nothing waits for the endpoints")

	away := porttest.Hold(t)
	subscribe("away", strconv.Itoa(away))
	for range 20 {
		ledgetest.PostNotification(p, "away", "c")
	}
	tried("away", 1, domain.StatusResending)
	ledgetest.Want(c.Post("/subscriptions/nosuch/try", nil), t, http.StatusNotFound)
	for range 5 { // nobody is there
		ledgetest.Want(c.Post("/subscriptions/away/try", nil), t, http.StatusSeeOther)
	}
	one := "/notifications/" + p.Transmissions("subscription/name/away")[0].NotificationID
	button := regexp.MustCompile(`name="transmission"\s+value="([^"]+)">Try now<`).FindStringSubmatch(c.Get(one).Text)
	if button == nil || strings.Contains(viewer.Get(one).Text, "Try now") {
		t.Fatalf("the page of a message that waits has no button, or has one for a viewer:\n%s", c.Get(one).Text)
	}
	ledgetest.Want(viewer.Post(one+"/resend", url.Values{"transmission": {button[1]}}), t, http.StatusForbidden)
	ledgetest.Want(c.Post(one+"/resend", url.Values{"transmission": {button[1]}}), t, http.StatusSeeOther)
	ledgetest.Until(t, "a try on record", func() bool { return strings.Count(c.Get(one).Text, "connection refused") == 2 })
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(away)))
	if err != nil {
		t.Fatal(err)
	}
	back := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), ReadHeaderTimeout: ledgetest.Timeout}}
	back.Start()
	t.Cleanup(back.Close)
	ledgetest.Want(c.Post("/subscriptions/away/try", nil), t, http.StatusSeeOther)
	ledgetest.Until(t, "all messages: nobody's absence has cost a resend, and all follow the probe", func() bool {
		all := p.Transmissions("subscription/name/away")
		return len(all) == 20 && !slices.ContainsFunc(all, func(t ledgetest.Transmission) bool {
			tries := map[bool]int{true: 3, false: 2}["/notifications/"+t.NotificationID == one]
			return t.Status != domain.StatusSent || len(t.Records) != tries
		})
	})
}

// TestConsoleLastCallbacks looks at what came of the callbacks of a device service.
func TestConsoleLastCallbacks(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	c, viewer := p.NewRole(t, domain.Operator), p.NewRole(t, domain.Viewer)
	var well atomic.Bool
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !well.Load() {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"apiVersion":"v2","message":"the inner word of the service","statusCode":400}`) // which is shown, also of this machine
		}
	}))
	t.Cleanup(service.Close)
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/deviceservice", fmt.Sprintf(`[{"apiVersion":"v2","service":{"name":"meters","baseAddress":%q,"adminState":"UNLOCKED"}}]`, service.URL), http.StatusCreated)
	ledgetest.Want(c.Get("/services/meters"), t, http.StatusOK, "has not called this service back")
	ledgetest.Want(c.Get("/services/device-rest"), t, http.StatusOK, "needs no callbacks")
	watcher := url.Values{"name": {"finder"}, "serviceName": {"meters"}, "profileName": {"sample-image"}, "adminState": {"UNLOCKED"}, "identifiers": {"address=1"}}
	ledgetest.Want(c.Post("/watchers/+add", watcher), t, http.StatusSeeOther)
	ledgetest.Until(t, "the callback about the watcher", func() bool { return strings.Contains(c.Get("/watchers/finder").Text, "not accepted") })
	ledgetest.Want(c.Get("/watchers/finder"), t, http.StatusOK, "watcher finder", "the inner word of the service")
	if text := viewer.Get("/watchers/finder").Text; !strings.Contains(text, "not accepted") || strings.Contains(text, "inner word") {
		t.Errorf("a viewer sees what a device service answered, or not that it refused:\n%s", text)
	}
	well.Store(true)
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/device", `[{"apiVersion":"v2","device":{"name":"m-1","serviceName":"meters","profileName":"sample-image","adminState":"UNLOCKED","operatingState":"UP","protocols":{"p":{"a":"1"}}}}]`, http.StatusCreated)
	ledgetest.Until(t, "the callback about the device", func() bool { return strings.Contains(c.Get("/services/meters").Text, "device m-1") })
	ledgetest.Want(c.Get("/services/meters"), t, http.StatusOK, ">accepted<", "watcher finder")
	if text := c.Get("/watchers/finder").Text; strings.Contains(text, "m-1") {
		t.Error("a watcher's page shows the calls about devices")
	}
}

package console

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"golang.org/x/net/html"

	"ledge/bridge/porttest"
	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// guardedForm is a form of the console with a wrong value for each of its inputs.
type guardedForm struct {
	page, action string
	good         url.Values        // that the other inputs have
	wrong        map[string]string // by the name of the input; anyText for an input that takes every text
}

const anyText = "any text"

// channelInputs returns the inputs of a channel with their wrong values.
func channelInputs(wrong map[string]string) map[string]string {
	all := map[string]string{
		"name": "a b", "receiver": "a b", "description": anyText, "categories": "a b", "labels": "a b", "adminState": "OFF",
		"resendLimit": "many", "resendInterval": "soon",
	}
	for name, value := range wrong {
		all["channels[0]."+name] = value
	}
	return all
}

func guardedForms(port string) []guardedForm {
	device := map[string]string{
		"description": anyText, "labels": anyText, "protocolName": "a b", "profileName": "nosuch", "serviceName": "nosuch",
		"protocols": "{", "autoEvents": "- {sourceName: jpeg, interval: soon}",
	}
	named := func(m map[string]string) map[string]string {
		m = maps.Clone(m)
		m["name"] = "a b"
		return m
	}
	goodDevice := url.Values{"name": {"hall-2"}, "protocolName": {"rest"}, "profileName": {"sample-image"}, "serviceName": {"device-rest"}}
	watcher := url.Values{
		"name": {"w-1"}, "serviceName": {"device-rest"}, "profileName": {"sample-image"}, "identifiers": {"address=1"},
		"adminState": {"UNLOCKED"},
	}
	notice := url.Values{"category": {"fire"}, "severity": {"NORMAL"}, "sender": {"me"}, "content": {"text"}}
	account := url.Values{"old": {ledgetest.ConsolePassword}, "new": {"another password"}, "again": {"another password"}}
	forms := []guardedForm{
		{"/devices/+add", "/devices/+add", goodDevice, named(device)},
		{"/devices/hall/edit", "/devices/hall/edit", goodDevice, device},
		{"/services/+add", "/services/+add", url.Values{"name": {"s-1"}, "baseAddress": {"http://127.0.0.1:1"}, "adminState": {"UNLOCKED"}},
			map[string]string{"name": "a b", "baseAddress": "nowhere", "description": anyText, "labels": anyText, "adminState": "OFF"}},
		{"/watchers/+add", "/watchers/+add", watcher, map[string]string{
			"name": "a b", "serviceName": "nosuch", "profileName": "nosuch", "identifiers": "address=",
			"blockingIdentifiers": anyText, "labels": anyText, "adminState": "OFF",
		}},
		{"/notifications/+send", "/notifications/+send", notice, map[string]string{
			"category": "a b", "labels": "a b", "severity": "LOUD", "sender": "a b", "description": anyText, "content": "",
			"contentType": anyText,
		}},
		{"/users", "/users", url.Values{"name": {"ben"}, "role": {"viewer"}, "new-password": {ledgetest.ConsolePassword}},
			map[string]string{"name": "a b", "role": "king", "new-password": "short", "mustChange": anyText}},
		{"/users", "/tokens", url.Values{"token-name": {"robot"}, "token-role": {"poster"}}, map[string]string{
			"token-name": "a b", "token-role": "king", "devices": "a/b", "days": "0", "certificate": anyText,
		}},
		{"/users/admin", "/users/admin/role", nil, map[string]string{"role": "king"}},
		{"/users/admin", "/users/admin/password", nil, map[string]string{"new-password": "short"}},
		{"/account", "/account/password", account, map[string]string{"old": "wrong", "new": "short", "again": "something else"}},
	}
	for kind, one := range map[string]struct{ good, wrong map[string]string }{
		"ZeroMQ": {map[string]string{"host": "127.0.0.1", "port": port, "topic": "t"},
			map[string]string{"host": "", "port": "none", "topic": "", "publisher": strings.Repeat("x", 300)}},
		"REST": {map[string]string{"scheme": "http", "host": "127.0.0.1", "port": "1", "httpMethod": "POST"},
			map[string]string{"scheme": "ftp", "host": "a/b", "port": "0", "path": "/%zz", "httpMethod": "FETCH"}},
		"MQTT": {map[string]string{"scheme": "tcp", "host": "127.0.0.1", "port": "1", "topic": "t", "publisher": "p", "qos": "0"},
			map[string]string{
				"scheme": "ftp", "host": "a/b", "port": "99999", "topic": "#", "publisher": "", "qos": "7", "authMode": "magic",
				"secretPath": strings.Repeat("x", 300), "retained": anyText, "autoReconnect": anyText, "skipCertVerify": anyText,
			}},
		"EMAIL": {map[string]string{"recipients": "anna@example.org"}, map[string]string{"recipients": "nobody"}},
	} {
		good := url.Values{"name": {"s-1"}, "receiver": {"me"}, "adminState": {"UNLOCKED"}, "categories": {"fire"}}
		for name, value := range one.good {
			good.Set("channels[0]."+name, value)
		}
		forms = append(forms, guardedForm{"/subscriptions/+add?kind=" + kind, "/subscriptions/+add", good, channelInputs(one.wrong)})
	}
	return forms
}

// nodesOf returns the elements of a page that pick chooses.
func nodesOf(root *html.Node, pick func(*html.Node) bool) (all []*html.Node) {
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && pick(n) {
			all = append(all, n)
		}
	}
	return all
}

func attributeOf(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func textIn(n *html.Node) string {
	var text strings.Builder
	for one := range n.Descendants() {
		if one.Type == html.TextNode {
			text.WriteString(one.Data)
		}
	}
	return strings.TrimSpace(text.String())
}

func parsePage(t *testing.T, text string) *html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// apiName is a path in a request or a name in JSON. Quoted texts are values.
var (
	apiName = regexp.MustCompile(`\[\d+\]|\b[a-z]+[A-Z]\w*`)
	quoted  = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
)

// TestConsoleFormsNameFields sends a wrong value for each input of each form. The refusal marks the input, its error begins with the label,
// the message above the form has the label too, and neither has a name of the API.
func TestConsoleFormsNameFields(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir(), "--smtp-server", "smtp+plain://127.0.0.1:1?from=ledge@example.org")
	p.AddDevice("hall")
	c := p.NewRole(t, domain.Admin)
	for _, form := range guardedForms(strconv.Itoa(porttest.Hold(t))) {
		var names []string
		sends := func(n *html.Node) bool { return n.Data == "form" && attributeOf(n, "action") == form.action }
		found := nodesOf(parsePage(t, c.Get(form.page).Text), sends)
		if len(found) != 1 {
			t.Fatalf("%s has %d forms for %s", form.page, len(found), form.action)
		}
		if !slices.ContainsFunc(found[0].Attr, func(a html.Attribute) bool { return a.Key == "data-guard" }) {
			t.Errorf("%s: leaving the form for %s does not ask", form.page, form.action)
		}
		good := maps.Clone(form.good)
		if good == nil {
			good = url.Values{}
		}
		inputs := func(n *html.Node) bool { return slices.Contains([]string{"input", "select", "textarea"}, n.Data) }
		for _, n := range nodesOf(found[0], inputs) {
			if attributeOf(n, "type") == "hidden" {
				good.Set(attributeOf(n, "name"), attributeOf(n, "value"))
			} else {
				names = append(names, attributeOf(n, "name"))
			}
		}
		if known := slices.Sorted(maps.Keys(form.wrong)); !slices.Equal(slices.Sorted(slices.Values(names)), known) {
			t.Fatalf("%s has the inputs %q, and the test knows %q", form.page, names, known)
		}
		for _, name := range names {
			if form.wrong[name] == anyText {
				continue
			}
			sent := maps.Clone(good)
			sent[name] = []string{form.wrong[name]}
			if name == "new" {
				sent["again"] = sent[name]
			}
			checkRefusal(t, c.Post(form.action, sent), form.action+" with "+name, name)
		}
	}
}

func checkRefusal(t *testing.T, got ledgetest.Page, what, name string) {
	t.Helper()
	root := parsePage(t, got.Text)
	byID := func(id string) *html.Node {
		found := nodesOf(root, func(n *html.Node) bool { return attributeOf(n, "id") == id })
		if len(found) == 0 {
			return &html.Node{}
		}
		return found[0]
	}
	id := "f-" + strings.NewReplacer("[", "-", "]", "-", ".", "-").Replace(name)
	says, input := textIn(byID(id+"-error")), byID(id)
	marked := attributeOf(input, "aria-invalid") == "true" && strings.Contains(attributeOf(input, "aria-describedby"), id+"-error")
	if got.StatusCode < 400 || says == "" || !marked {
		t.Errorf("%s: %s, and the input is not marked: %q", what, got.Status, says)
		return
	}
	label := ""
	for _, n := range nodesOf(root, func(n *html.Node) bool { return n.Data == "label" && attributeOf(n, "for") == id }) {
		label = textIn(n)
	}
	label = strings.TrimSpace(strings.TrimSuffix(label, "required"))
	alerts := nodesOf(root, func(n *html.Node) bool { return attributeOf(n, "role") == "alert" && n.Parent.Data == "main" })
	texts := []string{says}
	for _, n := range alerts {
		texts = append(texts, textIn(n))
		if !strings.Contains(textIn(n), label) {
			t.Errorf("%s: the message does not name %q: %s", what, label, textIn(n))
		}
	}
	for _, text := range texts {
		if found := apiName.FindString(quoted.ReplaceAllString(text, "")); found != "" {
			t.Errorf("%s: %q is a name of the API: %s", what, found, text)
		}
	}
}

// TestConsoleKindsKeepTexts changes the kind of a channel and changes it back: the typed texts are still there.
func TestConsoleKindsKeepTexts(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	b := logIn(p, t, domain.Operator)
	b.open("/subscriptions/+add")
	b.fill("#f-name", "watch", "#f-channels-0--topic", "changes", "#f-channels-0--port", "5999")
	kind := func(name string) {
		b.click(`button[name=kind][value="0 ` + name + `"]`)
		b.until(`document.querySelector('button[name=kind][value="0 ` + name + `"]').getAttribute("aria-pressed") === "true"`)
	}
	kind("REST")
	b.until(`document.activeElement.matches("fieldset[data-chosen]")`)
	b.fill("#f-channels-0--path", "/in", "#f-channels-0--host", "10.0.0.7")
	kind("MQTT")
	kind("ZeroMQ")
	b.pictures("subscription-kinds")
	value := func(id string) string { return ask[string](b, `document.getElementById("`+id+`").value`) }
	for id, want := range map[string]string{"f-name": "watch", "f-channels-0--topic": "changes", "f-channels-0--port": "5999"} {
		if got := value(id); got != want {
			t.Errorf("back at ZeroMQ, %s is %q, want %q", id, got, want)
		}
	}
	kind("REST")
	for id, want := range map[string]string{"f-channels-0--path": "/in", "f-channels-0--host": "10.0.0.7"} {
		if got := value(id); got != want {
			t.Errorf("back at REST, %s is %q, want %q", id, got, want)
		}
	}
	for _, one := range []struct{ url, scheme, host, port, path string }{
		{"http://till", "http", "till", "80", "/in"},
		{"https://till:8443/in?a=b", "https", "till", "8443", "/in?a=b"},
		{"http://shop/out", "http", "shop", "8443", "/out"}, // the port that is there stays
	} {
		ask[bool](b, `document.getElementById("f-channels-0--host").value = "`+one.url+`", true`)
		ask[bool](b, `document.getElementById("f-channels-0--host").dispatchEvent(new Event("change", {bubbles: true}))`)
		for id, want := range map[string]string{"scheme": one.scheme, "host": one.host, "port": one.port, "path": one.path} {
			if got := value("f-channels-0--" + id); got != want {
				t.Errorf("with the host %s, %s is %q, want %q", one.url, id, got, want)
			}
		}
	}
}

// TestConsoleLeavingAsks leaves a form with and without changes, by a link and by the browser, before and after it is saved.
func TestConsoleLeavingAsks(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	p.AddDevice("hall")
	b := logIn(p, t, domain.Operator)
	asks := func() bool {
		return ask[bool](b, `(e => { window.dispatchEvent(e); return e.defaultPrevented; })(new Event("beforeunload", {cancelable: true}))`)
	}
	answer := func(yes string) {
		ask[bool](b, `window.asked = 0, window.confirm = () => { window.asked++; return `+yes+`; }, true`)
	}
	b.open("/devices/hall/edit")
	if asks() {
		t.Error("a form without changes asks")
	}
	b.fill("#f-description", "North side")
	if !asks() {
		t.Error("the browser leaves a changed form without a question")
	}
	answer("false")
	b.click(".top nav a[href='/devices']")
	b.until(`window.asked === 1`)
	if at := b.path(); at != "/devices/hall/edit" {
		t.Errorf("the form is left against the answer: at %s", at)
	}
	b.fill("#f-serviceName", "device-rest", "#f-protocols", "{")
	b.click("main button[type=submit]")
	b.see("#f-protocols-error")
	if b.fill("#f-description", "South side"); !asks() {
		t.Error("a refused form does not ask")
	}
	b.fill("#f-protocols", "rest: {}")
	b.click("main button[type=submit]")
	b.see(".notice")
	if asks() {
		t.Error("a saved form asks")
	}
	b.open("/devices/hall/edit")
	b.fill("#f-description", "West side")
	answer("true")
	b.click(".top nav a[href='/profiles']")
	b.until(`location.pathname === "/profiles"`)
	if asked := ask[int](b, "window.asked"); asked != 1 || asks() {
		t.Errorf("%d questions, and another one after the form is left: %v", asked, asks())
	}
}

// TestConsoleShowPassword shows and hides a password with the keyboard. The browser sends it hidden.
func TestConsoleShowPassword(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	p.AddConsoleUser(t, domain.Admin)
	b := newTab(p, t)
	b.open("/login")
	b.pictures("login-show")
	b.fill("#f-username", "test-admin", "#f-password", ledgetest.ConsolePassword)
	typeOf := func() string { return ask[string](b, `document.getElementById("f-password").type`) }
	press := func(keys string) { b.do(chromedp.KeyEvent(keys)) }
	ask[bool](b, `document.getElementById("f-password").focus(), true`)
	press("\t")
	b.until(`document.activeElement.matches("[data-reveal]") && document.activeElement.textContent === "Show Password"`)
	press("\r")
	b.until(`document.activeElement.textContent === "Hide Password"`)
	if got := typeOf(); got != "text" {
		t.Errorf("after Show, the input is of the type %s", got)
	}
	ask[bool](b, `document.addEventListener("submit", e => { localStorage.setItem("sent", e.target.elements.password.type); }), true`)
	b.click("main button[type=submit]")
	b.see(".me")
	if got := ask[string](b, `localStorage.getItem("sent")`); got != "password" {
		t.Errorf("the password is sent by an input of the type %s", got)
	}
	for _, path := range []string{"/users", "/users/admin", "/account"} {
		if b.open(path); !ask[bool](b, `!!document.querySelector("main [data-reveal]")`) {
			t.Errorf("%s has no button to show a password", path)
		}
	}
}

// TestConsoleNames holds that each page names its node, and that one browser has a session at two nodes of one host.
func TestConsoleNames(t *testing.T) {
	t.Parallel()
	p, q := ledgetest.Start(t, t.TempDir(), "--node-name", "Hall 1"), ledgetest.Start(t, t.TempDir())
	if page := ledgetest.NewConsoleClient(p).Get("/login"); !strings.Contains(page.Text, "Log in to Hall 1") {
		t.Errorf("the login page does not name the node:\n%s", page.Text)
	}
	b := logIn(p, t, domain.Admin)
	q.AddConsoleUser(t, domain.Admin)
	b.base = q.Console
	b.open("/login")
	b.fill("#f-username", "test-admin", "#f-password", ledgetest.ConsolePassword)
	b.click("main button[type=submit]")
	b.see(".me")
	b.base = p.Console
	b.open("/devices")
	if title, node := ask[string](b, "document.title"), b.text(".top .node"); title != "Devices · Hall 1 · Ledge" || node != "Hall 1" {
		t.Errorf("after a login at another node of the host: %q, %q", title, node)
	}
}

// TestConsoleJump jumps to a device and to a page with the keyboard. It reads the texts of a screen reader.
func TestConsoleJump(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	for i := range 20 {
		p.AddDevice("gate-" + strconv.Itoa(i))
	}
	ledgetest.AddSensorProfile(p)
	channel := `{"type":"REST","host":"127.0.0.1","port":1,"path":"/alarm","httpMethod":"POST"}`
	alarm := ledgetest.SubscriptionJSON("gate-alarm", "fire", channel)
	p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/subscription", alarm, http.StatusCreated)
	b := logIn(p, t, domain.Viewer)
	press := func(keys string) { b.do(chromedp.KeyEvent(keys)) }
	b.open("/devices")
	b.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	b.until(`document.activeElement?.id === "jump-text" && document.querySelectorAll("#jump-list [role=option]").length > 5`)
	if pages := b.text("#jump-list"); !strings.Contains(pages, "Overview") || strings.Contains(pages, "Users") {
		t.Errorf("an empty box offers a viewer %q", pages)
	}
	press("gate")
	b.until(`document.getElementById("jump-status").textContent === "7 found"`) // six devices of twenty, and the subscription
	b.pictures("jump")
	if list := b.text("#jump-list"); !strings.HasPrefix(list, "gate-0") || !strings.Contains(list, "gate-alarm") {
		t.Errorf("the list is %q", list)
	}
	press(kb.ArrowDown)
	b.until(`document.getElementById("jump-text").getAttribute("aria-activedescendant") === "jump-1"`)
	b.see("#jump-1[aria-selected=true]")
	press("\r")
	b.until(`location.pathname === "/devices/gate-1" && document.readyState === "complete"`)
	slash := `document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "/", bubbles: true, cancelable: true}))`
	if ask[bool](b, slash) || !ask[bool](b, `document.getElementById("jump").open`) {
		t.Error("the key / does not open the box, or is typed into it")
	}
	press("hall-sen")
	b.until(`document.getElementById("jump-list").innerText.includes("hall-sensor")`)
	b.click("#jump-list [role=option]")
	b.until(`location.pathname === "/profiles/hall-sensor"`)
	c := p.NewRole(t, domain.Viewer)
	ledgetest.Want(c.Get("/jump?q=gate-alarm"), t, http.StatusOK, `href="/subscriptions/gate-alarm"`) // without scripts
	ledgetest.Want(c.Get("/jump?q=nosuch"), t, http.StatusOK, "Nothing has this name.")
	if a := p.Call(http.MethodDelete, p.Metadata+"/api/v2/device/name/gate-7", "", ""); a.Status != http.StatusOK {
		t.Fatal(a)
	}
	ledgetest.Want(c.Get("/jump?q=gate-7"), t, http.StatusOK, `href="/devices/gate-7"`, "Removed device")
	ledgetest.Want(c.Get("/devices?q=gate-7"), t, http.StatusOK, `href="/devices/gate-7"`, "was removed", "Show all devices")
	if answer := c.Get("/devices?q=label:gate-7"); strings.Contains(answer.Text, "was removed") {
		t.Error("the search for a label finds a removed device")
	}
	admin := p.NewRole(t, domain.Admin)
	ledgetest.Want(admin.Get("/jump?q=retent"), t, http.StatusOK, `href="/system/retention"`)
	for q, href := range map[string]string{
		"token": "/users#tokens", "add+user": "/users#add-user", "add+token": "/users#add-token", "disk": "/system#disk",
		"openapi":  "/system#apis",
		"settings": "/system#settings", "access": "/system#access", "import": "/devices/+import",
		"password": "/account", "record": "/verify",
		"upload": "/profiles/+upload", "add+device": "/devices/+add", "add+sub": "/subscriptions/+add", "refused": "/readings/refused",
		"service": "/services/+add", "provision": "/watchers/+add", "send": "/notifications/+send",
	} {
		ledgetest.Want(admin.Get("/jump?q="+q), t, http.StatusOK, `href="`+href+`"`)
		if path, id, found := strings.Cut(href, "#"); found {
			ledgetest.Want(admin.Get(path), t, http.StatusOK, ` id="`+id+`"`)
		} else {
			ledgetest.Want(admin.Get(path), t, http.StatusOK)
		}
	}
	ledgetest.Want(p.NewRole(t, domain.Poster).Get("/jump?q=gate"), t, http.StatusForbidden)
}

package console

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	browserpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// slowAnswers is a script for pages. It counts the messages of the server in messages. While hold is true, it keeps the answers to the
// page's requests in held, as a slow network does.
const slowAnswers = `
	window.messages = 0;
	window.held = [];
	window.hold = false;
	const Source = window.EventSource;
	window.EventSource = class extends Source {
		constructor(address) { super(address); this.addEventListener("message", () => window.messages++); }
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
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		script := browserpage.AddScriptToEvaluateOnNewDocumentParams{Source: slowAnswers}
		_, err := cdp.Call(ctx, t, browserpage.AddScriptToEvaluateOnNewDocument, script)
		return err
	}))
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

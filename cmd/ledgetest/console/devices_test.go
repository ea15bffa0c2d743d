package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/jpeg"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// hostile is a text that would run, or break out of an attribute, where a page did not escape it.
const hostile = `"><img src=x onerror=alert(1)><script>alert(2)</script>`

// drawn is a JPEG of 640 by 400 with a gradient.
func drawn(n int) string {
	m := image.NewRGBA(image.Rect(0, 0, 640, 400))
	for y := range 400 {
		for x := range 640 {
			m.Set(x, y, color.RGBA{uint8(x/4 + 40*n), uint8(y / 2), uint8(120 + 25*n), 255})
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, nil); err != nil {
		panic(err)
	}
	return b.String()
}

// pictures takes pictures of the page, wide and narrow, light and dark, and holds that nothing sticks out of a narrow one.
func (b *tab) pictures(name string) {
	b.Helper()
	for _, width := range []int64{1280, 360} {
		for _, scheme := range []string{"light", "dark"} {
			b.do(chromedp.EmulateViewport(width, 900), chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
				_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
				return err
			}))
			b.picture(fmt.Sprintf("%s-%d-%s", name, width, scheme))
		}
		if over := ask[int](b, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
			b.Errorf("%s at %d px: the page is %d px too wide", name, width, over)
		}
	}
	b.do(chromedp.EmulateViewport(1280, 900))
}

// TestConsoleOneDevice does what an operator does with one device, in a browser.
func TestConsoleOneDevice(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	ledgetest.AddSensorProfile(p)
	b := logIn(p, t, domain.Operator)
	b.open("/devices")
	b.see("a[href='/devices/+add']")
	b.pictures("devices-empty")
	b.click("a[href='/devices/+add']")
	b.open("/devices/+add?profile=hall-sonsor")
	b.fill("#f-name", "hall-1", "#f-description", "North side", "#f-labels", "indoor, north")
	b.pictures("device-add")
	b.click("main button[type=submit]")
	b.see("main .wrong")
	for place, want := range map[string]string{
		"main .wrong":          "Correct the marked field: Device profile.",
		"#f-profileName-error": `There is no device profile "hall-sonsor". Choose an existing one. Did you mean hall-sensor?`,
	} {
		if text := b.text(place); text != want {
			t.Errorf("the message at %s is %q, want %q", place, text, want)
		}
	}
	if kept := ask[string](b, "document.querySelector('#f-description').value"); kept != "North side" {
		t.Errorf("after a refusal the description is %q", kept)
	}
	b.fill("#f-profileName", "hall-sensor")
	b.click("main button[type=submit]")
	b.see("#latest")
	if at := b.path(); at != "/devices/hall-1" {
		t.Errorf("after the device is added: at %s", at)
	}

	file := filepath.Join(t.TempDir(), "hall.jpg")
	if err := os.WriteFile(file, []byte(drawn(0)), 0o600); err != nil {
		t.Fatal(err)
	}
	b.open("/devices/hall-1?resource=image")
	b.do(chromedp.SetUploadFiles(chromedp.CSS("#f-file"), []string{file}))
	b.click("form.post button")
	b.see("img.latest")
	b.until("document.querySelector('img.latest').naturalWidth == 640")
	// A viewer in another browser sees the same picture and no form that changes something.
	viewer := logIn(p, t, domain.Viewer)
	viewer.open("/devices/hall-1?resource=image")
	viewer.until("document.querySelector('img.latest').naturalWidth == 640")
	if forms := ask[int](viewer, "document.querySelectorAll('main form, main .button.danger').length"); forms > 0 {
		t.Errorf("a viewer sees %d forms", forms)
	}
	// What others post appears by itself.
	ledgetest.PostTo(p, "hall-1", "temperature", "text/plain", "20.5")
	b.until("document.querySelector('#latest').innerText.includes('20.5')")
	viewer.until("document.querySelector('#latest').innerText.includes('20.5')")
	for i := range 5 {
		ledgetest.PostTo(p, "hall-1", "image", "image/jpeg", drawn(i+1))
	}
	b.until("document.querySelectorAll('.strip img').length == 5 && document.querySelector('img.latest').complete")
	for i := range 30 {
		ledgetest.PostTo(p, "hall-1", "temperature", "text/plain", fmt.Sprint(20+float64(i*i%17)/4))
	}
	ledgetest.PostTo(p, "hall-1", "people", "text/plain", "17")
	ledgetest.PostTo(p, "hall-1", "note", "text/plain", hostile)
	ledgetest.PostTo(p, "hall-1", "status", "application/json", `{"doors":[{"name":"north","open":true},{"name":"south","open":false}],"power":{"battery":0.87,"source":"mains"},"`+"<script>alert(3)</script>"+`":null}`)
	ledgetest.PostTo(p, "hall-1", "firmware", "application/octet-stream", "\x00\x01firmware")
	b.pictures("device-image")
	b.open("/devices/hall-1?resource=temperature")
	b.until("document.querySelectorAll('.chart canvas').length == 1")
	b.until("document.querySelectorAll('#numbers tbody tr').length == 31")
	b.pictures("device-chart")
	ledgetest.PostTo(p, "hall-1", "temperature", "text/plain", "42.25")
	b.until("document.querySelectorAll('#numbers tbody tr').length == 32 && document.querySelectorAll('.chart canvas').length == 1")
	b.open("/devices/hall-1?resource=status")
	b.see(".tree details")
	if text := b.text(".tree"); !strings.Contains(text, "<script>alert(3)</script>") || !strings.Contains(text, "0.87") {
		t.Errorf("the tree is %q", text)
	}
	b.pictures("device-json")
	b.open("/devices/hall-1?resource=people")
	b.fill("#f-text", "many")
	b.click("form.post button")
	b.see("#f-text-error")
	if kept := ask[string](b, "document.querySelector('#f-text').value"); kept != "many" {
		t.Errorf("a value that is refused is not kept: %q", kept)
	}

	b.open("/devices/hall-1/edit")
	b.fill("#f-description", "South side")
	b.click("main button[type=submit]")
	b.see(".notice")
	b.click("button[value=LOCKED]")
	b.see("button[value=UNLOCKED]")
	b.until(`/^LOCKED by test-operator, 20[0-9-]{8} [0-9:]{8}/.test(document.querySelector("#set").innerText)`)
	b.open("/devices/hall-1/history")
	if first := ask[[]string](b, `[...document.querySelectorAll("main h2")].map(e => e.innerText)`); strings.Join(first, ", ") != "Changes, The device as it was" {
		t.Errorf("the history has the parts %q, want the changes first", first)
	}
	text := b.text("main")
	for _, want := range []string{"North side", "South side", "user:test-operator", "LOCKED", "The device as it is now"} {
		if !strings.Contains(text, want) {
			t.Errorf("the history lacks %q:\n%s", want, text)
		}
	}
	b.pictures("device-history")
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := chromedp.Evaluate[bool]("(e => { e.value = -2; e.dispatchEvent(new Event('input', { bubbles: true })); return true })(document.querySelector('#f-back'))")(ctx, t)
		return err
	}))
	b.until("document.querySelector('#past').innerText.includes('2 changes before now')")
	if row := b.text("#past tr.differs"); !strings.Contains(row, "North side") || !strings.Contains(row, "South side") {
		t.Errorf("the first difference is %q", row)
	}
	b.open("/devices/hall-1/delete")
	b.pictures("device-delete")
	b.click("main button.danger")
	b.see(".notice")
	if a := p.Call(http.MethodGet, p.Metadata+"/api/v2/device/name/hall-1", "", ""); a.Status != http.StatusNotFound {
		t.Errorf("after the deletion: %d", a.Status)
	}
}

// TestConsoleDevicesLive shows and searches the list in a browser.
func TestConsoleDevicesLive(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	ledgetest.AddSensorProfile(p)
	var all []string
	for i := range 60 {
		more := fmt.Sprintf(`,"labels":["floor-%d"]`, i%4)
		if i == 7 {
			more = fmt.Sprintf(`,"description":%q,"labels":[%q]`, hostile, hostile)
		}
		all = append(all, ledgetest.SensorJSON(fmt.Sprintf("sensor-%02d", i), more))
	}
	want := make([]int, len(all))
	for i := range want {
		want[i] = http.StatusCreated
	}
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/device", "["+strings.Join(all, ",")+"]", want...)
	b := logIn(p, t, domain.Operator)
	b.open("/devices")
	b.see("#rows table")
	b.pictures("devices")
	b.do(chromedp.SendKeys(chromedp.CSS("#f-q"), "-41"))
	b.until("document.querySelectorAll('#rows tbody tr').length == 1 && document.querySelector('#rows').innerText.includes('sensor-41')")
	ledgetest.AddSensor(p, "sensor-41b", "")
	b.until("document.querySelectorAll('#rows tbody tr').length == 2")
	ledgetest.AddSensor(p, "other", "") // it does not match
	ledgetest.AddSensor(p, "new-41", "")
	b.until("document.querySelectorAll('#rows tbody tr').length == 3 && document.querySelector('#rows').innerText.includes('new-41')")
	b.open("/devices")
	b.see("#rows table")
	if ask[bool](b, `document.querySelector(".bulk").checkVisibility()`) {
		t.Error("the bar for marked devices is there before one is marked")
	}
	b.click("input[value='sensor-03']")
	b.click("input[value='sensor-04']")
	b.until(`document.querySelector(".bulk").checkVisibility() && document.querySelector(".bulk legend").innerText === "2 marked"`)
	b.click("button[value=lock]")
	b.see(".notice")
	if text := b.text("#rows"); strings.Count(text, "LOCKED") == 0 || !strings.Contains(b.text(".notice"), "2 devices are locked") {
		t.Errorf("after the lock:\n%s", text)
	}
}

// TestConsoleNarrow opens a page as wide as a telephone: the filters are behind a button, and the menu shows that it scrolls.
func TestConsoleNarrow(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	b := logIn(p, t, domain.Auditor)
	b.look(390, "light")
	b.open("/profiles?label=x")
	b.see("button.fold")
	const shown = `[...document.querySelectorAll("form.filters .field")].filter(e => e.checkVisibility()).length`
	if n := ask[int](b, shown); n > 0 {
		t.Errorf("%d filters are shown", n)
	}
	if text := b.text("button.fold"); text != "Filters (1 set)" {
		t.Errorf("the button says %q", text)
	}
	b.click("button.fold")
	b.until(shown + " >= 3")
	if back := ask[string](b, `getComputedStyle(document.querySelector(".top nav")).backgroundImage`); !strings.Contains(back, "gradient") {
		t.Error("nothing shows that the menu scrolls")
	}
	b.open("/ledger") // it has a checkbox, and no filter that is always shown
	if text := b.text("button.fold"); text != "Filters" || ask[bool](b, `document.querySelector("#filters").checkVisibility()`) {
		t.Errorf("the button of the ledger says %q, or an empty box is shown", text)
	}
	b.open("/profiles?label=x")
	b.look(1280, "light")
	b.until(`!document.querySelector("button.fold").checkVisibility() && document.querySelector("#f-label").checkVisibility()`)
}

// TestConsolePlaceholders shows a picture that is none, and one that is too small to be seen.
func TestConsolePlaceholders(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	ledgetest.AddSensorProfile(p)
	ledgetest.AddSensor(p, "hall-1", "")
	var tiny bytes.Buffer
	if err := jpeg.Encode(&tiny, image.NewRGBA(image.Rect(0, 0, 2, 1)), nil); err != nil {
		t.Fatal(err)
	}
	b := logIn(p, t, domain.Viewer)
	for want, body := range map[string]string{"Cannot be shown as a picture, 9 B": "no image!", fmt.Sprintf("2 × 1 pixels, %d B", tiny.Len()): tiny.String()} {
		ledgetest.PostTo(p, "hall-1", "image", "image/jpeg", body)
		for _, path := range []string{"/devices/hall-1?resource=image", "/readings"} {
			b.open(path)
			b.until(`document.querySelector(".no-picture")?.innerText === ` + jsText(want))
		}
	}
}

// TestConsolePicturesBelow has pictures far below the window, which are not loaded yet: they are not taken for broken ones.
func TestConsolePicturesBelow(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	ledgetest.AddSensorProfile(p)
	ledgetest.AddSensor(p, "hall-1", "")
	for i := range 60 {
		ledgetest.PostTo(p, "hall-1", "note", "text/plain", strings.Repeat("word ", 40))
		if i%10 == 0 {
			ledgetest.PostTo(p, "hall-1", "image", "image/jpeg", drawn(i/10))
		}
	}
	b := logIn(p, t, domain.Viewer)
	b.look(390, "light")
	b.open("/readings")
	b.until(`document.querySelectorAll("img.thumb").length >= 4`)
	for _, at := range []string{"0", "document.body.scrollHeight / 2", "document.body.scrollHeight"} {
		ask[bool](b, `(scrollTo(0, `+at+`), true)`)
		b.until(`[...document.querySelectorAll("img.thumb")].filter(e => e.getBoundingClientRect().top < innerHeight && e.getBoundingClientRect().bottom > 0).every(e => e.complete && e.naturalWidth > 16)`)
	}
	b.until(`[...document.querySelectorAll("img.thumb")].at(-1).naturalWidth > 16`)
	if n := ask[int](b, `document.querySelectorAll(".no-picture").length`); n > 0 {
		t.Errorf("%d whole pictures are taken for broken ones", n)
	}
}

func rows(c *ledgetest.ConsoleClient, t *testing.T, path string) []string {
	t.Helper()
	got := c.Get(path)
	if got.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s\n%s", path, got.Status, got.Text)
	}
	var names []string
	for _, m := range regexp.MustCompile(`<th scope="row"><a href="/devices/[^>]*>([^<]*)</a>`).FindAllStringSubmatch(got.Text, -1) {
		names = append(names, m[1])
	}
	return names
}

// TestConsoleDevices searches, sorts, pages and changes the list as a browser without scripts does.
func TestConsoleDevices(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	ledgetest.AddSensorProfile(p)
	p.AddConsoleUser(t, domain.Operator)
	c := ledgetest.NewConsoleClient(p)
	c.Login(t, "test-operator", ledgetest.ConsolePassword)
	var all []string
	want := []int{}
	for i := range 120 {
		all, want = append(all, ledgetest.SensorJSON(fmt.Sprintf("s-%03d", i), fmt.Sprintf(`,"labels":["row-%d","all"]`, i%3))), append(want, http.StatusCreated)
	}
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/device", "["+strings.Join(all, ",")+"]", want...)
	next := regexp.MustCompile(`rel="(next|prev)" href="([^"]*)"`)
	links := func(path string) map[string]string {
		found := map[string]string{}
		for _, m := range next.FindAllStringSubmatch(c.Get(path).Text, -1) {
			found[m[1]] = strings.ReplaceAll(m[2], "&amp;", "&")
		}
		return found
	}
	for _, sort := range []string{"name", "-name", "changed", "-changed", "profile", "service", "-state"} {
		var names []string
		path, last := "/devices?label=all&sort="+sort, ""
		for path != "" {
			names = append(names, rows(c, t, path)...)
			last, path = path, links(path)["next"]
		}
		if distinct := map[string]bool{}; true {
			for _, n := range names {
				distinct[n] = true
			}
			if len(names) != 120 || len(distinct) != 120 {
				t.Errorf("sort %s: %d rows, %d devices", sort, len(names), len(distinct))
			}
		}
		back := rows(c, t, links(last)["prev"])
		if strings.Join(back, " ") != strings.Join(names[50:100], " ") {
			t.Errorf("sort %s: the page before the last is %v", sort, back)
		}
	}
	if got := rows(c, t, "/devices?q=ROW-1+s-00"); strings.Join(got, " ") != "s-001 s-004 s-007" {
		t.Errorf("search: %v", got)
	}
	ledgetest.AddSensor(p, "s-9", "")
	ledgetest.AddSensor(p, "s-10", "")
	if got := rows(c, t, "/devices?q=s-"); strings.Join(got[:14], " ") != "s-000 s-001 s-002 s-003 s-004 s-005 s-006 s-007 s-008 s-009 s-9 s-010 s-10 s-011" {
		t.Errorf("the order of names is %v", got[:14])
	}
	ledgetest.AddSensor(p, "other", `,"adminState":"LOCKED"`)
	if got := rows(c, t, "/devices?state=locked"); strings.Join(got, " ") != "other" { // what was just added is found
		t.Errorf("state: %v", got)
	}
	change := func(action string, status int, names ...string) ledgetest.Page {
		t.Helper()
		got := c.Post("/devices", url.Values{"name": names, "action": {action}, "label": {"marked"}, "back": {"/devices?q=s-0"}})
		if got.StatusCode != status {
			t.Errorf("%s: %s\n%s", action, got.Status, got.Text)
		}
		return got
	}
	if to := change("lock", http.StatusSeeOther, "s-001", "s-002").Header.Get("Location"); to != "/devices?q=s-0" {
		t.Errorf("after the change: %s", to)
	}
	change("label", http.StatusSeeOther, "s-001", "s-003")
	if got := rows(c, t, "/devices?label=marked"); strings.Join(got, " ") != "s-001 s-003" {
		t.Errorf("label: %v", got)
	}
	change("unlabel", http.StatusSeeOther, "s-001")
	change("delete", http.StatusSeeOther, "s-001")
	if got := rows(c, t, "/devices?q=s-00"); len(got) != 9 {
		t.Errorf("after the deletion: %v", got)
	}
	if got := change("delete", http.StatusUnprocessableEntity, "s-001", "s-004"); !strings.Contains(got.Text, "1 of 2 devices are deleted. Refused: s-001") {
		t.Errorf("a refusal: %s", got.Text)
	}
	change("lock", http.StatusUnprocessableEntity)
	change("nothing", http.StatusUnprocessableEntity, "s-002")
}

// TestConsoleEditConflict has two editors of one device.
func TestConsoleEditConflict(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	ledgetest.AddSensorProfile(p)
	ledgetest.AddSensor(p, "hall-1", `,"description":"first","labels":["a"]`)
	p.AddConsoleUser(t, domain.Operator)
	c := ledgetest.NewConsoleClient(p)
	c.Login(t, "test-operator", ledgetest.ConsolePassword)
	revision := func(text string) string {
		m := regexp.MustCompile(`name="revision" value="(\d+)"`).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no revision in the form:\n%s", text)
		}
		return m[1]
	}
	form := url.Values{"labels": {"a, b"}, "protocolName": {"rest"}, "profileName": {"hall-sensor"}, "serviceName": {"device-rest"},
		"protocols": {"rest:\n  host: 10.0.0.5"}, "autoEvents": {"- {sourceName: temperature, interval: 10s, onChange: true}"}}
	send := func(revision, description string) ledgetest.Page {
		form.Set("revision", revision)
		form.Set("description", description)
		return c.Post("/devices/hall-1/edit", form)
	}
	seen := revision(c.Get("/devices/hall-1/edit").Text)
	if got := send(seen, "second"); got.StatusCode != http.StatusSeeOther {
		t.Fatalf("the first editor: %s\n%s", got.Status, got.Text)
	}
	late := send(seen, "third")
	if late.StatusCode != http.StatusPreconditionFailed || !strings.Contains(late.Text, ">third<") || !strings.Contains(late.Text, ">second<") {
		t.Fatalf("the second editor: %s\n%s", late.Status, late.Text)
	}
	if got := send(revision(late.Text), "third"); got.StatusCode != http.StatusSeeOther {
		t.Errorf("the second editor, who has seen it: %s\n%s", got.Status, got.Text)
	}
	a := p.Call(http.MethodGet, p.Metadata+"/api/v2/device/name/hall-1", "", "")
	for _, want := range []string{`"third"`, `"b"`, `"host":"10.0.0.5"`, `"interval":"10s"`} {
		if !strings.Contains(a.Body, want) {
			t.Errorf("the device lacks %s: %s", want, a.Body)
		}
	}
	form.Set("autoEvents", "- {")
	if got := send("1", "x"); got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got.Text, `id="f-autoEvents-error"`) {
		t.Errorf("AutoEvents that are no YAML: %s", got.Status)
	}
}

// TestConsoleImportButton imports with the button above the preview, which is outside of its form.
func TestConsoleImportButton(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	b := logIn(p, t, domain.Operator)
	b.open("/devices/+import")
	b.fill("#f-text", "name,profileName\nhall-1,sample-image\nhall-2,sample-image\n")
	b.pictures("device-import")
	b.click("#import button[value=preview]")
	b.until(`/will be added/.test(document.querySelector("main .tag")?.innerText)`)
	b.pictures("device-import-preview")
	if ask[bool](b, `!!document.querySelector("main > p > button").closest("form")`) {
		t.Error("the first button is in the form")
	}
	b.click("main > p > button[value=apply]")
	b.until(`document.querySelector(".notice")?.innerText.includes("Devices added: 2, changed: 0.")`)
}

// importText sends an import as a browser does.
func importText(c *ledgetest.ConsoleClient, text, action string, fields ...string) ledgetest.Page {
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	for i := 0; i < len(fields); i += 2 {
		_ = form.WriteField(fields[i], fields[i+1])
	}
	_ = form.WriteField("text", text)
	_ = form.WriteField("action", action)
	form.Close()
	r, err := http.NewRequest(http.MethodPost, c.Base+"/devices/+import", &b)
	if err != nil {
		panic(err)
	}
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.AddCookie(c.Cookie)
	return c.Do(r)
}

// TestConsoleImport previews and imports devices.
func TestConsoleImport(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	ledgetest.AddSensorProfile(p)
	ledgetest.AddSensor(p, "there", `,"description":"old"`)
	ledgetest.AddSensor(p, "same", "")
	p.AddConsoleUser(t, domain.Operator)
	c := ledgetest.NewConsoleClient(p)
	c.Login(t, "test-operator", ledgetest.ConsolePassword)
	text := `deviceList:
  - {name: new-1, serviceName: device-rest, profileName: hall-sensor, protocolName: rest, protocols: {rest: {port: 502}}}
  - {name: there, description: new}
  - {name: same, profileName: hall-sensor}
  - {name: new-2, serviceName: device-rest, profileName: no-such, protocolName: rest, protocols: {rest: {}}}
  - {name: new-1}
  - {name: "<script>alert(1)</script>"}
`
	for _, action := range []string{"preview", "apply"} {
		got := importText(c, text, action)
		if got.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s\n%s", action, got.Status, got.Text)
		}
		added, changed := "added", "changed"
		if action == "preview" {
			added, changed = "will be added", "will change"
		}
		for _, want := range []string{
			"<strong>1</strong> " + added, "<strong>1</strong> " + changed, ">" + added + "</span>", ">" + changed + "</span>",
			"<strong>1</strong> unchanged", ">3</strong> refused", "no-such", "device 1 has the same name",
		} {
			if !strings.Contains(got.Text, want) {
				t.Errorf("%s lacks %q:\n%s", action, want, got.Text)
			}
		}
		if strings.Contains(got.Text, "<script>alert") {
			t.Errorf("%s: a name runs", action)
		}
		summary, _, _ := strings.Cut(got.Text, "<table")
		if above := strings.Contains(summary, ">Import 2 devices</button>"); above != (action == "preview") {
			t.Errorf("%s: a button above the table: %t", action, above)
		}
		status := p.Call(http.MethodGet, p.Metadata+"/api/v2/device/name/new-1", "", "").Status
		if (status == http.StatusOK) != (action == "apply") {
			t.Errorf("after %s: %d", action, status)
		}
	}
	if a := p.Call(http.MethodGet, p.Metadata+"/api/v2/device/name/there", "", ""); !strings.Contains(a.Body, `"new"`) {
		t.Errorf("not changed: %s", a.Body)
	}
	many := make([]string, 1200)
	for i := range many {
		many[i] = ledgetest.SensorJSON(fmt.Sprintf("many-%d", i), "")
	}
	if got := importText(c, "["+strings.Join(many, ",")+"]", "apply"); !strings.Contains(got.Text, "<strong>1200</strong> added") {
		t.Errorf("many devices: %.3000s", got.Text)
	}
	for _, bad := range []string{"", "{", "- [", "just text", strings.Repeat("- {}\n", 10_001)} {
		if got := importText(c, bad, "preview"); got.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%.20q: %s", bad, got.Status)
		}
	}
}

// TestConsoleImportFormats imports lists as users of EdgeX have them: without serviceName, in TOML, with numbers in protocols, and as a table.
// Before, each was refused, and texts that look like numbers changed.
func TestConsoleImportFormats(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	ledgetest.AddSensorProfile(p)
	c := p.NewRole(t, domain.Operator)
	if got := c.Get("/devices/+import"); !strings.Contains(got.Text, `<option value="device-rest" selected>`) || !strings.Contains(got.Text, `name="profileName"`) {
		t.Errorf("the form lacks the defaults:\n%s", got.Text)
	}
	for name, one := range map[string]struct{ text, says string }{
		"yaml-1": {"deviceList:\n- name: yaml-1\n  profileName: hall-sensor\n  description: 0012\n  properties: {a: 1}\n  protocols: {other: {Address: simple01, Port: 0x1F, Since: 2024-01-31}}\n", "ignored, because unknown: properties"},
		"toml-1": {"[[DeviceList]]\nName = \"toml-1\"\nDescription = \"0012\"\n[DeviceList.Protocols.other]\nAddress = \"simple01\"\nPort = 0x1F\nSince = 2024-01-31\n", ""},
		"csv-1":  {"name;description;protocols.other.Address;protocols.other.Port;protocols.other.Since\ncsv-1;0012;simple01;0x1F;2024-01-31\n", ""},
	} {
		got := importText(c, one.text, "apply", "serviceName", "device-rest", "profileName", "hall-sensor")
		if !strings.Contains(got.Text, "<strong>1</strong> added") || !strings.Contains(got.Text, one.says) {
			t.Errorf("%s: %s\n%s", name, got.Status, got.Text)
		}
		a := p.Call(http.MethodGet, p.Metadata+"/api/v2/device/name/"+name, "", "")
		for _, want := range []string{`"description":"0012"`, `"serviceName":"device-rest","profileName":"hall-sensor"`, `"protocols":{"other":{"Address":"simple01","Port":"0x1F","Since":"2024-01-31"}}`} {
			if !strings.Contains(a.Body, want) {
				t.Errorf("%s lacks %s: %s", name, want, a.Body)
			}
		}
	}
	_, example, _ := strings.Cut(c.Get("/devices/+import").Text, `data-language="CSV">`)
	example, _, _ = strings.Cut(example, "</pre>")
	got := importText(c, html.UnescapeString(example), "apply", "serviceName", "device-rest")
	ledgetest.Want(got, t, http.StatusOK, "<strong>2</strong> added", `<strong>0</strong> refused`)
	ledgetest.PostTo(p, "hall-meter", "float", "text/plain", "20.5")
	for text, says := range map[string]string{
		"name,protocols\na,rest\n": "such as protocols.rest.host",
		"- {name: [a]}":            "name: ", "- 5": "",
		"- {name: a, protocols: {other: [1]}}": "protocols", "name: a\n---\nname: b": "line 3",
		"- {name: no-defaults, protocols: {other: {}}}": "serviceName",
	} {
		got := importText(c, text, "preview", "serviceName", "")
		if strings.Contains(got.Text, "Go ") || strings.Contains(got.Text, "v2.") || strings.Contains(got.Text, "json:") || !strings.Contains(got.Text, says) {
			t.Errorf("%q: want %q and no names of Go:\n%s", text, says, got.Text)
		}
	}
}

// TestImportAndApply gives the same files to the import of the console and to ledge apply, each on a node of its own. The devices are the
// same afterwards, and so are the reasons of refusals. A second run changes nothing.
func TestImportAndApply(t *testing.T) {
	t.Parallel()
	start := func() *ledgetest.Node {
		p := ledgetest.Start(t, t.TempDir())
		ledgetest.AddSensorProfile(p)
		ledgetest.AddSensor(p, "there", `,"labels":["old"]`)
		return p
	}
	importing, applying := start(), start()
	c := importing.NewRole(t, domain.Operator)
	for i, one := range []struct{ file, text, refused string }{
		{
			"list.yaml", "- {name: NEW, labels: [0012, hall], protocols: {other: {Port: 0x1F}}, autoEvents: [{sourceName: temperature, interval: 10s}]}\n",
			"",
		},
		{
			"edgex.yml", "deviceList:\n- Name: NEW\n  ProfileName: hall-sensor\n" +
				"  properties: {x: 1}\n  Protocols: {other: {Rate: 1.10}}\n",
			"",
		},
		{"one.json", `{"name":"there","description":"new","labels":[],"adminState":null}`, ""},
		{
			"requests.json", `[{"apiVersion":"v2","device":{"name":"NEW","protocols":{"other":{"Port":502,"Secure":true}},"location":{"floor":2}}}]`,
			"",
		},
		{
			"answer.json", `{"totalCount":1,"devices":[{"name":"there","id":"4b4e0a0e-0000-4000-8000-000000000000"` +
				`,"created":7,"operatingState":"DOWN"}]}`,
			"",
		},
		{
			"edgex.toml", "[[DeviceList]]\nName = \"NEW\"\nDescription = \"0012\"\n" +
				"[DeviceList.Protocols.other]\nPort = 0x1F\nSince = 2024-01-31\n",
			"",
		},
		{"table.csv", "name;labels;protocols.other.Port\nNEW;b,c;502\nthere;x;\n", ""},
		{"plain.csv", "name,labels,protocols.rest.host\nNEW,b,\nthere,y,\n", ""},
		{"service.csv", "name,serviceName\nNEW,modbus\n", `add a column for the protocol of device service "modbus"`},
		{
			"profile.yaml", "- {name: NEW, profileName: no-such, protocols: {other: {}}}\n- {name: NEW-b, protocols: {other: {}}}\n",
			`device profile "no-such"`,
		},
		{
			"type.yaml", "- {name: NEW, labels: hall}\n- {name: NEW-b, protocols: {other: {}}}\n",
			"device.labels: a JSON string is not possible here; give an array",
		},
		{"spelling.yaml", "- {name: there, lables: [a]}\n", "lables: is an unknown key; did you mean labels?"},
		{"twice.yaml", "- {name: there, description: a}\n- {name: there, description: b}\n", "device 1 has the same name; leave one out"},
		{"state.csv", "name,adminState\nthere,OPEN\n", `"OPEN"`},
		{"broken.yaml", "- name: [\n", "The text is not JSON, YAML, TOML or CSV: line"},
		{"documents.yaml", "name: a\n---\nname: b\n", "The text is more than one document: line 3"},
		{
			"bomb.yaml", "a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\n" +
				"c: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c]\n",
			"the aliases make more than",
		},
		{"broken.toml", "[[DeviceList]]\nName = \"a\nx = 1\n", "The text is not TOML: line 2"},
		{"broken.csv", "name,description\na,b,c\n", "The text is not CSV: line 2"},
		{"empty.json", "[]", "There is no device in the text"},
	} {
		text := strings.ReplaceAll(one.text, "NEW", fmt.Sprintf("new-%d", i))
		site := t.TempDir()
		if err := os.Mkdir(filepath.Join(site, "device"), 0o700); err != nil {
			t.Fatal(err)
		}
		ledgetest.MustWrite(t, filepath.Join(site, "device", one.file), text)
		runs := []struct {
			node *ledgetest.Node
			run  func() (says string)
		}{
			{importing, func() string {
				page := importText(c, text, "apply", "serviceName", "device-rest", "profileName", "hall-sensor")
				return html.UnescapeString(page.Text)
			}},
			{applying, func() string {
				defaults := []string{"apply", "--service", "device-rest", "--profile", "hall-sensor"}
				out, stderr, _ := ledgetest.Run(t, append(defaults, site, "--data-dir", applying.Dir)...)
				return out + stderr
			}},
		}
		for i, r := range runs {
			if says := r.run(); !strings.Contains(says, one.refused) {
				t.Errorf("%s, run %d: got %s\nwant %q", one.file, i, says, one.refused)
			}
			before := len(ledgetest.Logged(t, r.node.Dir))
			if r.run(); len(ledgetest.Logged(t, r.node.Dir)) != before {
				t.Errorf("%s, run %d: the second run changes something", one.file, i)
			}
		}
		if imported, applied := devicesOf(t, importing), devicesOf(t, applying); imported != applied {
			t.Errorf("%s: the import has made\n%s\nand apply\n%s", one.file, imported, applied)
		}
	}
	if all := devicesOf(t, importing); strings.Count(all, "new-") != 8 || strings.Contains(all, "4b4e0a0e") {
		t.Errorf("want 8 new devices, got\n%s", all)
	}
}

// devicesOf returns the devices of a node by name, without ids and times.
func devicesOf(t *testing.T, p *ledgetest.Node) string {
	t.Helper()
	var answer struct{ Devices []map[string]any }
	a := p.Call(http.MethodGet, p.Metadata+"/api/v2/device/all?limit=-1", "", "")
	if err := json.Unmarshal([]byte(a.Body), &answer); err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, d := range answer.Devices {
		for _, own := range []string{"id", "created", "modified"} {
			delete(d, own)
		}
		text, _ := json.Marshal(d)
		list = append(list, string(text))
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// TestConsoleActiveMedia posts what a browser would run as a page. The console gives it out as a download only.
func TestConsoleActiveMedia(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	profile := "name: pages\ndeviceResources:\n"
	active := map[string]string{"html": "text/html", "svg": "image/svg+xml", "xhtml": "application/xhtml+xml"}
	for name, mediaType := range active {
		profile += fmt.Sprintf("  - name: %s\n    properties: {valueType: Binary, readWrite: R, mediaType: %q}\n", name, mediaType)
	}
	if a := p.Upload("file", profile); a.Status != http.StatusCreated {
		t.Fatalf("profile: %d %s", a.Status, a.Body)
	}
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/device", "["+strings.Replace(ledgetest.SensorJSON("pages", ""), "hall-sensor", "pages", 1)+"]", http.StatusCreated)
	c := p.NewRole(t, domain.Viewer)
	for name, mediaType := range active {
		ledgetest.PostTo(p, "pages", name, mediaType, hostile)
		page := c.Get("/devices/pages?resource=" + name)
		got := c.Get(regexp.MustCompile(`/readings/[0-9a-f-]+/value`).FindString(page.Text))
		h := got.Header
		if got.Text != hostile || h.Get("Content-Disposition") != "attachment" || h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%s: %s %v", mediaType, got.Status, h)
		}
		if strings.Contains(page.Text, "<iframe") || strings.Contains(page.Text, "<object") || strings.Contains(page.Text, `<img class="latest"`) {
			t.Errorf("%s is shown in the page:\n%s", mediaType, page.Text)
		}
	}
}

// TestConsoleReadings lists readings and images.
func TestConsoleReadings(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	ledgetest.AddSensorProfile(p)
	ledgetest.AddSensor(p, "hall-1", "")
	ledgetest.AddSensor(p, "hall-2", "")
	for i := range 60 {
		ledgetest.PostTo(p, "hall-1", "temperature", "text/plain", fmt.Sprint(i))
	}
	ledgetest.PostTo(p, "hall-2", "note", "text/plain", hostile)
	ledgetest.PostTo(p, "hall-2", "image", "image/jpeg", drawn(1))
	b := logIn(p, t, domain.Operator)
	b.open("/readings")
	b.see("#rows tbody tr")
	ledgetest.PostTo(p, "hall-2", "people", "text/plain", "4711")
	b.until("document.querySelector('#rows').innerText.includes('4711')")
	b.pictures("readings")
	b.click("a[href='/readings?paused=1']")
	b.see("main a[href='/readings']")
	ledgetest.PostTo(p, "hall-2", "people", "text/plain", "4712")
	if live := ask[bool](b, "document.querySelector('[data-live]') !== null"); live {
		t.Error("the page follows readings while it is paused")
	}
	for i := range 9 {
		ledgetest.PostTo(p, "hall-1", "image", "image/jpeg", drawn(i))
	}
	b.open("/readings?view=images")
	b.until("document.querySelectorAll('.gallery img').length == 10")
	b.pictures("readings-gallery")

	c := ledgetest.NewConsoleClient(p)
	c.Login(t, "test-operator", ledgetest.ConsolePassword)
	for path, want := range map[string]string{
		"/readings?device=hall-2&resource=note": "1 reading</caption>", "/readings?resource=temperature": "60 readings", "/readings?device=hall-1": "69 readings",
		"/readings?from=2020-01-01T00:00&to=2020-01-02T00:00": "No reading matches", "/readings?resource=temperature&offset=50": "after the newest 50",
	} {
		if got := c.Get(path); !strings.Contains(got.Text, want) || strings.Contains(got.Text, "<script>alert") {
			t.Errorf("%s lacks %q, or something runs:\n%s", path, want, got.Text)
		}
	}
	if got := c.Get("/readings?offset=99999999999"); got.StatusCode != http.StatusOK || !strings.Contains(got.Text, "72 readings</caption>") && !strings.Contains(got.Text, "73 readings</caption>") {
		t.Errorf("an offset beyond the end: %s\n%s", got.Status, got.Text)
	}
	if got := c.Get("/readings?from=yesterday"); got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got.Text, "f-from-error") {
		t.Errorf("a time that cannot be read: %s", got.Status)
	}
	page := c.Get("/devices/hall-2?resource=note")
	_, note, _ := strings.Cut(page.Text, `<pre class="value">`)
	value := regexp.MustCompile(`/readings/[0-9a-f-]+/value`).FindString(note)
	got := c.Get(value)
	if got.Header.Get("Content-Disposition") != "attachment" || !strings.Contains(got.Header.Get("Content-Security-Policy"), "sandbox") || got.Text != hostile {
		t.Errorf("%s: %v %.100q", value, got.Header, got.Text)
	}
	for resource, tag := range map[string]string{"clip": "<video controls", "sound": "<audio controls"} {
		ledgetest.PostTo(p, "hall-2", resource, map[string]string{"clip": "video/mp4", "sound": "audio/wav"}[resource], "not really")
		got := c.Get("/devices/hall-2?resource=" + resource)
		_, player, found := strings.Cut(got.Text, tag)
		source := c.Get(regexp.MustCompile(`/readings/[0-9a-f-]+/value`).FindString(player))
		if !found || source.Text != "not really" || !strings.Contains(source.Header.Get("Content-Security-Policy"), "media-src 'self'") {
			t.Errorf("%s has no player, or not of its value: %v", resource, source.Header)
		}
	}
	p.AddConsoleUser(t, domain.Viewer)
	v := ledgetest.NewConsoleClient(p)
	v.Login(t, "test-viewer", ledgetest.ConsolePassword)
	for _, path := range []string{"/devices", "/devices/hall-1", "/devices/hall-1/history"} {
		if got := v.Get(path); got.StatusCode != http.StatusOK || strings.Contains(got.Text, `method="post" action="/devices`) || strings.Contains(got.Text, "+add") {
			t.Errorf("%s as viewer: %s, or with forms", path, got.Status)
		}
	}
}

// TestConsoleLongHistory changes a device more often than its history shows, and looks at it at several times.
func TestConsoleLongHistory(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	ledgetest.AddSensorProfile(p)
	p.AddConsoleUser(t, domain.Viewer)
	ledgetest.AddSensor(p, "hall-1", `,"description":"change 0"`)
	c := ledgetest.NewConsoleClient(p)
	c.Login(t, "test-viewer", ledgetest.ConsolePassword)
	if got := c.Get("/devices/hall-1/history?at=2020-01-01T00:00"); !strings.Contains(got.Text, "did not exist. It was added later") {
		t.Errorf("before the device was added:\n%s", got.Text)
	}
	for i := range 260 {
		p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/device", fmt.Sprintf(`[{"apiVersion":"v2","device":{"name":"hall-1","description":"change %d","labels":["row %d","%s"]}}]`, i+1, i+1, "x"), http.StatusOK)
	}
	first := c.Get("/devices/hall-1/history")
	const link = `<a href="/ledger/changes/`
	if a := p.NewRole(t, domain.Auditor); strings.Contains(first.Text, link) || !strings.Contains(a.Get("/devices/hall-1/history").Text, link) {
		t.Error("a viewer, and no auditor, is led to the events on the ledger")
	}
	for _, want := range []string{"The device as it is now", `min="-250"`, "<del>change 259</del>", "<ins>change 260</ins>"} {
		if !strings.Contains(first.Text, want) {
			t.Errorf("the newest page lacks %q", want)
		}
	}
	if strings.Contains(first.Text, "<ins>change 235</ins>") || !strings.Contains(first.Text, "<ins>change 236</ins>") {
		t.Error("a page does not have 25 changes")
	}
	older := regexp.MustCompile(`from=\d+`)
	pages, at, change, last := 0, "/devices/hall-1/history", 260, ""
	for ; at != ""; pages++ {
		got := c.Get(at)
		last = got.Text
		for ; change >= 0 && strings.Contains(got.Text, fmt.Sprintf("<ins>change %d</ins>", change)); change-- { // each change once, in order
		}
		if at = older.FindString(got.Text); at != "" {
			at = "/devices/hall-1/history?" + at
		} else if !strings.Contains(got.Text, "<strong>added</strong>") {
			t.Errorf("the last page is not that of the oldest change:\n%s", got.Text)
		}
	}
	if pages != 11 || change != -1 {
		t.Errorf("%d pages, want 11; change %d is not listed", pages, change)
	}
	seqs := regexp.MustCompile(`seq=(\d+)#`).FindAllStringSubmatch(last, -1)
	versions := map[string]string{
		"back=-250": "change 10", "back=-255": "change 5", "back=-260": "change 0", "back=-1": "change 259", "seq=" + seqs[len(seqs)-5][1]: "change 4",
	}
	for query, want := range versions {
		if got := c.Get("/devices/hall-1/history?" + query); !strings.Contains(got.Text, ">"+want+"</td>") {
			t.Errorf("%s lacks %s:\n%s", query, want, got.Text)
		}
	}
	ledgetest.AddSensor(p, "hall-2", "")
	p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/device", `[{"apiVersion":"v2","device":{"name":"hall-1","description":"the last"}}]`, http.StatusOK)
	other := regexp.MustCompile(`seq=(\d+)#`).FindStringSubmatch(c.Get("/devices/hall-2/history").Text)[1]
	for _, from := range []string{"1", other, "18446744073709551615", "-1", "x"} { // none of them shows what is not the device's
		if got := c.Get("/devices/hall-1/history?from=" + from); got.StatusCode != http.StatusOK || strings.Contains(got.Text, "hall-2") {
			t.Errorf("from %s: %s\n%s", from, got.Status, got.Text)
		}
	}
	if got := c.Get("/devices/hall-1/history?at=x"); !strings.Contains(got.Text, "Write the time as") {
		t.Errorf("a time that cannot be read: %s", got.Status)
	}
}

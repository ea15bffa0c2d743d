package console

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// addSensors adds the devices s-000, s-001 and so on, with the label all.
func addSensors(p *ledgetest.Node, n int) {
	p.TB.Helper()
	ledgetest.AddSensorProfile(p)
	var all []string
	var want []int
	for i := range n {
		all, want = append(all, ledgetest.SensorJSON(fmt.Sprintf("s-%03d", i), `,"labels":["all"]`)), append(want, http.StatusCreated)
	}
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/device", "["+strings.Join(all, ",")+"]", want...)
}

// shiftClick clicks an element while the shift key is down.
func (b *tab) shiftClick(css string) {
	b.Helper()
	b.see(css)
	ask[bool](b, "document.querySelector("+jsText(css)+`).dispatchEvent(
		new MouseEvent("click", {shiftKey: true, bubbles: true, cancelable: true}))`)
}

// patchDevice changes fields of a device, which are the members of a JSON object.
func patchDevice(p *ledgetest.Node, fields string) {
	p.TB.Helper()
	p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/device", `[{"apiVersion":"v2","device":{`+fields+`}}]`, http.StatusOK)
}

// TestConsoleMarks marks a range of rows, all on the page, and all that match. It then locks these, with one event for each.
func TestConsoleMarks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	addSensors(p, 130)
	ledgetest.AddSensor(p, "other", "")
	b := logIn(p, t, domain.Operator)
	b.open("/devices?label=all")
	says := func(marked string, more string) {
		t.Helper()
		b.until(`document.querySelector(".bulk legend").innerText === ` + jsText(marked) + more)
	}
	b.click("input[value='s-003']")
	b.shiftClick("input[value='s-006']")
	says("4 marked", ` && document.querySelector("button[value=lock]").innerText === "Lock 4"`)
	b.until(`document.querySelector(".mark-page").indeterminate`)
	b.shiftClick("input[value='s-005']")
	says("2 marked", "")
	b.click(".mark-page")
	says("50 marked", ` && /^Delete 50 devices\?/.test(document.querySelector("button[value=delete]").dataset.confirm)`)
	b.click("[name=all]")
	says("130 marked", ` && document.querySelector("button[value=delete]").innerText === "Delete 130"`)
	b.pictures("devices-marked")
	b.click("input[value='s-003']")
	says("49 marked", ` && !document.querySelector("[name=all]").checked`)
	b.click("[name=all]")
	says("130 marked", "")
	b.click("button[value=lock]")
	b.see("#run")
	if text := b.text("h1"); text != "Lock 130 devices?" {
		t.Errorf("the question is %q", text)
	}
	b.pictures("devices-all-before")
	b.click("button.go")
	b.see("#run[data-over]")
	b.pictures("devices-all-after")
	if text := b.text("#run"); !strings.Contains(text, "130 of 130 devices are done.") || !strings.Contains(b.path(), "&seq=") {
		t.Errorf("after the run, at %s: %s", b.path(), text)
	}
	b.click("a.back")
	b.until(`/^130 of /.test(document.querySelector("#rows caption")?.innerText)`)
	if got := p.NewRole(t, domain.Viewer).Get("/devices?state=locked"); !strings.Contains(got.Text, "<caption>130 of ") {
		t.Errorf("not 130 devices are locked:\n%s", got.Text)
	}
	events := 0
	for _, one := range ledgetest.Facts(t, dir) {
		if strings.HasPrefix(one.Type, "device.updated/") {
			events++
		}
	}
	if events != 130 {
		t.Errorf("%d events of changes, want one for each of 130 devices", events)
	}
}

// TestConsoleMarksStay locks two devices and unlocks them again with the same marks. The list shows the changes of others until another row
// is marked, and says then that newer changes wait. Another search begins without marks.
func TestConsoleMarksStay(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	addSensors(p, 5)
	b := logIn(p, t, domain.Operator)
	b.open("/devices?label=all")
	b.click("input[value='s-001']")
	b.click("input[value='s-003']")
	b.click("button[value=lock]")
	marked := func(n int) string {
		return fmt.Sprintf(` && document.querySelector(".bulk legend").innerText === "%d marked"`, n)
	}
	b.until(`/^2 devices are locked/.test(document.querySelector(".notice")?.innerText)` + marked(2))
	patchDevice(p, `"name":"s-004","operatingState":"DOWN"`)
	b.until(`document.querySelectorAll("#rows .tag.bad").length === 1` + marked(2))
	b.click("button[value=unlock]")
	b.until(`/^2 devices are unlocked/.test(document.querySelector(".notice")?.innerText)` + marked(2))
	b.click("a.chip")
	b.until(`document.querySelectorAll("#rows tbody tr").length > 5 && !document.querySelector("td.mark input:checked")`)
	b.open("/devices?label=all")
	b.click("input[value='s-001']")
	b.click("input[value='s-003']")
	b.click("input[value='s-002']")
	patchDevice(p, `"name":"s-000","operatingState":"DOWN"`)
	b.until(`document.querySelector("#rows.waits") && document.querySelectorAll("#rows .tag.bad").length === 1` + marked(3))
	for _, name := range []string{"s-001", "s-002", "s-003"} {
		b.click("input[value='" + name + "']")
	}
	b.click("h1")
	b.until(`!document.querySelector("#rows.waits") && document.querySelectorAll("#rows .tag.bad").length === 2`)
}

// TestConsoleMarksStop stops a run in a browser after two requests, reloads its page, and continues.
func TestConsoleMarksStop(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	addSensors(p, 130)
	b := logIn(p, t, domain.Operator)
	b.open("/devices/+all?action=delete&q=label%3Aall")
	ask[bool](b, `(window.sent = 0, document.addEventListener("htmx:beforeRequest", e => {
		if (e.detail.elt.id === "run" && ++window.sent > 2) { e.preventDefault(); } // as a slow network does
	}), true)`)
	b.click("button.go")
	b.until(`window.sent === 3 &&
		/^[1-9]\d* of 130 devices are done, \d+ are left\./.test(document.querySelector("#run [role=status]")?.innerText)`)
	done := ask[int](b, `document.querySelector("progress").value`)
	if ask[bool](b, `document.querySelector("button.go").checkVisibility()`) {
		t.Error("a run can be continued that is going")
	}
	b.click("a.stop")
	b.until(`/Nothing changes while this page waits/.test(document.querySelector("#run").innerText)`)
	b.pictures("devices-all-stopped")
	b.open(b.path())
	b.until(`document.querySelector("button.go").innerText === "Continue"`)
	if again := ask[int](b, `document.querySelector("progress").value`); again != done {
		t.Errorf("after a reload %d devices are done, want %d", again, done)
	}
	b.click("button.go")
	b.see("#run[data-over]")
	if got := p.NewRole(t, domain.Viewer).Get("/devices?label=all"); !strings.Contains(got.Text, "<caption>0 of ") {
		t.Errorf("devices are left:\n%s", got.Text)
	}
}

// nextOf is the position in the form of a run: the name of the last device that was tried.
func nextOf(page ledgetest.Page, t *testing.T) string {
	t.Helper()
	found := regexp.MustCompile(`name="next" value="([^"]*)"`).FindStringSubmatch(page.Text)
	if found == nil {
		t.Fatalf("the page has no position:\n%s", page.Text)
	}
	return found[1]
}

// TestConsoleMarksKill kills the program in the middle of a deletion. The page of the run then shows how many devices are left, and deletes
// these: not the device that was added since, and not the one that was changed.
func TestConsoleMarksKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	addSensors(p, 120)
	c := p.NewRole(t, domain.Operator)
	to := c.Post("/devices", url.Values{"all": {"1"}, "action": {"delete"}, "back": {"/devices?label=all"}}).Header.Get("Location")
	ask := c.Get(to)
	ledgetest.Want(ask, t, http.StatusOK, "<h1>Delete 120 devices?</h1>", "label:all")
	address := html.UnescapeString(regexp.MustCompile(`action="([^"]*seq=[^"]*)"`).FindStringSubmatch(ask.Text)[1])
	first := c.Post(address, nil)
	next := nextOf(first, t)
	var last int // the number of the last device of the first request: 49, unless the machine is slow
	if _, err := fmt.Sscanf(next, "s-%d", &last); err != nil {
		t.Fatal(err)
	}
	ledgetest.Want(first, t, http.StatusOK, fmt.Sprintf("%d of 120 devices are done, %d are left.", last+1, 119-last))
	ledgetest.AddSensor(p, "late", `,"labels":["all"]`)
	patchDevice(p, `"name":"s-119","description":"needed"`)
	ended := make(chan error)
	go func() {
		form := strings.NewReader("next=" + next)
		r, err := http.NewRequest(http.MethodPost, c.Base+address, form)
		if err == nil {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.AddCookie(c.Cookie)
			var got *http.Response
			if got, err = c.Client.Do(r); err == nil {
				err = got.Body.Close()
			}
		}
		ended <- err
	}()
	ledgetest.Until(t, "a deletion by the second request", func() bool {
		return p.Call(http.MethodGet, p.Metadata+fmt.Sprintf("/api/v2/device/name/s-%03d", last+1), "", "").Status == http.StatusNotFound
	})
	p.Kill()
	<-ended // with an answer, or without one

	p = ledgetest.Start(t, dir)
	c = p.NewRole(t, domain.Operator)
	var done, left int
	got := c.Get(address)
	ledgetest.Want(got, t, http.StatusOK, ">Continue<")
	if _, err := fmt.Sscanf(regexp.MustCompile(`\d+ of 120 devices are done, \d+ are left`).FindString(got.Text),
		"%d of 120 devices are done, %d are left", &done, &left); err != nil || done < last+3 || done+left != 120 {
		t.Errorf("after the kill %d devices are done and %d are left; %v\n%s", done, left, err, got.Text)
	}
	next = ""
	for requests := 0; ; requests++ {
		got := c.Post(address, url.Values{"next": {next}})
		next = nextOf(got, t)
		if !strings.Contains(got.Text, "data-going") {
			ledgetest.Want(got, t, http.StatusOK, "120 of 120 devices are done.", "data-over")
			break
		}
		if requests > 120 {
			t.Fatalf("the run does not end:\n%s", got.Text)
		}
	}
	if got := rows(c, t, "/devices?label=all"); strings.Join(got, " ") != "late s-119" {
		t.Errorf("after the deletion there are %v", got)
	}
}

// TestConsoleMarksRights has a viewer and another site ask for a run.
func TestConsoleMarksRights(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	addSensors(p, 3)
	const run = "/devices/+all?action=delete&seq=99&at=1&of=3"
	viewer, operator := p.NewRole(t, domain.Viewer), p.NewRole(t, domain.Operator)
	ledgetest.Want(viewer.Get(run), t, http.StatusForbidden)
	ledgetest.Want(viewer.Post(run, nil), t, http.StatusForbidden)
	foreign := operator.Send(http.MethodPost, run, url.Values{}, "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example")
	ledgetest.Want(foreign, t, http.StatusForbidden)
	long := "&q=" + strings.Repeat("x+", 5000)
	for _, wrong := range []string{"/devices/+all", "/devices/+all?action=sell", "/devices/+all?action=delete&seq=1" + long} {
		ledgetest.Want(operator.Get(wrong), t, http.StatusSeeOther)
		ledgetest.Want(operator.Post(wrong, nil), t, http.StatusSeeOther)
	}
	ledgetest.Want(operator.Get("/devices/+all?action=unlock&q=s-0"), t, http.StatusOK, "No device that matches needs this change.")
	ledgetest.Want(operator.Post("/devices/+all?action=delete", nil), t, http.StatusSeeOther) // nobody has confirmed it
	if got := rows(viewer, t, "/devices?label=all"); len(got) != 3 {
		t.Errorf("there are %v", got)
	}
	got := operator.Post("/devices/+all?q=s-0&action=label&label=x&seq=99999&at=1&of=3", url.Values{"refused": {hostile}})
	ledgetest.Want(got, t, http.StatusOK, "3 of 3 devices are done.", hostile)
	if found := ranIn(got.Text); len(found) > 0 {
		t.Errorf("a refusal that a client has sent runs: %v", found)
	}
}

// TestConsoleDeviceList shows the list as an operator reads it: 20 rows of one line, with the latest value, and a colour for each state
// that is not normal.
func TestConsoleDeviceList(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	addSensors(p, 60)
	for i := range 12 {
		ledgetest.PostTo(p, fmt.Sprintf("s-%03d", i), "temperature", "text/plain", fmt.Sprintf("%d.5", 18+i))
	}
	ledgetest.PostTo(p, "s-004", "image", "image/jpeg", drawn(1))
	ledgetest.PostTo(p, "s-005", "note", "text/plain", strings.Repeat("a long text ", 100))
	for name, states := range map[string]string{
		"s-002": `"operatingState":"DOWN"`,
		"s-003": `"adminState":"LOCKED","labels":["all","north side","gate","roof","floor-2","a","b","c"]`,
	} {
		patchDevice(p, `"name":"`+name+`",`+states)
	}
	b := logIn(p, t, domain.Operator)
	const visible = `[...document.querySelectorAll("#rows tbody tr")].filter(e => e.getBoundingClientRect().bottom <= innerHeight).length`
	for _, width := range []int64{1024, 1280} {
		b.do(chromedp.EmulateViewport(width, 800))
		b.open("/devices?label=all")
		b.see("#rows tbody tr")
		if n := ask[int](b, visible); n < 20 {
			t.Errorf("%d rows are visible in a window of %d by 800, want 20", n, width)
		}
		if high := ask[int](b, `[...document.querySelectorAll("#rows tbody tr")].filter(e => e.offsetHeight > 36).length`); high > 0 {
			t.Errorf("%d rows have more than one line in a window of %d", high, width)
		}
	}
	row := func(name string) string {
		return b.text(fmt.Sprintf("tr:has(input[value=%q])", name))
	}
	for name, wants := range map[string][]string{
		"s-000": {"UP", "18.5", "°C", "temperature"}, "s-002": {"DOWN"},
		"s-003": {"LOCKED", "north side", "+6"}, "s-004": {"image", "KiB"},
	} {
		for _, want := range wants {
			if text := row(name); !strings.Contains(text, want) {
				t.Errorf("the row of %s lacks %s: %q", name, want, text)
			}
		}
	}
	const cut = `(() => { const room = document.querySelector("tr:has(input[value='s-003']) td.labels").getBoundingClientRect().right;
		const labels = [...document.querySelectorAll("tr:has(input[value='s-003']) .tags > *")];
		return labels.filter(e => e.getBoundingClientRect().right > room).length; })()`
	if n := ask[int](b, cut); n > 0 {
		t.Errorf("%d labels, or their number, are cut", n)
	}
	if tags := ask[int](b, `document.querySelectorAll("#rows td.states .tag").length`); tags != 2 {
		t.Errorf("%d states have a colour, want that of the device that is DOWN and of the one that is LOCKED", tags)
	}
	if title := ask[string](b, `document.querySelector("td.seen time").title`); !regexp.MustCompile(`\d{4}.*:\d\d`).MatchString(title) {
		t.Errorf("the title of an age is %q", title)
	}
	ledgetest.PostTo(p, "s-010", "temperature", "text/plain", "77.25")
	b.until(`document.querySelector("tr:has(input[value='s-010'])").innerText.includes("77.25")`)
	for _, width := range []int64{360, 1024, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			b.look(width, scheme)
			b.open("/devices?label=all")
			b.see("#rows tbody tr")
			b.picture(fmt.Sprintf("list-%d-%s", width, scheme))
		}
	}
}

// TestConsoleDeviceSearch uses the search field with its terms, the chips, the headings and the menu of a row.
func TestConsoleDeviceSearch(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	addSensors(p, 60)
	ledgetest.AddSensor(p, "gate-1", `,"labels":["north side","all"],"adminState":"LOCKED"`)
	ledgetest.AddSensor(p, "gate-2", `,"labels":["north side"]`)
	b := logIn(p, t, domain.Operator)
	names := func(want string) {
		t.Helper()
		b.until(`[...document.querySelectorAll("#rows tbody th")].map(e => e.innerText).join(" ") === ` + jsText(want))
	}
	chips := func(want string) {
		t.Helper()
		b.until(`[...document.querySelectorAll(".chip")].map(e => e.innerText).join(" | ") === ` + jsText(want))
	}
	b.open("/devices")
	b.do(chromedp.SendKeys(chromedp.CSS("#f-q"), `gate label:"north side" is:locked`))
	names("gate-1") // while one types
	b.do(chromedp.SendKeys(chromedp.CSS("#f-q"), "\r"))
	chips(`label:"north side" | is:locked`)
	names("gate-1")
	if words := ask[string](b, `document.querySelector("#f-q").value`); words != "gate" {
		t.Errorf("the search has %q, want the words", words)
	}
	b.pictures("devices-chips")
	b.click(".chip[title='is:locked']")
	names("gate-1 gate-2")
	b.click("th a[href*='sort=-name']")
	names("gate-2 gate-1")
	if aria := ask[string](b, `(h => h.innerText + " " + h.ariaSort)(document.querySelector("th[aria-sort]"))`); aria != "Name descending" {
		t.Errorf("the order of the list is announced as %q", aria)
	}
	ask[string](b, `document.querySelector("#f-q").value = ""`)
	b.do(chromedp.SendKeys(chromedp.CSS("#f-q"), "\b")) // removes the last chip
	chips("")
	b.open("/devices?q=label:all+is:locked")
	b.do(chromedp.SendKeys(chromedp.CSS("#f-q"), "s-00"))
	names("")
	b.click(".chip[title='is:locked']")
	chips("label:all")
	names("s-000 s-001 s-002 s-003 s-004 s-005 s-006 s-007 s-008 s-009")
	b.open("/devices?state=LOCKED&service=device-rest")
	chips("service:device-rest | is:locked")
	names("gate-1")
	b.open("/devices?q=gate")
	b.click("tr:has(input[value='gate-2']) summary")
	b.see("tr:has(input[value='gate-2']) .menu a.bad")
	ledgetest.AddSensor(p, "gate-3", "") // the list waits while the menu is open
	b.pictures("devices-menu")
	b.click("h1")
	names("gate-1 gate-2 gate-3")
	b.click("tr:has(input[value='gate-2']) summary")
	b.click("tr:has(input[value='gate-2']) .menu a.bad")
	b.until(`location.pathname === "/devices/gate-2/delete"`)
}

// plantHard has the API record entities called name, with texts from right to left, and words that are longer than a line.
func plantHard(p *ledgetest.Node, name string) {
	p.TB.Helper()
	texts := strings.NewReplacer(
		"NAME", name, "WORD", strings.Repeat("Donaudampfschiff", 15), "RIGHT", strings.Repeat("مستشعر درجة الحرارة ", 8))
	post := func(base, path, kind, fields string) {
		p.TB.Helper()
		body := texts.Replace(`[{"apiVersion":"v2","` + kind + `":{` + fields + `}}]`)
		p.PostJSON(http.MethodPost, base+"/api/v2/"+path, body, http.StatusCreated)
	}
	post(p.Metadata, "deviceprofile", "profile", `"name":"NAME","manufacturer":"WORD","model":"RIGHT","description":"WORD",
		"labels":["WORD","RIGHT"],
		"deviceResources":[{"name":"NAME","description":"RIGHT","properties":{"valueType":"String","readWrite":"RW","units":"WORD"}}]`)
	post(p.Metadata, "deviceservice", "service", `"name":"NAME","baseAddress":"http://127.0.0.1:1","adminState":"UNLOCKED",
		"labels":["WORD"],"description":"RIGHT"`)
	for i, service := range []string{"device-rest", "NAME"} {
		post(p.Metadata, "device", "device", fmt.Sprintf(`"name":"NAME%d","description":"RIGHT","adminState":"UNLOCKED",
			"operatingState":"UNKNOWN","labels":["WORD","RIGHT"],"location":"WORD","serviceName":%q,
			"profileName":"NAME","protocolName":"rest",
			"protocols":{"NAME":{"NAME":"WORD"}}`, i, service))
	}
	patchDevice(p, texts.Replace(`"name":"NAME0","description":"WORD"`))
	post(p.Metadata, "provisionwatcher", "provisionWatcher", `"name":"NAME","labels":["WORD"],"identifiers":{"NAME":"WORD"},
		"profileName":"NAME","serviceName":"NAME","adminState":"LOCKED"`)
	post(p.Notifications, "subscription", "subscription", `"name":"NAME","description":"RIGHT","receiver":"WORD","adminState":"UNLOCKED",
		"categories":["NAME"],"labels":["WORD"],
		"channels":[{"type":"REST","host":"127.0.0.1","port":1,"path":"/NAME","httpMethod":"POST"}]`)
	post(p.Notifications, "notification", "notification", `"category":"NAME","content":"WORD","description":"RIGHT","sender":"WORD",
		"severity":"CRITICAL","labels":["WORD"]`)
	ledgetest.PostTo(p, name+"0", name, "text/plain", texts.Replace("WORD"))
	ledgetest.PostTo(p, name+"0", name, "text/plain", texts.Replace("RIGHT"))
}

// hardPages are the addresses of pages about the entities of plantHard, by a short name.
func hardPages(c *ledgetest.ConsoleClient, name string) map[string]string {
	pages := map[string]string{
		"search": "/devices?label=" + name + "&q=" + name, "run": "/devices/+all?action=delete&q=" + name,
		"device":       "/devices/" + name + "0",
		"notification": regexp.MustCompile(`/notifications/[0-9a-f-]{36}`).FindString(c.Get("/notifications").Text),
	}
	for _, list := range []string{
		"", "devices", "readings", "profiles", "services", "watchers", "subscriptions", "notifications", "ledger", "users", "system",
	} {
		pages["list-"+list] = "/" + list
	}
	for _, kind := range []string{"profiles", "services", "watchers", "subscriptions"} {
		for _, below := range []string{"", "/history", map[string]string{"profiles": "/edit", "subscriptions": "/edit"}[kind]} {
			pages[kind+strings.ReplaceAll(below, "/", "-")] = "/" + kind + "/" + name + below
		}
	}
	for _, below := range []string{"history", "edit", "delete", "commands"} {
		pages["device-"+below] = "/devices/" + name + "0/" + below
	}
	return pages
}

// sticksOut returns elements that are wider than the window, if the page scrolls sideways.
func (b *tab) sticksOut() []string {
	b.Helper()
	return ask[[]string](b, `document.documentElement.scrollWidth <= innerWidth ? [] :
		["by " + (document.documentElement.scrollWidth - innerWidth), ...[...document.querySelectorAll("body *")]
			.filter(e => e.getBoundingClientRect().right > innerWidth && !e.closest(".scroll, pre, nav"))
			.slice(0, 3).map(e => e.outerHTML.slice(0, 90))]`)
}

// TestConsoleHardTexts opens pages with names of 200 characters, texts from right to left and long words: no page scrolls sideways, and no
// name in the list of devices is broken. HEAD has the status of GET.
func TestConsoleHardTexts(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	name := strings.Repeat("n", 199)
	plantHard(p, name)
	c := p.NewRole(t, domain.Admin)
	pages := hardPages(c, name)
	for key, path := range pages {
		got := c.Send(http.MethodHead, path, nil)
		if want := c.Get(path); want.StatusCode != http.StatusOK || got.StatusCode != want.StatusCode || got.Text != "" {
			t.Errorf("HEAD of %s: %s, want %s without a body", key, got.Status, want.Status)
		}
	}
	b := logIn(p, t, domain.Admin)
	for _, width := range []int64{360, 1024, 1280} {
		b.look(width, "light")
		for key, path := range pages {
			b.open(path)
			b.see("h1")
			b.picture(fmt.Sprintf("hard-%s-%d", key, width))
			if wide := b.sticksOut(); len(wide) > 0 {
				t.Errorf("%s scrolls sideways at %d px: %q", key, width, wide)
			}
		}
		b.open("/devices")
		b.see("#rows tbody tr")
		broken := ask[[]string](b, `[...document.querySelectorAll("#rows th a")]
			.filter(e => new Set([...e.getClientRects()].map(r => r.top)).size > 1).map(e => e.innerText.slice(0, 40))`)
		if len(broken) > 0 {
			t.Errorf("names have more than one line at %d px: %q", width, broken)
		}
		b.click("td.mark input[name]")
		b.see(".bulk")
		covered := ask[[]string](b, `(bar => [...document.querySelectorAll("#rows tbody tr")].filter(row => {
			const r = row.getBoundingClientRect();
			return r.top < bar.bottom && r.bottom > bar.top;
		}).map(row => row.innerText.slice(0, 40)))(document.querySelector(".bulk").getBoundingClientRect())`)
		if len(covered) > 0 {
			t.Errorf("the bar for marked devices covers rows at %d px: %.3q", width, covered)
		}
		b.picture(fmt.Sprintf("hard-marked-%d", width))
		if wide := b.sticksOut(); len(wide) > 0 {
			t.Errorf("with a marked row the list scrolls sideways at %d px: %q", width, wide)
		}
		b.open("/")
	}
}

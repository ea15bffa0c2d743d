package console

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// pastOne is an entity that is added, changed from one description or label to another, and removed.
type pastOne struct {
	page, one         string // of the console
	service, path     string // of the API
	key, add, change  string // the JSON of the requests
	changeBy, deleted string // the method of the change, and the path of the removal
}

func pastOnes(p *ledgetest.Node) []pastOne {
	sensor := `"protocolName":"rest","protocols":{"rest":{}},` +
		`"profileName":"hall-sensor","serviceName":"device-rest","adminState":"UNLOCKED","operatingState":"UP"`
	profile := func(model string) string {
		return `{"name":"past","manufacturer":"m","model":"` + model + `","deviceResources":[` +
			`{"name":"r","properties":{"valueType":"Int8","readWrite":"R"}}]}`
	}
	watcher := `{"name":"past","identifiers":{"a":"b"},"profileName":"hall-sensor","serviceName":"device-rest","adminState":"UNLOCKED",` +
		`"labels":["before"]}`
	subscription := `{"name":"past","receiver":"before","channels":[{"type":"REST","host":"127.0.0.1","port":9,"path":"x",` +
		`"httpMethod":"POST"}],"categories":["c"],"adminState":"UNLOCKED"}`
	return []pastOne{
		{"/devices/past", "device", p.Metadata, "/device", "device", `{"name":"past","description":"before",` + sensor + `}`,
			`{"name":"past","description":"after"}`, http.MethodPatch, "/device/name/past"},
		{"/profiles/past", "profile", p.Metadata, "/deviceprofile", "profile", profile("before"), profile("after"),
			http.MethodPut, "/deviceprofile/name/past"},
		{"/services/past", "device service", p.Metadata, "/deviceservice", "service",
			`{"name":"past","baseAddress":"http://127.0.0.1:9","adminState":"UNLOCKED","description":"before"}`,
			`{"name":"past","description":"after"}`, http.MethodPatch, "/deviceservice/name/past"},
		{"/watchers/past", "provision watcher", p.Metadata, "/provisionwatcher", "provisionWatcher", watcher,
			`{"name":"past","labels":["after"]}`, http.MethodPatch, "/provisionwatcher/name/past"},
		{"/subscriptions/past", "subscription", p.Notifications, "/subscription", "subscription", subscription,
			`{"name":"past","receiver":"after"}`, http.MethodPatch, "/subscription/name/past"},
	}
}

// send sends an entity in the array that the API takes.
func (o pastOne) send(p *ledgetest.Node, method, entity string, status int) {
	p.TB.Helper()
	p.PostJSON(method, o.service+"/api/v2"+o.path, `[{"apiVersion":"v2","`+o.key+`":`+entity+`}]`, status)
}

func (o pastOne) remove(p *ledgetest.Node, t *testing.T) {
	t.Helper()
	if a := p.Call(http.MethodDelete, o.service+"/api/v2"+o.deleted, "", ""); a.Status != http.StatusOK {
		t.Fatalf("%s is not removed: %d %s", o.page, a.Status, a.Body)
	}
}

// TestConsoleHistories reads the history of each kind of entity: while it exists, and when it is removed. Addresses of actors are for
// auditors.
func TestConsoleHistories(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	ledgetest.AddSensorProfile(p)
	viewer, auditor := p.NewRole(t, domain.Viewer), p.NewRole(t, domain.Auditor)
	const address = "anonymous@127.0.0.1"
	for _, o := range pastOnes(p) {
		o.send(p, http.MethodPost, o.add, http.StatusCreated)
		o.send(p, o.changeBy, o.change, http.StatusOK)
		ledgetest.Want(viewer.Get(o.page), t, http.StatusOK, `href="`+o.page+`/history"`)
		ledgetest.Want(viewer.Get(o.page+"/history"), t, http.StatusOK, "<del>before</del>", "<ins>after</ins>",
			"<strong>updated</strong> by <strong>anonymous</strong>", "The "+o.one+" as it is now")
		o.remove(p, t)
		ledgetest.Want(viewer.Get(o.page), t, http.StatusNotFound, "The "+o.one+" was removed by <strong>anonymous</strong>, <time",
			`href="`+o.page+`/history"`)
		ledgetest.Want(auditor.Get(o.page), t, http.StatusNotFound, "by <strong>"+address+"</strong>")
		ledgetest.Want(auditor.Get("/ledger"), t, http.StatusOK, `<a href="`+o.page+`/history">past</a>`)
		history := viewer.Get(o.page + "/history")
		ledgetest.Want(history, t, http.StatusOK, "The "+o.one+" is removed. Its history stays.", "<strong>removed</strong>",
			"<strong>updated</strong>", "<strong>added</strong>", "did not exist: it was removed")
		if strings.Contains(history.Text, "127.0.0.1:") && o.one != "device service" {
			t.Errorf("%s: a viewer sees an address", o.page)
		}
		ledgetest.Want(auditor.Get(o.page+"/history"), t, http.StatusOK, "by <strong>"+address+"</strong>", "from 127.0.0.1:")
		ledgetest.Want(viewer.Get(o.page+"/history?back=1"), t, http.StatusOK, "<strong>1</strong> change before now", ">after</td>")
		ledgetest.Want(viewer.Get(strings.Replace(o.page, "past", "never", 1)), t, http.StatusNotFound, "There is no "+o.one)
		ledgetest.Want(viewer.Get(strings.Replace(o.page, "past", "never", 1)+"/history"), t, http.StatusNotFound, "There is no "+o.one)
	}
	b := logIn(p, t, domain.Viewer)
	b.open("/subscriptions/past")
	b.click(`main a[href="/subscriptions/past/history"]`)
	b.until(`document.querySelectorAll("ol.changes > li").length === 3`)
	b.pictures("subscription-history")
	p.AddDevice("hall")
	b.open("/devices/hall/history")
	b.until(`document.querySelectorAll("ol.changes > li").length === 1`)
	patchDevice(p, `"name":"hall","description":"seen"`)
	b.until(`document.querySelectorAll("ol.changes > li").length === 2 && document.querySelector("ol.changes").innerText.includes("seen")`)
	b.see("nav a[href='/devices']")
	operator := logIn(p, t, domain.Operator)
	operator.open("/devices/hall")
	operator.see("#actions button[value=LOCKED]")
	patchDevice(p, `"name":"hall","adminState":"LOCKED"`)
	operator.see("#actions button[value=UNLOCKED]") // another one has locked the device
	operator.click("#actions button[value=UNLOCKED]")
	operator.see("#actions button[value=LOCKED]")
}

// restoreForm returns the form of the page that restores a version.
func restoreForm(t *testing.T, page ledgetest.Page) url.Values {
	t.Helper()
	form := url.Values{}
	for _, input := range regexp.MustCompile(`<input type="hidden" name="(\w+)" value="(\d*)">`).FindAllStringSubmatch(page.Text, -1) {
		form.Set(input[1], input[2])
	}
	if !form.Has("seq") || !form.Has("revision") {
		t.Fatalf("the page has no form:\n%s", page.Text)
	}
	return form
}

// TestConsoleRestore restores the first version of each kind of entity: of a changed one, of one that changes meanwhile, and of a
// removed one.
func TestConsoleRestore(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	ledgetest.AddSensorProfile(p)
	viewer, operator := p.NewRole(t, domain.Viewer), p.NewRole(t, domain.Operator)
	link := regexp.MustCompile(`href="(/\w+/past/restore\?seq=\d+)"`)
	for _, o := range pastOnes(p) {
		o.send(p, http.MethodPost, o.add, http.StatusCreated)
		o.send(p, o.changeBy, o.change, http.StatusOK)
		is := func(want string) {
			t.Helper()
			a := p.Call(http.MethodGet, o.service+"/api/v2"+o.deleted, "", "")
			if a.Status != http.StatusOK || !strings.Contains(a.Body, want) {
				t.Errorf("%s is %d %s, want %s", o.page, a.Status, a.Body, want)
			}
		}
		history := viewer.Get(o.page + "/history")
		if strings.Contains(history.Text, "/restore") {
			t.Errorf("%s: a viewer is led to a form that the role may not send", o.page)
		}
		links := link.FindAllStringSubmatch(operator.Get(o.page+"/history").Text, -1)
		if len(links) != 1 {
			t.Fatalf("%s: %d versions can be restored, want the first one", o.page, len(links))
		}
		first := links[0][1]
		ledgetest.Want(viewer.Get(first), t, http.StatusForbidden)
		page := operator.Get(first)
		ledgetest.Want(page, t, http.StatusOK, "<del>after</del>", "<ins>before</ins>", "Restore this version")
		stale := restoreForm(t, page)
		ledgetest.Want(viewer.Post(o.page+"/restore", stale), t, http.StatusForbidden)
		is("after")
		meanwhile := strings.ReplaceAll(o.change, "after", "meanwhile")
		o.send(p, o.changeBy, meanwhile, http.StatusOK)
		page = operator.Post(o.page+"/restore", stale)
		ledgetest.Want(page, t, http.StatusPreconditionFailed, "Somebody else has changed this meanwhile", "<del>meanwhile</del>")
		is("meanwhile")
		ledgetest.Want(operator.Post(o.page+"/restore", restoreForm(t, page)), t, http.StatusSeeOther)
		is("before")
		ledgetest.Want(viewer.Get(o.page+"/history"), t, http.StatusOK, "by <strong>user:test-operator</strong>", "<ins>before</ins>")
		ledgetest.Want(operator.Get(first), t, http.StatusOK, "There is nothing to restore.")

		o.remove(p, t)
		page = operator.Get(first)
		ledgetest.Want(page, t, http.StatusOK, "is removed. This adds it again", `before`)
		added := restoreForm(t, page)
		ledgetest.Want(operator.Post(o.page+"/restore", added), t, http.StatusSeeOther)
		is("before")
		ledgetest.Want(operator.Get(o.page), t, http.StatusOK)
		o.send(p, o.changeBy, o.change, http.StatusOK)
		ledgetest.Want(operator.Post(o.page+"/restore", added), t, http.StatusPreconditionFailed, "<del>after</del>")
		is("after")
		for _, seq := range []string{"", "1", "x", "18446744073709551615"} {
			ledgetest.Want(operator.Get(o.page+"/restore?seq="+seq), t, http.StatusNotFound, "Choose one from its history")
		}
	}
}

// TestConsoleRestoreRefused restores fields that were empty, and a device whose profile is gone, in a browser.
func TestConsoleRestoreRefused(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	ledgetest.AddSensorProfile(p)
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/deviceprofile", `[{"apiVersion":"v2","profile":{"name":"old","deviceResources":[`+
		`{"name":"r","properties":{"valueType":"Int8","readWrite":"R"}}]}}]`, http.StatusCreated)
	ledgetest.AddSensor(p, "hall-1", "")
	patch := func(fields string) {
		body := `[{"apiVersion":"v2","device":{"name":"hall-1",` + fields + `}}]`
		p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/device", body, http.StatusOK)
	}
	patch(`"profileName":"old"`)
	patch(`"profileName":"hall-sensor","labels":["a","b"],"description":"text","autoEvents":[{"sourceName":"temperature","interval":"1h"}]`)
	if a := p.Call(http.MethodDelete, p.Metadata+"/api/v2/deviceprofile/name/old", "", ""); a.Status != http.StatusOK {
		t.Fatalf("the profile is not removed: %d %s", a.Status, a.Body)
	}
	b := logIn(p, t, domain.Operator)
	b.open("/devices/hall-1/history")
	b.click("ol.changes > li:nth-child(2) a[href*='/restore']")
	b.see("form[action='/devices/hall-1/restore']")
	b.pictures("restore")
	b.click("form[action='/devices/hall-1/restore'] button")
	b.see("main .wrong")
	if text := b.text("main"); !strings.Contains(text, `profile "old" does not exist`) {
		t.Errorf("the refusal is %q", text)
	}
	b.open("/devices/hall-1/history")
	b.click("ol.changes > li:nth-child(3) a[href*='/restore']")
	b.see("form[action='/devices/hall-1/restore']")
	b.click("form[action='/devices/hall-1/restore'] button")
	b.see(".notice")
	d := p.Get(p.Metadata+"/api/v2/device/name/hall-1", "device")
	if d["labels"] != nil || d["description"] != nil || d["autoEvents"] != nil || d["profileName"] != "hall-sensor" {
		t.Errorf("the restored device is %v", d)
	}
}

package console

import (
	"net/http"
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
}

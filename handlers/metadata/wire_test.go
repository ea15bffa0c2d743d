package metadata

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/handlerstest"
)

// unread fails the test when somebody reads from it.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body is read")
	return 0, io.EOF
}

// Under strict changes a replacement is refused as a whole, whatever its body is, before anything of that is read.
func TestStrictReplacementIsNotRead(t *testing.T) {
	h, _ := mustMetadata(t, func(o *handlers.Options) { o.StrictProfileChanges = true })
	for _, path := range []string{"/api/v2/deviceprofile", "/api/v2/deviceprofile/uploadfile"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, handlerstest.Loose(httptest.NewRequest("PUT", path, unread{t})))
		if w.Code != 423 || !strings.Contains(w.Body.String(), "strict-profiles has changes") {
			t.Errorf("%s: got %d %s", path, w.Code, w.Body)
		}
	}
}

// A null in any list of any entity is refused with its position.
func TestNullsInLists(t *testing.T) {
	h, log := mustMetadata(t)
	before := len(log.Recorded())
	for _, tt := range []struct{ method, path, body, want string }{
		{"POST", "/api/v2/device", batch("device", `{"name":"a","labels":["x",null]}`), "[0].device.labels[1]: is null"},
		{"PATCH", "/api/v2/device", batch("device", `{"name":"a","autoEvents":[null]}`), "[0].device.autoEvents[0]: is null"},
		{"POST", "/api/v2/deviceprofile", batch("profile", `{"name":"a","deviceResources":[{"name":"r"},null],"deviceCommands":[null]}`), "[0].profile.deviceCommands[0]: is null"},
		{"POST", "/api/v2/deviceprofile", batch("profile", `{"name":"a","deviceCommands":[{"resourceOperations":[null]}]}`), "[0].profile.deviceCommands[0].resourceOperations[0]: is null"},
		{"PUT", "/api/v2/deviceprofile", batch("profile", `{"name":"a","deviceResources":[null]}`), "[0].profile.deviceResources[0]: is null"},
		{"POST", "/api/v2/deviceservice", batch("service", `{"name":"a","labels":[null]}`), "[0].service.labels[0]: is null"},
		{"POST", "/api/v2/provisionwatcher", batch("provisionWatcher", `{"name":"a","blockingIdentifiers":{"k":["x",null]}}`), "[0].provisionWatcher.blockingIdentifiers.k[1]: is null"},
	} {
		w := handlerstest.Serve(h, tt.method, tt.path, tt.body)
		if w.Code != 400 || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s %s: got %d %s, want %s", tt.method, tt.body, w.Code, w.Body, tt.want)
		}
	}
	if n := len(log.Recorded()) - before; n != 0 {
		t.Errorf("%d events recorded, want none", n)
	}
}

// An unknown key of an uploaded profile is named with its line, at every level; what anchors are for is left alone.
func TestUnknownKeysOfAFile(t *testing.T) {
	h, log := mustMetadata(t)
	upload := func(file string, status, submits int, contains ...string) handlerstest.Scenario {
		return handlerstest.Scenario{Name: file, Method: "POST", Path: "/api/v2/deviceprofile/uploadfile", Header: []string{formType}, Body: form("file", file), Status: status, Submits: submits, Contains: contains}
	}
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		upload("name: a\nmodol: b\n", 400, 0, `\"modol\" in line 2 is an unknown key; use one of`, "model"),
		upload("name: a\ndeviceResources: [{naam: r}]\n", 400, 0, `file.deviceResources[0]: \"naam\" in line 2`),
		upload("name: a\ndeviceResources: [{name: r, properties: {valuetype: Int8}}]\n", 400, 0, `file.deviceResources[0].properties: \"valuetype\"`),
		upload("name: a\ndeviceCommands: [{name: c, resourceOperations: [{resource: r}]}]\n", 400, 0, `file.deviceCommands[0].resourceOperations[0]: \"resource\"`),
		upload("name: a\nx-r: &r {naam: r}\ndeviceResources: [{<<: *r}]\n", 400, 0, `\"naam\"`),
		upload("name: a\ndeviceResources: [~]\n", 400, 0, "file.deviceResources[0]: is null"),
		upload("apiVersion: v2\nname: a\nx-p: &p {valueType: Int8, readWrite: R}\ndeviceResources: [{name: r, attributes: {any: [~]}, properties: *p}, {name: s, properties: {<<: *p, units: K}}]\n", 201, 1),
	})
}

// The setting bounds every page: what limit may ask for, what -1 means, and what is shown without one.
func TestMaxResults(t *testing.T) {
	h, log := mustMetadata(t, func(o *handlers.Options) { o.MaxResults = 2 })
	for _, name := range []string{"r-1", "r-2", "r-3"} {
		log.Given(t, domain.AddService{Service: domain.DeviceService{ID: handlerstest.ID(len(log.Recorded()) + 700), Name: name, BaseAddress: "http://h:1", AdminState: "UNLOCKED"}})
	}
	for query, want := range map[string]int{"": 2, "?limit=-1": 2, "?limit=2": 2, "?limit=1": 1} {
		w := handlerstest.Serve(h, "GET", "/api/v2/deviceservice/all"+query, "")
		if got := strings.Count(w.Body.String(), `"baseAddress"`); w.Code != 200 || got != want {
			t.Errorf("%q: got %d with %d services, want %d", query, w.Code, got, want)
		}
	}
	handlerstest.Run(t, h, log, []handlerstest.Scenario{{Name: "more", Method: "GET", Path: "/api/v2/deviceservice/all?limit=3", Status: 400, Contains: []string{"out of min -1 ~ max 2 range"}}})
}

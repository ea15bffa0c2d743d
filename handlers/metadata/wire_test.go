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

// A misspelled key of an uploaded profile is refused with its line, at every level; other unknown keys are named in the answer, and what
// anchors are for is left alone. Profiles of EdgeX 1.x say so.
func TestUnknownKeysOfAFile(t *testing.T) {
	h, log := mustMetadata(t)
	upload := func(method, file string, status, submits int, contains ...string) handlerstest.Scenario {
		return handlerstest.Scenario{Name: file, Method: method, Path: "/api/v2/deviceprofile/uploadfile", Header: []string{formType}, Body: form("file", file), Status: status, Submits: submits, Contains: contains}
	}
	const resource = "deviceResources: [{name: r, properties: {valueType: Int8, readWrite: R"
	const old = "this is a profile of EdgeX 1.x: give each resource properties such as {valueType: Int16, readWrite: R, units: C} in place of value and units"
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		upload("POST", "name: a\nmodol: b\n", 400, 0, `file.modol: is an unknown key in line 2; did you mean model?`),
		upload("POST", "name: a\ndeviceResources: [{propertie: {}}]\n", 400, 0, `file.deviceResources[0].propertie: is an unknown key in line 2; did you mean properties?`),
		upload("POST", "name: a\ndeviceResources: [{name: r, properties: {valuetype: Int8}}]\n", 400, 0, `file.deviceResources[0].properties.valuetype: is an unknown key in line 2; did you mean valueType?`),
		upload("POST", "name: a\ndeviceCommands: [{name: c, resourceOperations: [{deviceResourc: r}]}]\n", 400, 0, `file.deviceCommands[0].resourceOperations[0].deviceResourc: is`),
		upload("POST", "name: a\nx-r: &r {descriptio: r}\ndeviceResources: [{<<: *r}]\n", 400, 0, `deviceResources[0].descriptio: is an unknown key in line 2`),
		upload("POST", "name: a\ndeviceResources: [~]\n", 400, 0, "file.deviceResources[0]: is null"),
		upload("POST", "name: a\nlabels: [a, ~]\n", 400, 0, "file.labels[1]: is null"),
		upload("POST", "apiVersion: v2\nname: a\nx-p: &p {valueType: Int8, readWrite: R}\ndeviceResources: [{name: r, attributes: {any: [~]}, properties: *p}, {name: s, properties: {<<: *p, units: K}}]\n", 201, 1),
		// EdgeX 2.3 takes these, with keys of 1.x and 3.x.
		upload("POST", "name: k\ndbtimestamp: {created: 1}\ncoreCommands: []\n"+resource+", floatEncoding: eNotation, optional: {a: 1}}, tags: {a: b}}]\ndeviceCommands: [{name: c, readWrite: R, tags: {}, resourceOperations: [{parent: x, deviceResource: r}]}]\n", 201, 1,
			`"message":"ignored, because unknown: dbtimestamp in line 2, coreCommands in line 3, deviceResources[0].properties.floatEncoding in line 4, deviceResources[0].properties.optional in line 4, `+
				`deviceResources[0].tags in line 4, deviceCommands[0].tags in line 5, deviceCommands[0].resourceOperations[0].parent in line 5","statusCode":201`),
		upload("PUT", "name: k\n"+resource+", optional: 1}}, {name: s, properties: {valueType: Int8, readWrite: R, optional: 2}}]\n", 200, 1,
			`"message":"ignored, because unknown: deviceResources[0].properties.optional in line 2 and 1 more","statusCode":200`),
		upload("PUT", "name: k\n"+resource+", valueTyp: x}}]\n", 200, 1, "properties.valueTyp in line 2"), // valueType is there
		// EdgeX 2.3 refuses these for what they lack.
		upload("POST", "name: o\ndeviceResources:\n- name: r\n  properties:\n    value: {type: Int16, readWrite: R}\n    units: {type: String}\n", 400, 0, `"message":"file: line 5: `+old),
		upload("POST", "name: o\ndeviceCommands:\n- name: c\n  get:\n  - {operation: get, object: r}\n", 400, 0, "file: line 5: this is a profile of EdgeX 1.x"),
		upload("POST", "name: o\nx-p: &p {value: {type: Int16}}\ndeviceResources: [{name: r, properties: {<<: *p}}]\n", 400, 0, "file: line 2: this is a profile of EdgeX 1.x"),
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

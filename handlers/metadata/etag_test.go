package metadata

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ledge/domain"
	"ledge/handlers/handlerstest"
)

// change is a request that changes or removes the entity that NAME stands for in path, body and read.
type change struct {
	method, path, body, name, read string
	header                         []string
	status                         int
}

const (
	readDevice  = "/api/v2/device/name/NAME"
	readService = "/api/v2/deviceservice/name/NAME"
	readProfile = profilePath + "/name/NAME"
	readWatcher = watchers + "/name/NAME"
	readPart    = "/api/v2/deviceresource/profile/NAME/resource/zoom"
)

var changes = []change{
	{"PATCH", "/api/v2/device", batch("device", `{"name":"NAME","labels":["new"]}`), "cam-1", readDevice, nil, 207},
	{"DELETE", "/api/v2/device/name/NAME", "", "cam-1", readDevice, nil, 200},
	{"PATCH", "/api/v2/deviceservice", batch("service", `{"name":"NAME","labels":["new"]}`), "device-rest", readService, nil, 207},
	{"DELETE", "/api/v2/deviceservice/name/NAME", "", "spare", readService, nil, 200},
	{"PATCH", watchers, batch("provisionWatcher", `{"name":"NAME","labels":["new"]}`), "w-1", readWatcher, nil, 207},
	{"DELETE", watchers + "/name/NAME", "", "w-1", readWatcher, nil, 200},
	{"PUT", profilePath, batch("profile", profile("name", `"NAME"`)), "camera", readProfile, nil, 207},
	{"PUT", profilePath + "/uploadfile", form("file", "name: NAME\nmodel: new"), "camera", readProfile, []string{formType}, 200},
	{"DELETE", profilePath + "/name/NAME", "", "spare", readProfile, nil, 200},
	{"PATCH", profilePath + "/basicinfo", batch("basicinfo", `{"name":"NAME","model":"new"}`), "camera", readProfile, nil, 207},
	{"POST", profilePath + "/resource", part("NAME", "resource", `{"name":"new","properties":{"valueType":"Bool","readWrite":"R"}}`), "camera", readPart, nil, 207},
	{"PATCH", profilePath + "/resource", part("NAME", "resource", `{"name":"zoom","isHidden":true}`), "camera", readPart, nil, 207},
	{"DELETE", profilePath + "/name/NAME/resource/free", "", "spare", readPart, nil, 200},
	{"POST", profilePath + "/deviceCommand", part("NAME", "deviceCommand", `{"name":"new","readWrite":"R","resourceOperations":[{"deviceResource":"zoom"}]}`), "camera", readProfile, nil, 207},
	{"PATCH", profilePath + "/deviceCommand", part("NAME", "deviceCommand", `{"name":"c1","isHidden":true}`), "camera", readProfile, nil, 207},
	{"DELETE", profilePath + "/name/NAME/deviceCommand/c1", "", "spare", readProfile, nil, 200},
}

// of puts a name in the place of NAME.
func of(text, name string) string { return strings.ReplaceAll(text, "NAME", name) }

func (c change) scenario(name string, header ...string) handlerstest.Scenario {
	return handlerstest.Scenario{
		Name: strings.Join(append([]string{c.method, c.path}, header...), " "), Method: c.method, Path: of(c.path, name),
		Body: of(c.body, name), Header: append(header, c.header...), Status: c.status, Submits: 1,
	}
}

func (c change) get(name string, status int, etag string) handlerstest.Scenario {
	return handlerstest.Scenario{Name: "read", Method: "GET", Path: of(c.read, name), Status: status, WantHeader: []string{"ETag: " + etag}}
}

// mustSpare returns core-metadata with everything that changes need, and the revision at each path.
func mustSpare(tb testing.TB) (h http.Handler, log *handlerstest.Log, revisions map[string]int) {
	tb.Helper()
	h, log = mustWatch(tb)
	read := domain.ResourceProperties{ValueType: "Int32", ReadWrite: "RW"}
	log.Given(tb,
		domain.AddService{Service: domain.DeviceService{ID: handlerstest.ID(901), Name: "spare", BaseAddress: "http://h:1", AdminState: "UNLOCKED"}},
		domain.AddProfile{Profile: domain.Profile{
			ID: handlerstest.ID(902), Name: "spare", DeviceResources: []domain.DeviceResource{{Name: "zoom", Properties: read}, {Name: "free", Properties: read}},
			DeviceCommands: []domain.DeviceCommand{{Name: "c1", ReadWrite: "R", ResourceOperations: []domain.ResourceOperation{{DeviceResource: "zoom"}}}},
		}})
	return h, log, map[string]int{
		of(readService, "device-rest"): 1, of(readProfile, "camera"): 2, of(readPart, "camera"): 2, of(readDevice, "cam-1"): 3,
		of(readWatcher, "w-1"): 4, of(readService, "spare"): 5, of(readProfile, "spare"): 6, of(readPart, "spare"): 6,
	}
}

const given, next = 6, 7 // events of mustSpare, and the one after them

// A change is made where If-Match names the ETag, and the answer has the new one.
func TestIfMatch(t *testing.T) {
	for _, c := range changes {
		for _, condition := range []string{"%s", `"9", W/"1", %s`, "*"} {
			h, log, revisions := mustSpare(t)
			etag := fmt.Sprintf("%q", fmt.Sprint(revisions[of(c.read, c.name)]))
			s := c.scenario(c.name, "If-Match: "+strings.Replace(condition, "%s", etag, 1))
			after := c.get(c.name, 200, fmt.Sprintf(`"%d"`, next))
			s.WantHeader = []string{after.WantHeader[0]}
			if c.method == "DELETE" {
				s.WantHeader = []string{"ETag"}
				if c.path == c.read {
					after = c.get(c.name, 404, "")
				}
			}
			handlerstest.Run(t, h, log, []handlerstest.Scenario{c.get(c.name, 200, etag), s, after})
			if n := len(log.Recorded()); n != next {
				t.Errorf("%s: %d events, want %d", s.Name, n, next)
			}
		}
	}
}

// A condition that fails is the answer to the whole request, and nothing is written.
func TestIfMatchFails(t *testing.T) {
	for _, c := range changes {
		h, log, revisions := mustSpare(t)
		etag := fmt.Sprint(revisions[of(c.read, c.name)])
		for _, condition := range []string{`"99"`, `W/"` + etag + `"`, `"0` + etag + `"`, `"x", "y"`} {
			s := c.scenario(c.name, "If-Match: "+condition)
			s.Status, s.WantHeader = 412, []string{"ETag"}
			s.Contains = []string{
				`{"apiVersion":"v2","message":"`, `\"` + c.name + `\" has the ETag \"` + etag + `\" now, which If-Match does not name; read it again`, `"statusCode":412}` + "\n",
			}
			handlerstest.Run(t, h, log, []handlerstest.Scenario{s})
		}
		if n := len(log.Recorded()); n != given {
			t.Errorf("%s %s: %d events, want %d", c.method, c.path, n, given)
		}
	}
}

// What is wrong with a condition is said before anything is submitted.
func TestBadConditions(t *testing.T) {
	for _, c := range changes {
		h, log, _ := mustSpare(t)
		bad := func(header, says string) handlerstest.Scenario {
			s := c.scenario(c.name, header)
			s.Status, s.Submits, s.Contains = 400, 0, []string{says, `"statusCode":400`}
			return s
		}
		scenarios := []handlerstest.Scenario{
			bad("If-Match: 3", `If-Match \"3\" is not a list of entity tags; send the ETag of an answer, with its quotes`),
			bad(`If-Match: "3", *`, "is not a list of entity tags"),
			bad("If-Match: ", "is not a list of entity tags"),
			bad(`If-None-Match: "3"`, "If-None-Match is for GET"),
		}
		if c.status == 207 {
			several := bad("If-Match: *", "If-Match is for a request of exactly one element, and this one has 2; send one request for each")
			element := strings.TrimSuffix(strings.TrimPrefix(several.Body, "["), "]")
			several.Body = "[" + element + "," + element + "]"
			none := bad("If-Match: *", "If-Match is for a request of exactly one element, and this one has 0")
			none.Body = "[]"
			scenarios = append(scenarios, several, none)
		}
		handlerstest.Run(t, h, log, scenarios)
	}
}

// A condition changes no other refusal, not even that of *.
func TestIfMatchOfNothing(t *testing.T) {
	for _, c := range changes {
		h, log, _ := mustSpare(t)
		plain := c.scenario("nosuch")
		w := handlerstest.Serve(h, plain.Method, plain.Path, plain.Body, plain.Header...)
		if !strings.Contains(w.Body.String(), `"statusCode":404`) {
			t.Errorf("%s: got %s", plain.Name, w.Body)
		}
		for _, header := range []string{"If-Match: *", `If-Match: "1"`} {
			s := c.scenario("nosuch", header)
			s.Status, s.WantBody, s.WantHeader = w.Code, w.Body.String(), []string{"ETag"}
			handlerstest.Run(t, h, log, []handlerstest.Scenario{s})
		}
	}
}

// Reads of one entity have its revision as ETag and are answered 304 where If-None-Match names it.
func TestIfNoneMatch(t *testing.T) {
	h, log, revisions := mustSpare(t)
	for path, revision := range revisions {
		etag := fmt.Sprintf(`"%d"`, revision)
		get := func(condition string, status int, contains ...string) handlerstest.Scenario {
			return handlerstest.Scenario{
				Name: path + " " + condition, Method: "GET", Path: path, Header: []string{"If-None-Match: " + condition},
				Status: status, Contains: contains, WantHeader: []string{"ETag: " + etag},
			}
		}
		refused := get(etag+etag, 400, "is not a list of entity tags")
		refused.WantHeader = nil
		handlerstest.Run(t, h, log, []handlerstest.Scenario{
			get(etag, 304), get("W/"+etag, 304), get("*", 304), get(`"99", `+etag, 304), get(`"99"`, 200, `"statusCode":200`), refused,
		})
		if w := handlerstest.Serve(h, "GET", path, "", "If-None-Match: *"); w.Body.Len() != 0 || w.Header().Get("Content-Type") != "" {
			t.Errorf("304 with %q of type %q", w.Body, w.Header().Get("Content-Type"))
		}
	}
}

func TestETagsAndWhatHasNone(t *testing.T) {
	h, log, _ := mustSpare(t)
	none := []string{"ETag"}
	add := batch("device", device())
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "a list", Loose: "lists have no ETag", Method: "GET", Path: "/api/v2/device/all", Header: []string{"If-None-Match: *"}, Status: 200, WantHeader: none},
		{Name: "an unknown device", Method: "GET", Path: "/api/v2/device/name/cam-9", Header: []string{"If-None-Match: *"}, Status: 404, WantHeader: none},
		{Name: "a patch that changes nothing", Method: "PATCH", Path: "/api/v2/device", Header: []string{`If-Match: "3"`}, Body: batch("device", `{"name":"cam-1"}`), Status: 207, Submits: 1, WantBody: ok200, WantHeader: none},
		{Name: "add on a condition", Method: "POST", Path: "/api/v2/device", Header: []string{"If-Match: *"}, Body: add, Status: 400, Contains: []string{"If-Match is for changing or removing what is there"}},
		{Name: "upload on a condition", Method: "POST", Path: profilePath + "/uploadfile", Header: []string{formType, "If-Match: *"}, Body: form("file", "name: new"), Status: 400, Contains: []string{"this request adds something new; leave it out"}},
		{Name: "add", Method: "POST", Path: "/api/v2/device", Body: add, Status: 207, Submits: 1, WantHeader: []string{`ETag: "7"`}},
		{Name: "patch by id", Method: "PATCH", Path: "/api/v2/device", Header: []string{`If-Match: "3"`}, Body: batch("device", `{"id":"`+deviceID+`","labels":["new"]}`), Status: 207, Submits: 1, WantHeader: []string{`ETag: "8"`}},
		{Name: "stale patch by id", Method: "PATCH", Path: "/api/v2/device", Header: []string{`If-Match: "3"`}, Body: batch("device", `{"id":"`+deviceID+`","labels":["other"]}`), Status: 412, Submits: 1, Contains: []string{`device \"cam-1\" has the ETag \"8\" now`}},
		{Name: "upload", Method: "POST", Path: profilePath + "/uploadfile", Header: []string{formType}, Body: form("file", "name: new"), Status: 201, Submits: 1, WantHeader: []string{`ETag: "9"`}},
		{Name: "two elements", Method: "PATCH", Path: "/api/v2/device", Body: batch("device", `{"name":"cam-1","labels":["a"]}`, `{"name":"cam-2","labels":["a"]}`), Status: 207, Submits: 1, WantHeader: none},
		{Name: "in use", Method: "DELETE", Path: profilePath + "/name/camera", Header: []string{`If-Match: "2"`}, Status: 409, Submits: 1},
	})
}

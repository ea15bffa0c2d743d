package metadata

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ledge/domain"
	"ledge/handlers/handlerstest"
	v2 "ledge/handlers/shapes/v2"
)

const emptyProperties = `"units":"","minimum":"","maximum":"","defaultValue":"","mask":"","shift":"","scale":"","offset":"","base":"","assertion":"","mediaType":`

const camera = `{"created":2,"modified":2,"id":"` + profileID + `","name":"camera","manufacturer":"mf","description":"a camera","model":"md",` +
	`"labels":["indoor"],"deviceResources":[` +
	`{"description":"d","name":"jpeg","isHidden":false,"tag":"","properties":{"valueType":"Binary","readWrite":"R",` + emptyProperties + `"image/jpeg"},"attributes":null},` +
	`{"description":"","name":"zoom","isHidden":false,"tag":"","properties":{"valueType":"Int32","readWrite":"RW",` + emptyProperties + `""},"attributes":null}],` +
	`"deviceCommands":[{"name":"c1","isHidden":false,"readWrite":"R","resourceOperations":[{"deviceResource":"zoom","defaultValue":"","mappings":null}]}]}`

func TestProfileQueries(t *testing.T) {
	h, log := mustMetadata(t)
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "by name", Method: "GET", Path: "/api/v2/deviceprofile/name/camera", Status: 200, WantBody: `{"apiVersion":"v2","statusCode":200,"profile":` + camera + "}\n"},
		{Name: "unknown", Method: "GET", Path: "/api/v2/deviceprofile/name/nosuch", Status: 404, Contains: []string{`device profile name \"nosuch\" does not exist`}},
		{Name: "all", Method: "GET", Path: "/api/v2/deviceprofile/all", Status: 200, WantBody: `{"apiVersion":"v2","statusCode":200,"totalCount":1,"profiles":[` + camera + "]}\n"},
		{Name: "all by label", Method: "GET", Path: "/api/v2/deviceprofile/all?labels=nosuch", Status: 200, WantBody: `{"apiVersion":"v2","statusCode":200,"totalCount":0,"profiles":[]}` + "\n"},
		{Name: "delete all", Method: "DELETE", Path: "/api/v2/deviceprofile", Status: 405},
		{Name: "delete unknown", Method: "DELETE", Path: "/api/v2/deviceprofile/name/nosuch", Status: 404, Submits: 1},
	})
}

func profile(changes ...string) string {
	return object([]string{
		"name", `"p-1"`, "deviceResources", `[{"name":"r1","properties":{"valueType":"Int32","readWrite":"RW"},"attributes":{"a":{"b":[1,null]}}}]`,
		"deviceCommands", `[{"name":"c1","readWrite":"R","resourceOperations":[{"deviceResource":"r1","mappings":{"1":"on"}}]}]`,
	}, changes)
}

func TestAddProfile(t *testing.T) {
	h, log := mustMetadata(t)
	post := func(name, body string, contains ...string) handlerstest.Scenario {
		return handlerstest.Scenario{Name: name, Method: "POST", Path: "/api/v2/deviceprofile", Body: body, Status: 207, Submits: 1, Contains: contains}
	}
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{
			Name: "one", Method: "POST", Path: "/api/v2/deviceprofile", Body: strings.Replace(batch("profile", profile()), "Int32", "int32", 1), Status: 207, Submits: 1,
			Contains: []string{`[{"apiVersion":"v2","statusCode":201,"id":"`}, Loose: "a value type in lower case",
		},
		{
			Name: "as it was given, value type in proper case", Method: "GET", Path: "/api/v2/deviceprofile/name/p-1", Status: 200,
			Contains: []string{`"valueType":"Int32"`, `"attributes":{"a":{"b":[1,null]}}`, `"mappings":{"1":"on"}`, `"created":1795246925123,"modified":1795246925123`},
		},
		post("duplicate", batch("profile", profile()), `profile name \"p-1\" exists already`, `"statusCode":409`),
		post("id taken", batch("profile", profile("name", `"p-2"`, "id", `"`+profileID+`"`)), `"statusCode":409`),
		post("without resources", batch("profile", `{"name":"p-3"}`), `"statusCode":201`),
		{Name: "lists are [] then", Method: "GET", Path: "/api/v2/deviceprofile/name/p-3", Status: 200, Contains: []string{`"deviceResources":[],"deviceCommands":[]`}},
		post("name with all that is allowed", batch("profile", `{"name":"p~:;=_x"}`), `"statusCode":201`),
		{Name: "and read", Method: "GET", Path: "/api/v2/deviceprofile/name/p~%3A%3B%3D_x", Status: 200, Contains: []string{`"name":"p~:;=_x"`}},
	})
}

func TestBadProfiles(t *testing.T) {
	resources := func(r string) string {
		return batch("profile", profile("deviceResources", "["+r+"]", "deviceCommands", ""))
	}
	h, log := mustMetadata(t)
	var scenarios []handlerstest.Scenario
	for _, b := range []struct{ name, body, want string }{
		{"object", `{"apiVersion":"v2"}`, "the body is an object"},
		{"empty name", batch("profile", `{"name":""}`), "[0].profile.name: is missing or empty"},
		{"id no UUID", batch("profile", `{"name":"p","id":"abc"}`), `[0].profile.id: \"abc\" is no UUID`},
		{"no value type", resources(`{"name":"r","properties":{"readWrite":"R"}}`), "[0].profile.deviceResources[0].properties.valueType: is missing"},
		{"unknown value type", resources(`{"name":"r","properties":{"valueType":"Zz","readWrite":"R"}}`), `valueType: \"Zz\" is unknown; use one of Bool`},
		{"no properties", resources(`{"name":"r"}`), "[0].profile.deviceResources[0].properties.readWrite: is missing"},
		{"resource without name", resources(`{"properties":{"valueType":"Int8","readWrite":"R"}}`), "[0].profile.deviceResources[0].name: is missing"},
		{"resource twice", resources(`{"name":"r","properties":{"valueType":"Int8","readWrite":"R"}},{"name":"r","properties":{"valueType":"Int8","readWrite":"R"}}`), `device resource \"r\" is there twice`},
		{"writable binary", resources(`{"name":"r","properties":{"valueType":"Binary","readWrite":"RW"}}`), "not possible for the value type Binary"},
		{"minimum a number", resources(`{"name":"r","properties":{"valueType":"Int8","readWrite":"R","minimum":0}}`), "[0].profile.deviceResources[0].properties.minimum: a JSON number is not possible here; give a string"},
		{"command of a missing resource", batch("profile", profile("deviceCommands", `[{"name":"c","readWrite":"R","resourceOperations":[{"deviceResource":"zz"}]}]`)), `device resource \"zz\" does not exist in this profile`},
	} {
		scenarios = append(scenarios, handlerstest.Scenario{
			Name: b.name, Method: "POST", Path: "/api/v2/deviceprofile", Body: b.body, Status: 400, Contains: []string{b.want, `"statusCode":400`},
		})
	}
	handlerstest.Run(t, h, log, scenarios)
}

func TestServices(t *testing.T) {
	h, log := mustMetadata(t)
	const service = `{"name":"svc-1","description":"s","labels":["lb"],"baseAddress":"http://127.0.0.1:1","adminState":"UNLOCKED"}`
	const path = "/api/v2/deviceservice"
	shown := `{"created":1795246925123,"modified":1795246925123,"id":"` + handlerstest.ID(2) + `","name":"svc-1","description":"s","labels":["lb"],"baseAddress":"http://127.0.0.1:1","adminState":"UNLOCKED"}`
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "add", Method: "POST", Path: path, Body: batch("service", service), Status: 207, Submits: 1, WantBody: `[{"apiVersion":"v2","statusCode":201,"id":"` + handlerstest.ID(2) + `"}]` + "\n"},
		{Name: "duplicate", Method: "POST", Path: path, Body: batch("service", service), Status: 207, Submits: 1, Contains: []string{`"statusCode":409`}},
		{Name: "get", Method: "GET", Path: path + "/name/svc-1", Status: 200, WantBody: `{"apiVersion":"v2","statusCode":200,"service":` + shown + "}\n"},
		{Name: "get unknown", Method: "GET", Path: path + "/name/nosuch", Status: 404},
		{Name: "all by label", Method: "GET", Path: path + "/all?labels=lb", Status: 200, WantBody: `{"apiVersion":"v2","statusCode":200,"totalCount":1,"services":[` + shown + "]}\n"},
		{Name: "bad address", Method: "POST", Path: path, Body: batch("service", `{"name":"s","baseAddress":"not a uri","adminState":"UNLOCKED"}`), Status: 400, Contains: []string{"[0].service.baseAddress"}},
		{Name: "nothing", Method: "POST", Path: path, Body: "[{}]", Status: 400, Contains: []string{"[0].apiVersion", "[0].service.name", "[0].service.baseAddress", "[0].service.adminState"}},
		{Name: "get the collection", Method: "GET", Path: path, Status: 405},
	})
}

// TestProfileLengthCoversAnswers holds that a profile that is taken can be sent back: its length counts the keys that an answer has and the log
// leaves out.
func TestProfileLengthCoversAnswers(t *testing.T) {
	long := strings.Repeat("x", 8<<20)
	p := domain.Profile{ID: handlerstest.ID(1), Name: "p", Description: long}
	for i := range 40 {
		name := fmt.Sprint("r", i)
		p.DeviceResources = append(p.DeviceResources, domain.DeviceResource{Name: name, Properties: domain.ResourceProperties{ValueType: "Bool", ReadWrite: "R"}})
		p.DeviceCommands = append(p.DeviceCommands, domain.DeviceCommand{Name: name, ReadWrite: "R", ResourceOperations: []domain.ResourceOperation{{DeviceResource: name}, {DeviceResource: name}}})
	}
	for name, cut := range map[string]func(*domain.Profile){
		"everything": func(*domain.Profile) {}, "resources": func(p *domain.Profile) { p.DeviceCommands = nil }, "nothing": func(p *domain.Profile) { p.DeviceCommands, p.DeviceResources = nil, nil },
	} {
		d := p
		cut(&d)
		_, err := domain.AddProfile{Profile: d}.Decide(domain.NewMapState())
		m := regexp.MustCompile(`would be (\d+) bytes long`).FindStringSubmatch(fmt.Sprint(err))
		if m == nil || domain.CodeOf(err) != domain.TooLarge {
			t.Fatalf("%s: got %v", name, err)
		}
		answer, err := json.Marshal(v2.OfProfile(d))
		if counted, _ := strconv.Atoi(m[1]); err != nil || counted < len(answer) {
			t.Errorf("%s: counts %d bytes, and its answer has %d", name, counted, len(answer))
		}
	}
}

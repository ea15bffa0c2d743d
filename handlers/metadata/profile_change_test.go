package metadata

import (
	"testing"

	"ledge/handlers"
	"ledge/handlers/handlerstest"
)

const profilePath = "/api/v2/deviceprofile"

// part wraps a part of a profile in a v2 envelope.
func part(profile, key, value string) string {
	return `[{"apiVersion":"v2","profileName":"` + profile + `","` + key + `":` + value + `}]`
}

const ok200 = `[{"apiVersion":"v2","statusCode":200}]` + "\n"

func TestReplaceProfile(t *testing.T) {
	h, log := mustMetadata(t)
	put := func(name, body string, contains ...string) handlerstest.Scenario {
		return handlerstest.Scenario{Name: name, Method: "PUT", Path: profilePath, Body: body, Status: 207, Submits: 1, Contains: contains}
	}
	file := func(name, text string, status int, submits int, contains ...string) handlerstest.Scenario {
		return handlerstest.Scenario{Name: name, Method: "PUT", Path: profilePath + "/uploadfile", Header: []string{formType}, Body: form("file", text), Status: status, Submits: submits, Contains: contains}
	}
	shown := func(name string, contains ...string) handlerstest.Scenario {
		return handlerstest.Scenario{Name: name, Method: "GET", Path: profilePath + "/name/camera", Status: 200, Contains: contains}
	}
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		put("in use", batch("profile", profile("name", `"camera"`, "model", `"m-2"`)), ok200),
		shown("what came of it", `"created":2,"modified":1795246925123,"id":"`+profileID+`","name":"camera","manufacturer":"","description":"","model":"m-2","labels":null,"deviceResources"`, `"name":"r1"`),
		put("by id and name", batch("profile", profile("name", `"camera"`, "id", `"`+profileID+`"`)), ok200),
		put("unknown", batch("profile", profile()), `profile \"p-1\" does not exist`, `"statusCode":404`),
		put("id of another", batch("profile", profile("id", `"`+profileID+`"`)), `"statusCode":400`),
		put("unknown id", batch("profile", profile("id", `"`+requestID+`"`)), `"statusCode":404`),
		{Name: "nothing", Method: "PUT", Path: profilePath, Body: "[]", Status: 207, WantBody: "null\n"},
		{Name: "empty object", Method: "PUT", Path: profilePath, Body: "[{}]", Status: 400, Contains: []string{"[0].apiVersion", "[0].profile.name: is missing"}},
		{Name: "wrong in itself", Method: "PUT", Path: profilePath, Body: batch("profile", profile("deviceResources", `[{"name":"r","properties":{"valueType":"Zz","readWrite":"R"}}]`)), Status: 400, Contains: []string{"[0].profile.deviceResources[0].properties.valueType"}},
		file("a file", "name: camera\ndescription: from a file\ndeviceResources: [{name: r1, properties: {valueType: int8, readWrite: R}, attributes: {n: 5}}]", 200, 1, `{"apiVersion":"v2","statusCode":200}`),
		shown("what came of the file", `"description":"from a file"`, `"valueType":"Int8"`, `"deviceCommands":[]`),
		file("a file, unknown", "name: nosuch", 404, 1, `profile \"nosuch\" does not exist`),
		file("a file, wrong", "manufacturer: x", 400, 0, "file.name: is missing or empty"),
	})
}

// What changes nothing leaves no event.
func TestReplaceProfileWithItself(t *testing.T) {
	h, log := mustMetadata(t)
	path := profilePath + "/uploadfile"
	text := "name: yaml\ndeviceResources: [{name: r1, properties: {valueType: int8, readWrite: R}, attributes: {n: 5}}]"
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "added", Method: "POST", Path: path, Header: []string{formType}, Body: form("file", text), Status: 201, Submits: 1},
	})
	before := len(log.Recorded())
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "again", Method: "PUT", Path: path, Header: []string{formType}, Body: form("file", text), Status: 200, Submits: 1},
		{Name: "as JSON", Method: "PUT", Path: profilePath, Body: batch("profile", `{"name":"yaml","labels":[],"deviceResources":[{"name":"r1","properties":{"valueType":"Int8","readWrite":"R"},"attributes":{"n":5.0}}]}`), Status: 207, Submits: 1, WantBody: ok200},
		{Name: "basic info", Method: "PATCH", Path: profilePath + "/basicinfo", Body: batch("basicinfo", `{"name":"yaml"}`), Status: 207, Submits: 1, WantBody: ok200},
	})
	if got := len(log.Recorded()); got != before {
		t.Errorf("got %d events, want none", got-before)
	}
}

func TestProfileInfo(t *testing.T) {
	h, log := mustMetadata(t)
	patch := func(name, info string, status, submits int, contains ...string) handlerstest.Scenario {
		return handlerstest.Scenario{Name: name, Method: "PATCH", Path: profilePath + "/basicinfo", Body: batch("basicinfo", info), Status: status, Submits: submits, Contains: contains}
	}
	list := func(name, path, count string) handlerstest.Scenario {
		return handlerstest.Scenario{Name: name, Method: "GET", Path: profilePath + path, Status: 200, Contains: []string{`"totalCount":` + count + `,`}}
	}
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		list("by maker", "/manufacturer/mf?limit=1", "1"), list("by model", "/model/md", "1"), list("by both", "/manufacturer/mf/model/md", "1"),
		patch("by name", `{"name":"camera","manufacturer":"mf2","description":"dd","labels":["x"]}`, 207, 1, ok200),
		patch("any text", `{"name":"camera","manufacturer":"A/B, C+D","model":"../m/"}`, 207, 1, ok200),
		list("by a maker with a slash", "/manufacturer/A%2FB,%20C+D", "1"), list("by a model with slashes", "/model/..%2Fm%2f", "1"),
		list("by both, with slashes", "/manufacturer/A%2fB%2C%20C%2BD/model/..%2Fm%2F", "1"), list("by a part of a maker", "/manufacturer/A", "0"),
		patch("by name, back", `{"name":"camera","manufacturer":"mf2","model":"md"}`, 207, 1, ok200),
		patch("by id", `{"id":"`+profileID+`","model":"md2"}`, 207, 1, ok200),
		{Name: "shown", Method: "GET", Path: profilePath + "/name/camera", Status: 200, Contains: []string{`"manufacturer":"mf2","description":"dd","model":"md2","labels":["x"],"deviceResources":[{`}},
		list("by the old maker", "/manufacturer/mf", "0"), list("by both, one of them old", "/manufacturer/mf2/model/md", "0"), list("by both now", "/manufacturer/mf2/model/md2", "1"),
		patch("empty id beside the name", `{"id":"","name":"camera","model":"md3"}`, 207, 1, ok200),
		patch("empty id", `{"id":"","model":"md3"}`, 400, 0, "[0].basicinfo.id: is missing or empty"),
		patch("unknown", `{"name":"nosuch"}`, 207, 1, `"statusCode":404`), patch("unknown id", `{"id":"`+requestID+`"}`, 207, 1, `"statusCode":404`),
		patch("neither", `{"description":"x"}`, 400, 0, "[0].basicinfo.name: is missing, and so is id"),
		patch("bad id", `{"id":"x"}`, 400, 0, `[0].basicinfo.id: \"x\" is no UUID`),
		patch("mistyped", `{"name":5}`, 400, 0, "[0].basicinfo.name: a JSON number"),
	})
}

func TestProfileResources(t *testing.T) {
	h, log := mustMetadata(t)
	const path = profilePath + "/resource"
	const r9 = `{"name":"r9","properties":{"valueType":"Bool","readWrite":"R"}}`
	send := func(name, method, body string, status, submits int, contains ...string) handlerstest.Scenario {
		return handlerstest.Scenario{Name: name, Method: method, Path: path, Body: body, Status: status, Submits: submits, Contains: contains}
	}
	get := func(name, path string, status int, contains string) handlerstest.Scenario {
		return handlerstest.Scenario{Name: name, Method: "GET", Path: "/api/v2/deviceresource/profile/" + path, Status: status, Contains: []string{contains}}
	}
	remove := func(name, path string, status int, contains string) handlerstest.Scenario {
		return handlerstest.Scenario{Name: name, Method: "DELETE", Path: profilePath + "/name/" + path, Status: status, Submits: 1, Contains: []string{contains}}
	}
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "a free profile", Method: "POST", Path: profilePath, Body: batch("profile", profile()), Status: 207, Submits: 1},
		send("add", "POST", part("p-1", "resource", r9), 207, 1, `[{"apiVersion":"v2","statusCode":201}]`),
		send("add again", "POST", part("p-1", "resource", r9), 207, 1, `device resource \"r9\" exists already`, `"statusCode":400`),
		send("add to no profile", "POST", part("nosuch", "resource", r9), 207, 1, `"statusCode":404`),
		{
			Name: "add in lower case", Method: "POST", Path: path, Body: part("p-1", "resource", `{"name":"r8","properties":{"valueType":"bool","readWrite":"R"}}`),
			Status: 207, Submits: 1, Contains: []string{`"statusCode":201`}, Loose: "a value type in lower case",
		},
		get("is in proper case", "p-1/resource/r8", 200, `"valueType":"Bool"`),
		send("add to a profile in use", "POST", part("camera", "resource", r9), 207, 1, `"statusCode":201`),
		send("add without fields", "POST", "[{}]", 400, 0, "[0].apiVersion", "[0].profileName: is missing", "[0].resource.name: is missing", "[0].resource.properties.valueType"),
		send("add to no name", "POST", part("a b", "resource", r9), 400, 0, `[0].profileName: \"a b\" has the character ' '`),
		send("patch of no name", "PATCH", part("a b", "resource", `{"name":"r9"}`), 400, 0, `[0].profileName: \"a b\" has the character ' '`),
		send("add mistyped", "POST", `[{"apiVersion":"v2","profileName":5}]`, 400, 0, "[0].profileName: a JSON number"),
		send("patch", "PATCH", part("p-1", "resource", `{"name":"r9","isHidden":true,"description":"patched"}`), 207, 1, ok200),
		get("get", "p-1/resource/r9", 200, `{"apiVersion":"v2","statusCode":200,"resource":{"description":"patched","name":"r9","isHidden":true,"tag":"","properties":{"valueType":"Bool"`),
		get("get unknown", "p-1/resource/zz", 404, `device resource \"zz\" does not exist in profile \"p-1\"`),
		get("get of no profile", "nosuch/resource/r9", 404, `device profile name \"nosuch\" does not exist`),
		send("patch unknown", "PATCH", part("p-1", "resource", `{"name":"zz"}`), 207, 1, `"statusCode":404`),
		send("patch without name", "PATCH", part("p-1", "resource", `{"description":"x"}`), 400, 0, "[0].resource.name: is missing"),
		remove("delete", "p-1/resource/r9", 200, `{"apiVersion":"v2","statusCode":200}`),
		remove("delete again", "p-1/resource/r9", 404, `"statusCode":404`),
		remove("delete what a command uses", "p-1/resource/r1", 400, `by device command \"c1\"`),
		remove("delete in use", "camera/resource/jpeg", 409, `profile \"camera\" is in use`),
		remove("delete of no profile", "nosuch/resource/jpeg", 404, `profile \"nosuch\" does not exist`),
	})
}

func TestProfileCommands(t *testing.T) {
	h, log := mustMetadata(t)
	const path = profilePath + "/deviceCommand"
	const c9 = `{"name":"c9","readWrite":"R","resourceOperations":[{"deviceResource":"r1"}]}`
	send := func(name, method, body string, status, submits int, contains ...string) handlerstest.Scenario {
		return handlerstest.Scenario{Name: name, Method: method, Path: path, Body: body, Status: status, Submits: submits, Contains: contains}
	}
	remove := func(name, path string, status int, contains string) handlerstest.Scenario {
		return handlerstest.Scenario{Name: name, Method: "DELETE", Path: profilePath + "/name/" + path, Status: status, Submits: 1, Contains: []string{contains}}
	}
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "a free profile", Method: "POST", Path: profilePath, Body: batch("profile", profile()), Status: 207, Submits: 1},
		send("add", "POST", part("p-1", "deviceCommand", c9), 207, 1, `[{"apiVersion":"v2","statusCode":201}]`),
		send("add again", "POST", part("p-1", "deviceCommand", c9), 207, 1, `device command \"c9\" exists already`, `"statusCode":400`),
		send("add for no resource", "POST", part("camera", "deviceCommand", c9), 207, 1, `device resource \"r1\" does not exist in this profile`, `"statusCode":400`),
		send("add nothing", "POST", "[]", 207, 0, "null"),
		send("add without fields", "POST", part("", "deviceCommand", "{}"), 400, 0, "[0].profileName: is missing", "[0].deviceCommand.name: is missing", "[0].deviceCommand.resourceOperations: is missing"),
		send("add to no name", "POST", part("ü", "deviceCommand", c9), 400, 0, `[0].profileName: \"ü\" has the character`),
		send("patch of no name", "PATCH", part("ü", "deviceCommand", `{"name":"c9"}`), 400, 0, `[0].profileName: \"ü\" has the character`),
		send("patch", "PATCH", part("p-1", "deviceCommand", `{"name":"c9","isHidden":true}`), 207, 1, ok200),
		{Name: "shown", Method: "GET", Path: profilePath + "/name/p-1", Status: 200, Contains: []string{`{"name":"c9","isHidden":true,"readWrite":"R"`}},
		send("patch unknown", "PATCH", part("p-1", "deviceCommand", `{"name":"zz","isHidden":true}`), 207, 1, `"statusCode":404`),
		send("patch without name", "PATCH", part("p-1", "deviceCommand", `{}`), 400, 0, "[0].deviceCommand.name: is missing"),
		remove("delete", "p-1/deviceCommand/c9", 200, `{"apiVersion":"v2","statusCode":200}`),
		remove("delete again", "p-1/deviceCommand/c9", 404, `"statusCode":404`),
		remove("delete in use", "camera/deviceCommand/c1", 409, `profile \"camera\" is in use`),
	})
}

func TestStrictProfiles(t *testing.T) {
	h, log := mustMetadata(t, func(o *handlers.Options) { o.StrictProfileChanges, o.StrictProfileDeletes = true, true })
	locked := func(name, method, path string, contains string) handlerstest.Scenario {
		return handlerstest.Scenario{Name: name, Method: method, Path: profilePath + path, Status: 423, Contains: []string{contains, `"statusCode":423`}}
	}
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		locked("delete", "DELETE", "/name/nosuch", "strict-profiles has deletes"),
		locked("delete a resource", "DELETE", "/name/camera/resource/jpeg", "strict-profiles has changes"),
		locked("delete a command", "DELETE", "/name/camera/deviceCommand/c1", "strict-profiles has changes"),
		{Name: "replace", Method: "PUT", Path: profilePath, Body: batch("profile", profile("name", `"camera"`)), Status: 423, Contains: []string{"strict-profiles has changes"}},
		{Name: "replace by file", Method: "PUT", Path: profilePath + "/uploadfile", Header: []string{formType}, Body: form("file", "name: camera"), Status: 423, Contains: []string{"strict-profiles has changes"}},
		{Name: "basic info", Method: "PATCH", Path: profilePath + "/basicinfo", Body: batch("basicinfo", `{"name":"camera","description":"x"}`), Status: 207, Submits: 1, WantBody: ok200},
	})
}

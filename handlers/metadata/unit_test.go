package metadata

import (
	"strings"
	"testing"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/handlerstest"
)

// withUnits lists some units of measure and has them validated, or not.
func withUnits(validate bool) func(*handlers.Options) {
	return func(o *handlers.Options) {
		o.ValidateUnits = validate
		o.Units = domain.UnitsOfMeasure{Source: "a book", Units: map[string]domain.QuantityUnits{
			"weights": {Source: "a scale", Values: []string{"lbs", "kilos"}}, "angle": {Values: []string{"°"}},
		}}
	}
}

func TestUnits(t *testing.T) {
	const path = "/api/v2/uom"
	const inJSON = `{"apiVersion":"v2","statusCode":200,"uom":{"source":"a book","units":{"angle":{"values":["°"]},"weights":{"source":"a scale","values":["lbs","kilos"]}}}}` + "\n"
	const inTOML = "Source = 'a book'\n\n[Units]\n[Units.angle]\nValues = ['°']\n\n[Units.weights]\nSource = 'a scale'\nValues = ['lbs', 'kilos']\n"
	h, log := mustMetadata(t, withUnits(false))
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "get", Method: "GET", Path: path, Status: 200, WantBody: inJSON},
		{Name: "get as anything", Method: "GET", Path: path, Header: []string{"Accept: application/x-yaml"}, Status: 200, WantBody: inJSON},
		{Name: "get as TOML", Method: "GET", Path: path, Header: []string{"Accept: application/TOML"}, Status: 200, WantBody: inTOML},
		{Name: "post", Method: "POST", Path: path, Body: "{}", Status: 405},
	})
	if got := handlerstest.Serve(h, "GET", path, "").Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("got %q", got)
	}
	if got := handlerstest.Serve(h, "GET", path, "", "Accept: application/toml").Header().Get("Content-Type"); got != "application/toml" {
		t.Errorf("got %q", got)
	}
	h, log = mustMetadata(t)
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "none", Method: "GET", Path: path, Status: 200, WantBody: `{"apiVersion":"v2","statusCode":200,"uom":{}}` + "\n"},
	})
}

// inUnits is a profile whose resources are in these units.
func inUnits(name string, units ...string) string {
	resources := make([]string, len(units))
	for i, unit := range units {
		resources[i] = resourceIn(string(rune('a'+i)), unit)
	}
	return `{"name":"` + name + `","deviceResources":[` + strings.Join(resources, ",") + `]}`
}

func resourceIn(name, unit string) string {
	return `{"name":"` + name + `","properties":{"valueType":"Int32","readWrite":"R","units":"` + unit + `"}}`
}

const unlisted = `device resource \"a\": units \"furlong\" are not listed; use some that GET /api/v2/uom lists`

func TestValidateUnits(t *testing.T) {
	h, log := mustMetadata(t, withUnits(true))
	send := func(name, method, body string, submits int, contains ...string) handlerstest.Scenario {
		return handlerstest.Scenario{Name: name, Method: method, Path: profilePath, Body: body, Status: 207, Submits: submits, Contains: contains}
	}
	resource := func(name, method, profile, body string, submits int, contains ...string) handlerstest.Scenario {
		return handlerstest.Scenario{Name: name, Method: method, Path: profilePath + "/resource", Body: part(profile, "resource", body), Status: 207, Submits: submits, Contains: contains}
	}
	file := func(name, method, unit string, status, submits int, contains ...string) handlerstest.Scenario {
		return handlerstest.Scenario{
			Name: name, Method: method, Path: profilePath + "/uploadfile", Header: []string{formType}, Status: status, Submits: submits, Contains: contains,
			Body: form("file", "name: file\ndeviceResources: [{name: a, properties: {valueType: int8, readWrite: R, units: "+unit+"}}]"),
		}
	}
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		send("add", "POST", batch("profile", inUnits("p-1", "lbs", "", "°")), 1, `"statusCode":201`),
		send("add some, one in other units", "POST", batch("profile", inUnits("p-2", "furlong"), inUnits("p-3", "kilos")), 1,
			`[{"apiVersion":"v2","message":"`+unlisted+`","statusCode":400,"errors":[{"path":`, `}]},{"apiVersion":"v2","statusCode":201,"id":`),
		send("add, all that is wrong", "POST", batch("profile", inUnits("p-2", "furlong", "LBS")), 0, unlisted, `; device resource \"b\": units \"LBS\"`),
		send("add what is there", "POST", batch("profile", inUnits("p-1", "furlong")), 0, `"statusCode":400`),
		{Name: "not added", Method: "GET", Path: profilePath + "/name/p-2", Status: 404},
		send("replace", "PUT", batch("profile", inUnits("p-1", "furlong")), 0, unlisted, `"statusCode":400`),
		send("replace what is not there", "PUT", batch("profile", inUnits("p-9", "furlong")), 0, unlisted, `"statusCode":400`),
		send("replace in listed units", "PUT", batch("profile", inUnits("p-1", "kilos")), 1, ok200),
		file("add a file", "POST", "furlong", 400, 0, unlisted),
		file("add a file in listed units", "POST", "lbs", 201, 1),
		file("replace by a file", "PUT", "furlong", 400, 0, unlisted),
		file("replace by a file in listed units", "PUT", "kilos", 200, 1),
		resource("add a resource", "POST", "p-1", resourceIn("x", "kilos"), 1, `"statusCode":201`),
		resource("add a resource in other units", "POST", "p-1", resourceIn("a", "furlong"), 0, unlisted, `"statusCode":400`),
		resource("add a resource to no profile", "POST", "p-9", resourceIn("a", "furlong"), 0, `\"p-9\" does not exist`, `"statusCode":404`),
	})
}

// A profile from before the validation keeps its units and can be changed otherwise.
func TestUnitsFromBefore(t *testing.T) {
	h, log := mustMetadata(t, withUnits(true))
	log.Given(t, domain.AddProfile{Profile: domain.Profile{ID: requestID, Name: "old", DeviceResources: []domain.DeviceResource{{
		Name: "a", Properties: domain.ResourceProperties{ValueType: "Int32", ReadWrite: "R", Units: "furlong"},
	}}}})
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "a resource", Method: "PATCH", Path: profilePath + "/resource", Body: part("old", "resource", `{"name":"a","isHidden":true}`), Status: 207, Submits: 1, WantBody: ok200},
		{Name: "basic info", Method: "PATCH", Path: profilePath + "/basicinfo", Body: batch("basicinfo", `{"name":"old","model":"m"}`), Status: 207, Submits: 1, WantBody: ok200},
		{Name: "another resource", Method: "POST", Path: profilePath + "/resource", Body: part("old", "resource", resourceIn("b", "lbs")), Status: 207, Submits: 1},
		{Name: "shown", Method: "GET", Path: profilePath + "/name/old", Status: 200, Contains: []string{`"units":"furlong"`, `"units":"lbs"`, `"isHidden":true`, `"model":"m"`}},
	})
}

func TestUnitsWithoutValidation(t *testing.T) {
	h, log := mustMetadata(t, withUnits(false))
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "add", Method: "POST", Path: profilePath, Body: batch("profile", inUnits("p-1", "furlong")), Status: 207, Submits: 1, Contains: []string{`"statusCode":201`}},
		{Name: "a resource", Method: "POST", Path: profilePath + "/resource", Body: part("p-1", "resource", resourceIn("x", "cubit")), Status: 207, Submits: 1, Contains: []string{`"statusCode":201`}},
	})
}

// What is refused for the strict settings is not looked at further.
func TestStrictBeforeUnits(t *testing.T) {
	h, log := mustMetadata(t, withUnits(true), func(o *handlers.Options) { o.StrictProfileChanges = true })
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "replace", Method: "PUT", Path: profilePath, Body: batch("profile", inUnits("camera", "furlong")), Status: 423, Contains: []string{`"statusCode":423`}},
	})
}

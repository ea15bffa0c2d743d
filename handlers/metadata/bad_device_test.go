package metadata

import (
	"strings"
	"testing"

	"ledge/handlers/handlerstest"
)

// badDevices are requests to POST /device that are refused as a whole: 400, and nothing is submitted.
var badDevices = []struct{ name, body, want string }{
	{"malformed", `[{"apiVersion":"v2",`, "the body is no JSON: unexpected end of JSON input at line 1, column 21 (byte 20)"},
	{"malformed in line 2", "[{},\n {\"a\" 1}]", "after object key at line 2, column 7 (byte 11)"},
	{"no comma", `[{} {}]`, "the body is no JSON"},
	{"a comma too many", `[{},]`, "the body is no JSON"},
	{"a brace for a bracket", `[{}}`, "the body is no JSON"},
	{"never closed", `[`, "the body is no JSON"},
	{"empty", ``, "the body is empty; send an array"},
	{"blank", " \n", "the body is empty; send an array"},
	{"object", `{"apiVersion":"v2"}`, "the body is an object; send an array of objects"},
	{"string", `"x"`, "the body is a string"},
	{"number", `5`, "the body is a number"},
	{"boolean", `true`, "the body is a boolean"},
	{"not JSON", `hello`, "the body is no JSON"},
	{"too deep", `[` + strings.Repeat(`[`, 20_000), "the body is no JSON"},
	{"array of strings", `["x"]`, "[0]: a JSON string is not possible here; give an object"},
	{"array of null", `[null]`, `[0]: is null; give an object`},
	{"empty object", `[{}]`, `[0].device.protocols: is missing or empty`},
	{"no apiVersion", `[{"device":` + device() + `}]`, "[0].apiVersion: is missing or empty"},
	{"other apiVersion", `[{"apiVersion":"v3","device":` + device() + `}]`, `[0].apiVersion: \"v3\" is unknown here; use \"v2\"`},
	{"apiVersion a number", `[{"apiVersion":2,"device":` + device() + `}]`, "[0].apiVersion: a JSON number is not possible here; give a string"},
	{"requestId no UUID", `[{"apiVersion":"v2","requestId":"1","device":` + device() + `}]`, `[0].requestId: \"1\" is no UUID`},
	{"no device", `[{"apiVersion":"v2"}]`, "[0].device.name: is missing or empty"},
	{"device a string", `[{"apiVersion":"v2","device":"x"}]`, "[0].device: a JSON string is not possible here; give an object"},
	{"name missing", batch("device", device("name", "")), "[0].device.name: is missing or empty"},
	{"name empty", batch("device", device("name", `""`)), "[0].device.name: is missing or empty"},
	{"name a number", batch("device", device("name", "5")), "[0].device.name: a JSON number is not possible here; give a string"},
	{"name with a space", batch("device", device("name", `"a b"`)), `[0].device.name: \"a b\" has the character ' '`},
	{"name with a dot", batch("device", device("name", `"a.b"`)), `[0].device.name`},
	{"name with a slash", batch("device", device("name", `"a/b"`)), `[0].device.name`},
	{"name with an umlaut", batch("device", device("name", `"Gerät"`)), `[0].device.name`},
	{"name too long", batch("device", device("name", `"`+strings.Repeat("x", 257)+`"`)), "is 257 bytes long; use at most 256"},
	{"id no UUID", batch("device", device("id", `"x"`)), `[0].device.id: \"x\" is no UUID`},
	{"adminState unknown", batch("device", device(), device("adminState", `"OPEN"`)), `[1].device.adminState: \"OPEN\" is unknown; use one of LOCKED, UNLOCKED`},
	{"operatingState missing", batch("device", device("operatingState", "")), "[0].device.operatingState: is missing or empty; use one of"},
	{"serviceName empty", batch("device", device("serviceName", `""`)), "[0].device.serviceName: is missing or empty"},
	{"profileName missing", batch("device", device("profileName", "")), "[0].device.profileName: is missing or empty"},
	{"protocolName missing for device-rest", batch("device", device("protocolName", "")), "[0].device.protocolName: is missing"},
	{"protocols empty", batch("device", device("protocols", "{}")), "[0].device.protocols: is missing or empty"},
	{"protocols a list", batch("device", device("protocols", "[]")), "[0].device.protocols: a JSON array is not possible here; give an object"},
	{"labels a string", batch("device", device("labels", `"a"`)), "[0].device.labels: a JSON string is not possible here; give an array"},
	{"lastReported a fraction", batch("device", device("lastReported", "1.5")), "[0].device.lastReported: a JSON number 1.5 is not possible here; give a whole number of 64 bits"},
	{"notify a string", batch("device", device("notify", `"yes"`)), "[0].device.notify: a JSON string is not possible here; give true or false"},
	{"autoEvent interval", batch("device", device("autoEvents", `[{"interval":"10","sourceName":"zoom"}]`)), "[0].device.autoEvents[0].interval"},
	{"more problems than are shown", batch("device", device("autoEvents", "["+strings.Repeat("{},", 2000)+"{}]")), "autoEvents[9].sourceName: is missing or empty; give a value; and 3982 more problems"},
	{"problems of two elements", `[{"apiVersion":"v2","device":` + device("name", `""`) + `},{"apiVersion":"v2","device":` + device("name", "1") + `},{}]`, `[0].device.name: is missing or empty; give a name; [1].device.name: a JSON number`},
}

func TestBadDevices(t *testing.T) {
	h, log := mustMetadata(t)
	before := len(log.Recorded())
	var scenarios []handlerstest.Scenario
	for _, b := range badDevices {
		scenarios = append(scenarios, handlerstest.Scenario{
			Name: b.name, Method: "POST", Path: "/api/v2/device", Body: b.body, Status: 400,
			Contains: []string{`{"apiVersion":"v2","message":"`, b.want, `"statusCode":400,"errors":[{"path":`},
		})
	}
	handlerstest.Run(t, h, log, scenarios)
	if n := len(log.Recorded()); n != before {
		t.Errorf("events: got %d more", n-before)
	}
}

func TestEmptyBatches(t *testing.T) {
	h, log := mustMetadata(t)
	var scenarios []handlerstest.Scenario
	for _, path := range []string{"/api/v2/device", "/api/v2/deviceprofile", "/api/v2/deviceservice"} {
		for _, body := range []string{"[]", "null", "[]garbage", " [ ] "} {
			scenarios = append(scenarios, handlerstest.Scenario{
				Name: path + body, Method: "POST", Path: path, Body: body, Status: 207, WantBody: "null\n",
			})
		}
	}
	handlerstest.Run(t, h, log, scenarios)
}

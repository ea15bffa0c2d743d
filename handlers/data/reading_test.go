package data

import (
	"fmt"
	"strings"
	"testing"

	"ledge/domain"
	"ledge/handlers/handlerstest"
)

func TestListReadings(t *testing.T) {
	f := mustData(t)
	f.log.Given(t, domain.PostReading{Reading: domain.ReadingPosted{Value: []byte("7"), Reading: domain.Reading{
		ID: handlerstest.ID(800), Event: handlerstest.ID(801), Profile: "p", Device: "hall-2", Resource: "temperature", ValueType: "Int8", MediaType: "text/plain", Size: 1, Origin: origin + 9,
	}}})
	const otherJSON = `{"id":"00000000-0000-7000-8000-000000000800","origin":1700000000000000009,"deviceName":"hall-2","resourceName":"temperature","profileName":"p","valueType":"Int8","value":"7"}`
	page := func(total int, list ...string) string {
		return fmt.Sprintf(`{"apiVersion":"v2","statusCode":200,"totalCount":%d,"readings":[%s]}`, total, strings.Join(list, ","))
	}
	const all, first = "/start/0/end/1800000000000000000", "/start/1700000000000000001/end/1700000000000000001"
	asking := func(name, path, body, want string) handlerstest.Scenario {
		s := get(name, path, want)
		s.Body = body
		return s
	}
	handlerstest.Run(t, f, f.log, []handlerstest.Scenario{
		get("all", "/reading/all", page(4, otherJSON, stateJSON, pictureJSON, temperatureJSON)),
		get("a page", "/reading/all?offset=1&limit=2", page(4, stateJSON, pictureJSON)),
		get("of a device", "/reading/device/name/hall-1", page(3, stateJSON, pictureJSON, temperatureJSON)),
		get("of a resource", "/reading/resourceName/temperature", page(2, otherJSON, temperatureJSON)),
		get("of an unknown resource", "/reading/resourceName/nosuch", page(0)),
		get("of both", "/reading/device/name/hall-1/resourceName/temperature", page(1, temperatureJSON)),
		get("within a time", "/reading"+first, page(1, temperatureJSON)),
		get("of a resource within a time", "/reading/resourceName/temperature"+all, page(2, otherJSON, temperatureJSON)),
		get("of a resource, within no time", "/reading/resourceName/image"+first, page(0)),
		get("of both within a time", "/reading/device/name/hall-1/resourceName/temperature"+first, page(1, temperatureJSON)),
		get("of a device within a time", "/reading/device/name/hall-1"+first, page(1, temperatureJSON)),
		asking("of resources", "/reading/device/name/hall-1"+all, `{"resourceNames":["image","state"]}`, page(2, stateJSON, pictureJSON)),
		asking("of no resources", "/reading/device/name/hall-1"+all, `{"resourceNames":[]}`, page(3, stateJSON, pictureJSON, temperatureJSON)),
		asking("of as many as may be", "/reading/device/name/hall-1"+all, `{"resourceNames":[`+strings.Repeat(`"a",`, domain.MaxTags-1)+`"image"]}`, page(1, pictureJSON)),
		asking("of null", "/reading/device/name/hall-1"+all, `null`, page(3, stateJSON, pictureJSON, temperatureJSON)),
		get("count", "/reading/count", `{"apiVersion":"v2","statusCode":200,"Count":4}`),
		get("count of a device", "/reading/count/device/name/hall-1", `{"apiVersion":"v2","statusCode":200,"Count":3}`),
		{Name: "names that are none", Method: "GET", Path: api + "/reading/device/name/hall-1" + all, Body: `{"resourceNames":"image"}`, Status: 400, Contains: []string{"body.resourceNames: a JSON string is not possible here; give an array"}},
		{Name: "no JSON", Method: "GET", Path: api + "/reading/device/name/hall-1" + all, Body: "{\n}}", Status: 400, Contains: []string{"at line 2, column 2 (byte 3); send one object"}},
		{Name: "in seconds", Method: "GET", Path: api + "/reading/start/1700000000/end/1800000000", Status: 400, Contains: []string{"send 1700000000000000000"}},
		{Name: "of a resource in seconds", Method: "GET", Path: api + "/reading/resourceName/r/start/0/end/1800000000", Status: 400, Contains: []string{"send 1800000000000000000"}},
		{Name: "of a device in seconds", Method: "GET", Path: api + "/reading/device/name/d/start/0/end/1800000000", Status: 400, Contains: []string{"send 1800000000000000000"}},
		{Name: "too many", Method: "GET", Path: api + "/reading/device/name/hall-1" + all, Body: `{"resourceNames":[` + strings.Repeat(`"a",`, domain.MaxTags) + `"a"]}`, Status: 400, Contains: []string{"has 257 entries"}},
	})
}

// What retention has removed from the log is left out, and a value whose reading is removed while it is asked for. A value
// beside the log that is missing although its reading is there is damage.
func TestValuesThatAreGone(t *testing.T) {
	f := mustData(t)
	id := handlerstest.ID(700)
	big := `"valueType":"Binary","mediaType":"a/b","binaryValue":"` + strings.Repeat("////", inlineBytes) + `"`
	if w := handlerstest.Serve(f, "POST", path, posted(id, five, big)); w.Code != 201 {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	f.gone[1] = true
	for digest := range f.payloads.kept {
		if w := handlerstest.Serve(f, "GET", api+"/reading/all", ""); w.Code != 200 {
			t.Errorf("all is there: got %d %s", w.Code, w.Body)
		}
		f.payloads.kept = nil
		for _, list := range []string{"/reading/all", "/event/id/" + id, "/reading/id/" + handlerstest.ID(3) + "/binary"} {
			if w := handlerstest.Serve(f, "GET", api+list, ""); w.Code != 500 || !strings.Contains(w.Body.String(), "payloads/"+digest) {
				t.Errorf("%s with a file missing: got %d %s", list, w.Code, w.Body)
			}
		}
	}
	f.payloads.missing = func() { f.log.Given(t, domain.RemoveDataEvent{ID: id}) }
	reading := `{"id":"00000000-0000-7000-8000-000000000002","origin":1700000000000000099,"deviceName":"hall-1","resourceName":"r","profileName":"climate",` + five + `}`
	handlerstest.Run(t, f, f.log, []handlerstest.Scenario{
		get("of an event", "/event/id/"+id, `{"apiVersion":"v2","statusCode":200,"event":{"apiVersion":"v2","id":"`+id+`","deviceName":"hall-1","profileName":"climate","sourceName":"everything","origin":1700000000000000099,"readings":[`+reading+`]}}`),
		get("of readings", "/reading/all", `{"apiVersion":"v2","statusCode":200,"totalCount":3,"readings":[`+stateJSON+`,`+temperatureJSON+`]}`),
		{Name: "itself", Method: "GET", Path: api + "/reading/id/" + readingID + "/binary", Status: 404},
	})
}

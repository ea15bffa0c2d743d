package metadata

import (
	"testing"

	"ledge/handlers/handlerstest"
)

// TestPatchMembers holds for each entity that null changes nothing, that times are unknown members whatever their values are, and that a
// member of a wrong type is refused with its place.
func TestPatchMembers(t *testing.T) {
	const null, times = `"description":null,"labels":null`, `"created":"x","modified":{}`
	for _, tt := range []struct{ path, key, name, mistyped, place, misspelled, meant string }{
		{
			"/device", "device", "cam-1", `"labels":["a"],"autoEvents":[{"interval":"1s"},{"interval":5}]`,
			"autoEvents[1].interval: a JSON number is not possible here; give a string", "protocol", "protocols",
		},
		{
			"/deviceservice", "service", "device-rest", `"lastReported":1.5`,
			"lastReported: a JSON number 1.5 is not possible here", "baseAdress", "baseAddress",
		},
		{
			"/deviceprofile/basicinfo", "basicinfo", "camera", `"labels":{}`,
			"labels: a JSON object is not possible here; give an array", "manufacturr", "manufacturer",
		},
	} {
		path, place := "/api/v2"+tt.path, "[0]."+tt.key+"."
		body := func(members string) string { return batch(tt.key, `{"name":"`+tt.name+`",`+members+`}`) }
		h, log := mustMetadata(t)
		before := len(log.Recorded())
		handlerstest.Run(t, h, log, []handlerstest.Scenario{
			{
				Name: tt.key + " null", Method: "PATCH", Path: path, Body: body(null), Status: 207, Submits: 1,
				WantBody: `[{"apiVersion":"v2","statusCode":200}]` + "\n",
			},
			{
				Name: tt.key + " times", Method: "PATCH", Path: path, Body: body(times), Status: 207, Submits: 1, Loose: "unknown keys",
				Contains: []string{`"message":"ignored, because unknown: ` + tt.key + `.created, ` + tt.key + `.modified","statusCode":200`},
			},
			{Name: tt.key + " type", Method: "PATCH", Path: path, Body: body(tt.mistyped), Status: 400, Contains: []string{place + tt.place}},
			{
				Name: tt.key + " two types", Method: "PATCH", Path: path, Status: 400,
				Body:     `[{"apiVersion":2,"` + tt.key + `":{"name":5}}]`,
				Contains: []string{`"message":"[0].apiVersion: a JSON number is not possible here; give a string","statusCode":400`},
			},
			{
				Name: tt.key + " null in a list", Method: "PATCH", Path: path, Body: body(`"labels":["a",null]`), Status: 400,
				Contains: []string{place + "labels[1]: is null; give an entry or leave it out"},
			},
			{
				Name: tt.key + " misspelled", Method: "PATCH", Path: path, Body: body(`"` + tt.misspelled + `":{}`), Status: 400,
				Contains: []string{tt.misspelled + ": is an unknown key; did you mean " + tt.meant + "?"},
			},
			{
				Name: tt.key + " is another", Method: "PATCH", Path: path, Body: `[{"apiVersion":"v2","thing":{"name":"a"}}]`, Status: 400,
				Contains: []string{`[0].thing: is an unknown key; write \"` + tt.key + `\" in its place`},
			},
		})
		if n := len(log.Recorded()); n != before {
			t.Errorf("%s: %d events are recorded, want none", tt.key, n-before)
		}
	}
}

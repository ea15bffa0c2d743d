package metadata

import (
	"testing"

	"ledge/handlers/handlerstest"
)

const cam1 = `{"created":3,"modified":3,"id":"` + deviceID + `","name":"cam-1","description":"first","adminState":"UNLOCKED",` +
	`"operatingState":"UP","labels":["indoor","north"],"serviceName":"device-rest","profileName":"camera",` +
	`"protocolName":"rest","protocols":{"other":{}}}`

func TestDeviceQueries(t *testing.T) {
	h, log := mustMetadata(t)
	list := func(total string) string {
		return `{"apiVersion":"v2","statusCode":200,"totalCount":` + total + `,"devices":[` + cam1 + "]}\n"
	}
	const none = `{"apiVersion":"v2","statusCode":200,"totalCount":0,"devices":[]}` + "\n"
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "by name", Method: "GET", Path: "/api/v2/device/name/cam-1", Status: 200, WantBody: `{"apiVersion":"v2","statusCode":200,"device":` + cam1 + "}\n"},
		{Name: "unknown", Method: "GET", Path: "/api/v2/device/name/cam-9", Status: 404, Contains: []string{`"message":"device name \"cam-9\" does not exist; correct the name"`, `"statusCode":404`}},
		{Name: "encoded slash", Method: "GET", Path: "/api/v2/device/name/a%2Fb", Status: 404, WantBody: "404 page not found\n"},
		{Name: "check", Method: "GET", Path: "/api/v2/device/check/name/cam-1", Status: 200, WantBody: `{"apiVersion":"v2","statusCode":200}` + "\n"},
		{Name: "check unknown", Method: "GET", Path: "/api/v2/device/check/name/cam-9", Status: 404},
		{Name: "all", Method: "GET", Path: "/api/v2/device/all", Status: 200, WantBody: list("1")},
		{Name: "label", Method: "GET", Path: "/api/v2/device/all?labels=indoor,north", Status: 200, WantBody: list("1")},
		{Name: "labels are all asked for", Method: "GET", Path: "/api/v2/device/all?labels=indoor,south", Status: 200, WantBody: none},
		{Name: "by profile", Method: "GET", Path: "/api/v2/device/profile/name/camera", Status: 200, WantBody: list("1")},
		{Name: "by unknown profile", Method: "GET", Path: "/api/v2/device/profile/name/nosuch", Status: 200, WantBody: none},
		{Name: "by service", Method: "GET", Path: "/api/v2/device/service/name/device-rest", Status: 200, WantBody: list("1")},
		{Name: "by unknown service", Method: "GET", Path: "/api/v2/device/service/name/nosuch", Status: 200, WantBody: none},
		{Name: "by id is not a route", Method: "GET", Path: "/api/v2/device/id/" + deviceID, Status: 404, WantBody: "404 page not found\n"},
		{Name: "post to a name", Method: "POST", Path: "/api/v2/device/name/cam-1", Body: "[]", Status: 405},
	})
}

func TestPaging(t *testing.T) {
	h, log := mustMetadata(t)
	all := "/api/v2/device/all"
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "limit 0", Method: "GET", Path: all + "?limit=0", Status: 200, WantBody: `{"apiVersion":"v2","statusCode":200,"totalCount":1,"devices":[]}` + "\n"},
		{Name: "limit -1", Method: "GET", Path: all + "?limit=-1", Status: 200, Contains: []string{`"totalCount":1`, "cam-1"}},
		{Name: "limit -2", Method: "GET", Path: all + "?limit=-2", Status: 400, Contains: []string{`{"apiVersion":"v2","message":"querystring limit's value -2 is out of min -1 ~ max 1024 range.","statusCode":400,"errors":[`}},
		{Name: "limit 1025", Method: "GET", Path: all + "?limit=1025", Status: 400},
		{Name: "limit empty", Method: "GET", Path: all + "?limit=", Status: 400, Contains: []string{`{"apiVersion":"v2","message":"querystring limit's value \"\" is not a whole number from -1 to 1024; correct it or leave it out","statusCode":400,"errors":[{"path":"limit","value":"",`}},
		{Name: "limit x", Method: "GET", Path: all + "?limit=x", Status: 400},
		{Name: "offset -1", Method: "GET", Path: all + "?offset=-1", Status: 400},
		{Name: "offset over an int32", Method: "GET", Path: all + "?offset=99999999999", Status: 400, Contains: []string{`{"apiVersion":"v2","message":"querystring offset's value 99999999999 is out of min 0 ~ max 2147483647 range.","statusCode":400,"errors":[`}},
		{Name: "beyond the end", Method: "GET", Path: all + "?offset=500", Status: 416, WantBody: `{"apiVersion":"v2","message":"query objects bounds out of range. length:1","statusCode":416}` + "\n"},
	})
}

func TestAddDevice(t *testing.T) {
	h, log := mustMetadata(t)
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{
			Name: "two, a duplicate between them", Method: "POST", Path: "/api/v2/device", Status: 207, Submits: 1,
			Body: `[{"apiVersion":"V2","requestId":"` + requestID + `","device":` + device() + `},` +
				`{"apiVersion":"v2","device":` + device("name", `"cam-1"`) + `},` +
				`{"apiVersion":"v2","requestId":"","device":` + device("name", `"cam-3"`, "id", `"91d36d5c-95a0-4f82-a20f-47e4596d1cfd"`) + `}]`,
			WantBody: `[{"apiVersion":"v2","requestId":"` + requestID + `","statusCode":201,"id":"` + handlerstest.ID(2) + `"},` +
				`{"apiVersion":"v2","message":"device name \"cam-1\" exists already; choose another name or change the one that is there","statusCode":409},` +
				`{"apiVersion":"v2","statusCode":201,"id":"91d36d5c-95a0-4f82-a20f-47e4596d1cfd"}]` + "\n",
		},
		{
			Name: "every field", Method: "POST", Path: "/api/v2/device", Status: 207, Submits: 1,
			Body: batch("device", device("name", `"cam-4"`, "description", `"d"`, "labels", `["a"]`, "lastConnected", "5", "lastReported", "6",
				"location", `{"lat":1.50, "lng":[1,2]}`, "notify", "true", "unknownKey", "1",
				"autoEvents", `[{"interval":"10s","onChange":true,"sourceName":"zoom"}]`, "protocols", `{"modbus":{"Address":"1"},"x":{}}`)),
			Contains: []string{`"statusCode":201`}, Loose: "an unknown key",
		},
		{
			Name: "as it was given", Method: "GET", Path: "/api/v2/device/name/cam-4", Status: 200,
			Contains: []string{
				`"created":1795246925123,"modified":1795246925123,"id":"`,
				`"name":"cam-4","description":"d","adminState":"UNLOCKED","operatingState":"UP","lastConnected":5,"lastReported":6,"labels":["a"],` +
					`"location":{"lat":1.50,"lng":[1,2]},"serviceName":"device-rest","profileName":"camera","protocolName":"rest",` +
					`"autoEvents":[{"interval":"10s","onChange":true,"sourceName":"zoom"}],"protocols":{"modbus":{"Address":"1"},"x":{}}}}`,
			},
		},
		{Name: "location null", Method: "POST", Path: "/api/v2/device", Status: 207, Submits: 1, Body: batch("device", device("name", `"cam-null"`, "location", "null")), Contains: []string{`"statusCode":201`}},
		{Name: "is none", Method: "GET", Path: "/api/v2/device/name/cam-null", Status: 200, Contains: []string{`"operatingState":"UP","serviceName":"device-rest"`}},
		{
			Name: "missing service", Method: "POST", Path: "/api/v2/device", Status: 207, Submits: 1,
			Body:     batch("device", device("name", `"cam-5"`, "serviceName", `"nosuch"`)),
			Contains: []string{`device service \"nosuch\" does not exist; add it first or correct serviceName`, `"statusCode":404`},
		},
		{
			Name: "missing profile", Method: "POST", Path: "/api/v2/device", Status: 207, Submits: 1,
			Body:     batch("device", device("name", `"cam-5"`, "profileName", `"nosuch"`)),
			Contains: []string{`device profile \"nosuch\" does not exist; upload it first or correct profileName`, `"statusCode":404`},
		},
		{
			Name: "id taken", Method: "POST", Path: "/api/v2/device", Status: 207, Submits: 1,
			Body:     batch("device", device("name", `"cam-5"`, "id", `"`+deviceID+`"`)),
			Contains: []string{`"statusCode":409`},
		},
		{
			Name: "one twice in a batch", Method: "POST", Path: "/api/v2/device", Status: 207, Submits: 1,
			Body:     batch("device", device("name", `"cam-6"`), device("name", `"cam-6"`)),
			Contains: []string{`"statusCode":201`, `"statusCode":409`},
		},
		{
			Name: "content type does not matter", Method: "POST", Path: "/api/v2/device", Status: 207, Submits: 1,
			Header: []string{"Content-Type: text/xml"}, Body: batch("device", device("name", `"cam-7"`)), Contains: []string{`"statusCode":201`},
		},
		{
			Name: "bad UTF-8 becomes U+FFFD", Method: "POST", Path: "/api/v2/device", Status: 207, Submits: 1,
			Body: batch("device", device("name", `"cam-8"`, "description", "\"\xff\"")), Contains: []string{`"statusCode":201`},
		},
	})
	got := log.Recorded()[3].Stamp
	if got.Actor != "anonymous@192.0.2.1" || got.Origin != "192.0.2.1:1234" || got.EventID == "" || got.CorrelationID != handlerstest.ID(1) || !got.At.Equal(handlerstest.Now) {
		t.Errorf("stamp: got %+v", got)
	}
}

func TestUpdateDevice(t *testing.T) {
	h, log := mustMetadata(t)
	ok := `[{"apiVersion":"v2","statusCode":200}]` + "\n"
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "by name", Method: "PATCH", Path: "/api/v2/device", Body: batch("device", `{"name":"cam-1","description":"patched","adminState":"LOCKED","labels":[],"location":null}`), Status: 207, Submits: 1, WantBody: ok},
		{
			Name: "is so", Method: "GET", Path: "/api/v2/device/name/cam-1", Status: 200,
			Contains: []string{`"created":3,"modified":1795246925123,`, `"description":"patched","adminState":"LOCKED","operatingState":"UP","serviceName"`},
		},
		{Name: "by id", Method: "PATCH", Path: "/api/v2/device", Body: batch("device", `{"id":"`+deviceID+`","operatingState":"DOWN"}`), Status: 207, Submits: 1, WantBody: ok},
		{Name: "nothing new", Method: "PATCH", Path: "/api/v2/device", Body: batch("device", `{"name":"cam-1"}`), Status: 207, Submits: 1, WantBody: ok},
		{Name: "unknown name", Method: "PATCH", Path: "/api/v2/device", Body: batch("device", `{"name":"nosuch"}`), Status: 207, Submits: 1, Contains: []string{`"statusCode":404`}},
		{Name: "unknown id", Method: "PATCH", Path: "/api/v2/device", Body: batch("device", `{"id":"00000000-0000-4000-8000-00000000dead"}`), Status: 207, Submits: 1, Contains: []string{`"statusCode":404`}},
		{Name: "id of another", Method: "PATCH", Path: "/api/v2/device", Body: batch("device", `{"id":"`+deviceID+`","name":"cam-9"}`), Status: 207, Submits: 1, Contains: []string{`"statusCode":400`}},
		{Name: "missing profile", Method: "PATCH", Path: "/api/v2/device", Body: batch("device", `{"name":"cam-1","profileName":"nosuch"}`), Status: 207, Submits: 1, Contains: []string{`"statusCode":404`}},
		{Name: "bad state", Method: "PATCH", Path: "/api/v2/device", Body: batch("device", `{"name":"cam-1","operatingState":"X"}`), Status: 400, Contains: []string{`[0].device.operatingState: \"X\" is unknown; use one of UP, DOWN, UNKNOWN`}},
		{Name: "no protocols", Method: "PATCH", Path: "/api/v2/device", Body: batch("device", `{"name":"cam-1","protocols":{}}`), Status: 400, Contains: []string{`[0].device.protocols`}},
		{Name: "neither name nor id", Method: "PATCH", Path: "/api/v2/device", Body: `[{}]`, Status: 400, Contains: []string{`[0].apiVersion`, `[0].device.name: is missing, and so is id`}},
	})
}

func TestRemoveDevice(t *testing.T) {
	h, log := mustMetadata(t)
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "the profile is in use", Method: "DELETE", Path: "/api/v2/deviceprofile/name/camera", Status: 409, Submits: 1, Contains: []string{`profile \"camera\" is in use`}},
		{Name: "device", Method: "DELETE", Path: "/api/v2/device/name/cam-1", Status: 200, Submits: 1, WantBody: `{"apiVersion":"v2","statusCode":200}` + "\n"},
		{Name: "device again", Method: "DELETE", Path: "/api/v2/device/name/cam-1", Status: 404, Submits: 1},
		{Name: "profile", Method: "DELETE", Path: "/api/v2/deviceprofile/name/camera", Status: 200, Submits: 1},
		{Name: "profile again", Method: "DELETE", Path: "/api/v2/deviceprofile/name/camera", Status: 404, Submits: 1},
		{Name: "collection", Method: "DELETE", Path: "/api/v2/device", Status: 405},
	})
}

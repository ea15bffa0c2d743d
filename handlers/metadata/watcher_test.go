package metadata

import (
	"net/http"
	"testing"

	"ledge/domain"
	"ledge/handlers/handlerstest"
)

const (
	watcherID = "07795d39-caeb-5ae4-a41c-5890ddc2ff86"
	watchers  = "/api/v2/provisionwatcher"
)

// w1 is the watcher of mustWatch as it is shown.
const w1 = `{"created":4,"modified":4,"id":"` + watcherID + `","name":"w-1","labels":["lb"],"identifiers":{"address":"localhost","port":"3[0-9]{2}"},` +
	`"blockingIdentifiers":{"port":["397","398"]},"profileName":"camera","serviceName":"device-rest","adminState":"UNLOCKED"}`

// mustWatch returns core-metadata with a provision watcher beside what mustMetadata gives.
func mustWatch(tb testing.TB) (http.Handler, *handlerstest.Log) {
	tb.Helper()
	h, log := mustMetadata(tb)
	log.Given(tb, domain.AddWatcher{Watcher: domain.ProvisionWatcher{
		ID: watcherID, Name: "w-1", Labels: []string{"lb"}, Identifiers: map[string]string{"address": "localhost", "port": "3[0-9]{2}"},
		BlockingIdentifiers: map[string][]string{"port": {"397", "398"}}, ProfileName: "camera", ServiceName: "device-rest",
		AdminState: "UNLOCKED", Created: 4, Modified: 4,
	}})
	return h, log
}

// watcher is a provision watcher in JSON with fields changed or, with an empty value, left out.
func watcher(changes ...string) string {
	return object([]string{
		"name", `"w-2"`, "labels", `["lb"]`, "identifiers", `{"address":"localhost"}`, "blockingIdentifiers", `{"port":["397"]}`,
		"profileName", `"camera"`, "serviceName", `"device-rest"`, "adminState", `"UNLOCKED"`,
	}, changes)
}

func TestWatcherQueries(t *testing.T) {
	h, log := mustWatch(t)
	one := `{"apiVersion":"v2","statusCode":200,"totalCount":1,"provisionWatchers":[` + w1 + "]}\n"
	const none = `{"apiVersion":"v2","statusCode":200,"totalCount":0,"provisionWatchers":[]}` + "\n"
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "by name", Method: "GET", Path: watchers + "/name/w-1", Status: 200, WantBody: `{"apiVersion":"v2","statusCode":200,"provisionWatcher":` + w1 + "}\n"},
		{Name: "unknown", Method: "GET", Path: watchers + "/name/nosuch", Status: 404, Contains: []string{`provision watcher name \"nosuch\" does not exist; correct the name`, `"statusCode":404`}},
		{Name: "all", Method: "GET", Path: watchers + "/all", Status: 200, WantBody: one},
		{Name: "label", Method: "GET", Path: watchers + "/all?labels=lb", Status: 200, WantBody: one},
		{Name: "labels are all asked for", Method: "GET", Path: watchers + "/all?labels=lb,nosuch", Status: 200, WantBody: none},
		{Name: "limit 0", Method: "GET", Path: watchers + "/all?limit=0", Status: 200, WantBody: `{"apiVersion":"v2","statusCode":200,"totalCount":1,"provisionWatchers":[]}` + "\n"},
		{Name: "limit x", Method: "GET", Path: watchers + "/all?limit=x", Status: 400},
		{Name: "beyond the end", Method: "GET", Path: watchers + "/all?offset=99&labels=lb", Status: 416, WantBody: `{"apiVersion":"v2","message":"query objects bounds out of range. length:1","statusCode":416}` + "\n"},
		{Name: "by profile", Method: "GET", Path: watchers + "/profile/name/camera", Status: 200, WantBody: one},
		{Name: "by unknown profile", Method: "GET", Path: watchers + "/profile/name/nosuch", Status: 200, WantBody: none},
		{Name: "by profile, bad offset", Method: "GET", Path: watchers + "/profile/name/camera?offset=-1", Status: 400},
		{Name: "by service", Method: "GET", Path: watchers + "/service/name/device-rest", Status: 200, WantBody: one},
		{Name: "by unknown service", Method: "GET", Path: watchers + "/service/name/nosuch", Status: 200, WantBody: none},
		{Name: "by service, beyond the end", Method: "GET", Path: watchers + "/service/name/device-rest?offset=2", Status: 416},
		{Name: "put", Method: "PUT", Path: watchers, Body: "[]", Status: 405},
	})
}

func TestAddWatcher(t *testing.T) {
	h, log := mustWatch(t)
	post := func(name, body string, contains ...string) handlerstest.Scenario {
		return handlerstest.Scenario{Name: name, Method: "POST", Path: watchers, Body: body, Status: 207, Submits: 1, Contains: contains}
	}
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{
			Name: "two, a duplicate between them", Method: "POST", Path: watchers, Status: 207, Submits: 1,
			Body: `[{"apiVersion":"v2","requestId":"` + requestID + `","provisionWatcher":` + watcher("autoEvents", `[{"interval":"10s","onChange":true,"sourceName":"zoom"}]`) + `},` +
				`{"apiVersion":"v2","provisionWatcher":` + watcher("name", `"w-1"`) + `},` +
				`{"apiVersion":"v2","provisionWatcher":` + watcher("name", `"w-3"`, "id", `"91d36d5c-95a0-4f82-a20f-47e4596d1cfd"`) + `}]`,
			WantBody: `[{"apiVersion":"v2","requestId":"` + requestID + `","statusCode":201,"id":"` + handlerstest.ID(2) + `"},` +
				`{"apiVersion":"v2","message":"watcher name \"w-1\" exists already; choose another name or change the one that is there","statusCode":409},` +
				`{"apiVersion":"v2","statusCode":201,"id":"91d36d5c-95a0-4f82-a20f-47e4596d1cfd"}]` + "\n",
		},
		{
			Name: "as it was given", Method: "GET", Path: watchers + "/name/w-2", Status: 200,
			WantBody: `{"apiVersion":"v2","statusCode":200,"provisionWatcher":{"created":1795246925123,"modified":1795246925123,"id":"` + handlerstest.ID(2) + `",` +
				`"name":"w-2","labels":["lb"],"identifiers":{"address":"localhost"},"blockingIdentifiers":{"port":["397"]},"profileName":"camera",` +
				`"serviceName":"device-rest","adminState":"UNLOCKED","autoEvents":[{"interval":"10s","onChange":true,"sourceName":"zoom"}]}}` + "\n",
		},
		{
			Name: "key in lower case", Method: "POST", Path: watchers, Body: batch("provisionwatcher", watcher("name", `"w-4"`, "labels", "", "blockingIdentifiers", "")),
			Status: 207, Submits: 1, Contains: []string{`"statusCode":201`}, Loose: "a key that EdgeX's document has",
		},
		{Name: "what was left out is left out", Method: "GET", Path: watchers + "/name/w-4", Status: 200, Contains: []string{`"name":"w-4","identifiers":{"address":"localhost"},"profileName"`}},
		post("id taken", batch("provisionWatcher", watcher("name", `"w-5"`, "id", `"`+watcherID+`"`)), `"statusCode":409`),
		post("missing profile", batch("provisionWatcher", watcher("name", `"w-5"`, "profileName", `"nosuch"`)),
			`device profile \"nosuch\" does not exist; upload it first or correct profileName`, `"statusCode":404`),
		post("missing service", batch("provisionWatcher", watcher("name", `"w-5"`, "serviceName", `"nosuch"`)),
			`device service \"nosuch\" does not exist; add it first or correct serviceName`, `"statusCode":404`),
		{Name: "no elements", Method: "POST", Path: watchers, Body: "[]", Status: 207, WantBody: "null\n"},
	})
}

func TestBadWatchers(t *testing.T) {
	h, log := mustWatch(t)
	var scenarios []handlerstest.Scenario
	one := func(changes ...string) string { return batch("provisionWatcher", watcher(changes...)) }
	for _, b := range []struct{ name, body, want string }{
		{"malformed", `[{"apiVersion":"v2",`, "the body is no JSON"},
		{"empty body", "", "the body is empty; send an array"},
		{"number", "5", "the body is a number"},
		{"array of null", "[null]", "[0]: is null; give an object"},
		{"name missing", one("name", ""), "[0].provisionWatcher.name: is missing or empty"},
		{"name with a space", one("name", `"a b"`), `[0].provisionWatcher.name: \"a b\" has the character ' '`},
		{"id no UUID", one("id", `"x"`), `[0].provisionWatcher.id: \"x\" is no UUID`},
		{"identifiers missing", one("identifiers", ""), "[0].provisionWatcher.identifiers: is missing or empty"},
		{"identifiers empty", one("identifiers", "{}"), "[0].provisionWatcher.identifiers: is missing or empty"},
		{"identifiers a list", one("identifiers", "[]"), "[0].provisionWatcher.identifiers: a JSON array is not possible here; give an object"},
		{"identifier without a value", one("identifiers", `{"a":""}`), "[0].provisionWatcher.identifiers[a]: is missing or empty"},
		{"blocking identifier a string", one("blockingIdentifiers", `{"a":"b"}`), "a JSON string is not possible here; give an array"},
		{"profileName missing", one("profileName", ""), "[0].provisionWatcher.profileName: is missing or empty"},
		{"serviceName missing", one("serviceName", ""), "[0].provisionWatcher.serviceName: is missing or empty"},
		{"adminState unknown", one("adminState", `"X"`), `[0].provisionWatcher.adminState: \"X\" is unknown; use one of LOCKED, UNLOCKED`},
		{"autoEvent interval", one("autoEvents", `[{"interval":"10","sourceName":"zoom"}]`), "[0].provisionWatcher.autoEvents[0].interval"},
	} {
		scenarios = append(scenarios, handlerstest.Scenario{
			Name: b.name, Method: "POST", Path: watchers, Body: b.body, Status: 400, Contains: []string{b.want, `"statusCode":400`},
		})
	}
	handlerstest.Run(t, h, log, scenarios)
}

func TestUpdateWatcher(t *testing.T) {
	h, log := mustWatch(t)
	ok := `[{"apiVersion":"v2","statusCode":200}]` + "\n"
	patch := func(name, entity string, contains ...string) handlerstest.Scenario {
		s := handlerstest.Scenario{Name: name, Method: "PATCH", Path: watchers, Body: batch("provisionWatcher", entity), Status: 207, Submits: 1, Contains: contains}
		if contains == nil {
			s.WantBody = ok
		}
		return s
	}
	bad := func(name, entity, want string) handlerstest.Scenario {
		return handlerstest.Scenario{Name: name, Method: "PATCH", Path: watchers, Body: batch("provisionWatcher", entity), Status: 400, Contains: []string{want, `"statusCode":400`}}
	}
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		patch("by name", `{"name":"w-1","labels":[],"adminState":"LOCKED","identifiers":{"a":"b"},"blockingIdentifiers":{}}`),
		{
			Name: "is so", Method: "GET", Path: watchers + "/name/w-1", Status: 200,
			WantBody: `{"apiVersion":"v2","statusCode":200,"provisionWatcher":{"created":4,"modified":1795246925123,"id":"` + watcherID + `",` +
				`"name":"w-1","identifiers":{"a":"b"},"profileName":"camera","serviceName":"device-rest","adminState":"LOCKED"}}` + "\n",
		},
		{Name: "its label is gone", Method: "GET", Path: watchers + "/all?labels=lb", Status: 200, Contains: []string{`"totalCount":0`}},
		patch("by id", `{"id":"`+watcherID+`","adminState":"UNLOCKED"}`),
		patch("unknown name", `{"name":"nosuch"}`, `"statusCode":404`),
		patch("unknown id", `{"id":"00000000-0000-4000-8000-00000000dead"}`, `"statusCode":404`),
		patch("id of another", `{"id":"`+watcherID+`","name":"w-9"}`, `"statusCode":400`),
		patch("missing profile", `{"name":"w-1","profileName":"nosuch"}`, `"statusCode":404`),
		patch("missing service", `{"name":"w-1","serviceName":"nosuch"}`, `"statusCode":404`),
		bad("neither name nor id", `{"adminState":"LOCKED"}`, "[0].provisionWatcher.name: is missing, and so is id"),
		bad("bad state", `{"name":"w-1","adminState":"X"}`, "[0].provisionWatcher.adminState"),
		bad("no identifiers", `{"name":"w-1","identifiers":{}}`, "[0].provisionWatcher.identifiers: is empty"),
		bad("empty profileName", `{"name":"w-1","profileName":""}`, "[0].provisionWatcher.profileName: is missing or empty"),
	})
	before := len(log.Recorded())
	handlerstest.Run(t, h, log, []handlerstest.Scenario{patch("nothing new", `{"name":"w-1","adminState":"UNLOCKED"}`)})
	if n := len(log.Recorded()); n != before {
		t.Errorf("events: got %d more", n-before)
	}
}

func TestRemoveWatcher(t *testing.T) {
	h, log := mustWatch(t)
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "the device goes first", Method: "DELETE", Path: "/api/v2/device/name/cam-1", Status: 200, Submits: 1},
		{Name: "the profile is in use", Method: "DELETE", Path: "/api/v2/deviceprofile/name/camera", Status: 409, Submits: 1, Contains: []string{`profile \"camera\" is in use`}},
		{Name: "the service is in use", Method: "DELETE", Path: "/api/v2/deviceservice/name/device-rest", Status: 409, Submits: 1, Contains: []string{`service \"device-rest\" is in use`}},
		{Name: "watcher", Method: "DELETE", Path: watchers + "/name/w-1", Status: 200, Submits: 1, WantBody: `{"apiVersion":"v2","statusCode":200}` + "\n"},
		{Name: "watcher again", Method: "DELETE", Path: watchers + "/name/w-1", Status: 404, Submits: 1, Contains: []string{`watcher \"w-1\" does not exist`}},
		{Name: "collection", Method: "DELETE", Path: watchers, Status: 405},
		{Name: "service", Method: "DELETE", Path: "/api/v2/deviceservice/name/device-rest", Status: 200, Submits: 1},
		{Name: "profile", Method: "DELETE", Path: "/api/v2/deviceprofile/name/camera", Status: 200, Submits: 1},
	})
}

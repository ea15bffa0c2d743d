package devicerest

import (
	"fmt"
	"strings"
	"testing"

	"ledge/handlers"
	"ledge/handlers/handlerstest"
)

const requestID = "6623c328-0620-5a9d-8127-b348c5933d07"

// about is the body of a callback about the entity under key.
func about(key, entity string) string {
	return fmt.Sprintf(`{"apiVersion":"v2","requestId":%q,%q:%s}`, requestID, key, entity)
}

func callback(name, method, path, body string, status int, message string) handlerstest.Scenario {
	s := handlerstest.Scenario{Name: method + " " + path + " " + name, Method: method, Path: "/api/v2/" + path, Body: body, Status: status}
	switch {
	case status == 200 && body != "":
		s.WantBody = `{"apiVersion":"v2","requestId":"` + requestID + `","statusCode":200}` + "\n"
	case status == 200:
		s.WantBody = `{"apiVersion":"v2","statusCode":200}` + "\n"
	default:
		s.Contains = []string{message}
	}
	return s
}

func TestCallbacks(t *testing.T) {
	h, logs := exemplary(t, func(*handlers.Options) {})
	log := logs[0]
	const (
		device  = `{"name":%q,"adminState":"UNLOCKED","operatingState":"UP","serviceName":"device-rest","profileName":"p","protocolName":"rest","protocols":{"other":{}}}`
		watcher = `{"name":%q,"identifiers":{"a":"b"},"profileName":"p","serviceName":"device-rest","adminState":"UNLOCKED"}`
		patch   = `{"name":%q,"adminState":"LOCKED"}`
		profile = `{"name":%q}`
	)
	before := len(log.Recorded())
	for _, c := range []struct{ method, path, key, entity, known, unknown string }{
		{"POST", "callback/device", "device", device, "cam-1", "nosuch"},
		{"PUT", "callback/device", "device", patch, "cam-1", "nosuch"},
		{"PUT", "callback/profile", "profile", profile, "all", "nosuch"},
		{"PUT", "callback/service", "service", patch, "device-rest", "device-virtual"},
		{"POST", "callback/watcher", "provisionWatcher", watcher, "floor-2", "nosuch"},
		{"PUT", "callback/watcher", "provisionWatcher", patch, "floor-2", "nosuch"},
		{"POST", "validate/device", "device", device, "nosuch", ""},
	} {
		body := func(name string) string { return about(c.key, fmt.Sprintf(c.entity, name)) }
		most := 4 << 20
		if c.key == "profile" {
			most = 10 << 20
		}
		scenarios := []handlerstest.Scenario{
			callback("known", c.method, c.path, body(c.known), 200, ""),
			callback("no name", c.method, c.path, body(""), 400, c.key+".name: is missing or empty"),
			callback("no entity", c.method, c.path, about("other", "{}"), 400, "other: is an unknown key; write"),
			callback("other version", c.method, c.path, strings.Replace(body(c.known), "v2", "v3", 1), 400, `apiVersion: \"v3\" is unknown here`),
			callback("an array", c.method, c.path, "["+body(c.known)+"]", 400, "a JSON array is not possible here"),
			callback("no JSON", c.method, c.path, body(c.known)+"x", 400, "the body is no JSON: invalid character 'x' after top-level value at line 1, column "),
			callback("another type", c.method, c.path, about(c.key, `{"name":1}`), 400, "body."+c.key+".name: a JSON number is not possible here"),
			callback("too many entries", c.method, c.path, about(c.key, `{"labels":[`+strings.Repeat("{},", 200_000)+`{}]}`), 413, "the entries of lists and objects take "),
			callback("too long", c.method, c.path, about(c.key, `{"description":"`+strings.Repeat("x", most)+`"}`), 413, fmt.Sprintf("over the limit of %d bytes", most)),
		}
		if c.unknown != "" {
			scenarios = append(scenarios, callback("unknown", c.method, c.path, body(c.unknown), 404, c.key+` \"`+c.unknown+`\" is not known here`))
		}
		if c.entity == patch {
			scenarios = append(scenarios, callback("by id", c.method, c.path, about(c.key, `{"id":"`+requestID+`"}`), 400, c.key+".name: is missing or empty"),
				callback("unknown state", c.method, c.path, about(c.key, `{"name":"x","adminState":"OPEN"}`), 400, c.key+`.adminState: \"OPEN\" is unknown`))
		}
		handlerstest.Run(t, h, log, scenarios)
	}
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		callback("known", "DELETE", "callback/device/name/cam-1", "", 200, ""),
		callback("unknown", "DELETE", "callback/device/name/nosuch", "", 404, `device \"nosuch\" is not known here`),
		callback("known", "DELETE", "callback/watcher/name/floor-2", "", 200, ""),
		callback("unknown", "DELETE", "callback/watcher/name/nosuch", "", 404, `provisionWatcher \"nosuch\" is not known here`),
		callback("no protocol name", "POST", "validate/device", about("device", `{"name":"d","adminState":"UNLOCKED","operatingState":"UP","serviceName":"device-rest","profileName":"p","protocols":{"other":{}}}`),
			400, "device.protocolName: is missing"),
		{Name: "what was told of is as it was", Method: "GET", Path: "/api/v2/device/name/cam-1/vInt32", Status: 500},
	})
	if n := len(log.Recorded()); n != before || log.Submits() != 0 {
		t.Errorf("traces: %d events, %d submits", n-before, log.Submits())
	}
}

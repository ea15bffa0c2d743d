package metadata

import (
	"strings"
	"testing"

	"ledge/handlers"
	"ledge/handlers/handlerstest"
)

const (
	restID   = "d52b26b5-1e62-52d0-b2c9-9781a1393aea"
	services = "/api/v2/deviceservice"
)

func TestUpdateService(t *testing.T) {
	h, log := mustMetadata(t)
	patch := func(name, entity string, contains ...string) handlerstest.Scenario {
		s := handlerstest.Scenario{Name: name, Method: "PATCH", Path: services, Body: batch("service", entity), Status: 207, Submits: 1, Contains: contains}
		if contains == nil {
			s.WantBody = `[{"apiVersion":"v2","statusCode":200}]` + "\n"
		}
		return s
	}
	bad := func(name, body, want string) handlerstest.Scenario {
		return handlerstest.Scenario{Name: name, Method: "PATCH", Path: services, Body: body, Status: 400, Contains: []string{want, `"statusCode":400`}}
	}
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		patch("by name", `{"name":"device-rest","description":"patched","labels":["a"],"baseAddress":"http://h:1","adminState":"LOCKED"}`),
		{
			Name: "is so", Method: "GET", Path: services + "/name/device-rest", Status: 200,
			WantBody: `{"apiVersion":"v2","statusCode":200,"service":{"created":1,"modified":1795246925123,"id":"` + restID + `","name":"device-rest",` +
				`"description":"patched","labels":["a"],"baseAddress":"http://h:1","adminState":"LOCKED"}}` + "\n",
		},
		{Name: "found by its label", Method: "GET", Path: services + "/all?labels=a", Status: 200, Contains: []string{`"totalCount":1`}},
		patch("when it was heard of", `{"name":"device-rest","lastConnected":1795246925000,"lastReported":1795246925001}`),
		{
			Name: "shows that", Method: "GET", Path: services + "/name/device-rest", Status: 200,
			Contains: []string{`"lastConnected":1795246925000,"lastReported":1795246925001`},
		},
		patch("by id", `{"id":"`+restID+`","adminState":"UNLOCKED"}`),
		patch("unknown name", `{"name":"nosuch","description":"x"}`, `service \"nosuch\" does not exist`, `"statusCode":404`),
		patch("unknown id", `{"id":"00000000-0000-4000-8000-00000000dead"}`, `"statusCode":404`),
		patch("id of another", `{"id":"`+restID+`","name":"nosuch"}`, `"statusCode":400`),
		bad("object", `{"apiVersion":"v2"}`, "the body is an object; send an array of objects"),
		bad("neither name nor id", batch("service", `{"adminState":"LOCKED"}`), "[0].service.name: is missing, and so is id"),
		bad("bad state", batch("service", `{"name":"device-rest","adminState":"X"}`), `[0].service.adminState: \"X\" is unknown`),
		bad("bad address", batch("service", `{"name":"device-rest","baseAddress":"not a uri"}`), "[0].service.baseAddress"),
	})
	before := len(log.Recorded())
	handlerstest.Run(t, h, log, []handlerstest.Scenario{patch("nothing new", `{"name":"device-rest","adminState":"UNLOCKED"}`)})
	if n := len(log.Recorded()); n != before {
		t.Errorf("events: got %d more", n-before)
	}
}

// A service is not taken at an address where it may not be called.
func TestServiceAtARefusedAddress(t *testing.T) {
	h, log := mustMetadata(t, func(o *handlers.Options) { o.Devices = &picky{} })
	const bad = `{"name":"svc","baseAddress":"http://bad:1","adminState":"UNLOCKED"}`
	refused := func(method string) handlerstest.Scenario {
		return handlerstest.Scenario{Name: method, Method: method, Path: services, Body: batch("service", bad), Status: 400, Contains: []string{`[0].service.baseAddress: no http://bad:1`, `"statusCode":400`}}
	}
	added := refused("POST")
	added.Body, added.Status, added.Submits, added.Contains = batch("service", strings.Replace(bad, "bad", "fine", 1)), 207, 1, []string{`"statusCode":201`}
	handlerstest.Run(t, h, log, []handlerstest.Scenario{refused("POST"), added, refused("PATCH")})
}

func TestRemoveService(t *testing.T) {
	h, log := mustMetadata(t)
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "in use", Method: "DELETE", Path: services + "/name/device-rest", Status: 409, Submits: 1, Contains: []string{`service \"device-rest\" is in use`, `"statusCode":409`}},
		{Name: "device", Method: "DELETE", Path: "/api/v2/device/name/cam-1", Status: 200, Submits: 1},
		{Name: "service", Method: "DELETE", Path: services + "/name/device-rest", Status: 200, Submits: 1, WantBody: `{"apiVersion":"v2","statusCode":200}` + "\n"},
		{Name: "again", Method: "DELETE", Path: services + "/name/device-rest", Status: 404, Submits: 1},
		{Name: "is gone", Method: "GET", Path: services + "/name/device-rest", Status: 404},
		{Name: "collection", Method: "DELETE", Path: services, Status: 405},
	})
}

package notifications

import (
	"slices"
	"strings"
	"testing"

	"ledge/domain"
	"ledge/handlers/handlerstest"
)

const subscriptions = "/api/v2/subscription"

// subscription is an element in JSON, with old replaced by new.
func subscription(replace ...string) string {
	return strings.NewReplacer(replace...).Replace(`{"apiVersion":"V2","subscription":{"name":"s-2","description":"d",` +
		`"channels":[{"type":"ZeroMQ","host":"*","port":5564,"topic":"t","publisher":"p"}],"categories":["DEVICE_CHANGED"],"labels":["l"],` +
		`"receiver":"till","adminState":"UNLOCKED"}}`)
}

func TestSubscriptions(t *testing.T) {
	f := mustNotifications(t)
	const s1 = `{"created":1,"modified":1,"id":"` + subscriptionID + `","name":"s-1","channels":[{"type":"ZeroMQ","host":"*","port":5563,"topic":"t"}],` +
		`"receiver":"till","categories":["DEVICE_CHANGED"],"description":"sub","adminState":"UNLOCKED"}`
	handlerstest.Run(t, f, f.events, []handlerstest.Scenario{
		{Name: "get", Method: "GET", Path: subscriptions + "/name/s-1", Status: 200, WantBody: `{"apiVersion":"v2","statusCode":200,"subscription":` + s1 + "}\n"},
		{Name: "get unknown", Method: "GET", Path: subscriptions + "/name/nosuch", Status: 404, Contains: []string{`subscription name \"nosuch\" does not exist`}},
		{Name: "all", Method: "GET", Path: subscriptions + "/all", Status: 200, WantBody: `{"apiVersion":"v2","statusCode":200,"totalCount":1,"subscriptions":[` + s1 + "]}\n"},
		{Name: "all, limit 0", Method: "GET", Path: subscriptions + "/all?limit=0", Status: 200, WantBody: `{"apiVersion":"v2","statusCode":200,"totalCount":1,"subscriptions":[]}` + "\n"},
		{Name: "add two", Method: "POST", Path: subscriptions, Body: "[" + subscription() + "," + subscription("s-2", "s-1", "5564", "5565") + "]", Status: 207, Submits: 1, Contains: []string{`[{"apiVersion":"v2","statusCode":201,"id":"`, `subscription name \"s-1\" exists already`, `"statusCode":409`}},
		{Name: "added", Method: "GET", Path: subscriptions + "/name/s-2", Status: 200, Contains: []string{`"channels":[{"type":"ZeroMQ","host":"*","port":5564,"topic":"t","publisher":"p"}],"receiver":"till","categories":["DEVICE_CHANGED"],"labels":["l"],"description":"d","adminState":"UNLOCKED"}`}},
		{Name: "patch", Method: "PATCH", Path: subscriptions, Body: `[{"apiVersion":"v2","subscription":{"name":"s-2","resendLimit":5,"resendInterval":"300ms"}}]`, Status: 207, Submits: 1, WantBody: `[{"apiVersion":"v2","statusCode":200}]` + "\n"},
		{Name: "patched", Method: "GET", Path: subscriptions + "/name/s-2", Status: 200, Contains: []string{`"description":"d","resendLimit":5,"resendInterval":"300ms","adminState":"UNLOCKED"}`}},
		{Name: "patch unknown", Method: "PATCH", Path: subscriptions, Body: `[{"apiVersion":"v2","subscription":{"name":"nosuch"}}]`, Status: 207, Submits: 1, Contains: []string{`"statusCode":404`}},
		{Name: "patch id of another", Method: "PATCH", Path: subscriptions, Body: `[{"apiVersion":"v2","subscription":{"id":"` + subscriptionID + `","name":"s-2"}}]`, Status: 207, Submits: 1, Contains: []string{`"statusCode":400`}},
		{Name: "delete", Method: "DELETE", Path: subscriptions + "/name/s-2", Status: 200, Submits: 1, WantBody: `{"apiVersion":"v2","statusCode":200}` + "\n"},
		{Name: "delete again", Method: "DELETE", Path: subscriptions + "/name/s-2", Status: 404, Submits: 1},
		{Name: "misspelled category", Method: "POST", Path: subscriptions, Body: "[" + subscription("s-2", "s-3", "5564", "5566", "DEVICE_CHANGED", "DEVICE_CHANGE") + "]", Status: 207, Submits: 1,
			Contains: []string{`"message":"no notification has the category \"DEVICE_CHANGE\" yet; did you mean DEVICE_CHANGED?","statusCode":201`}},
		{Name: "patch to a category of nobody", Method: "PATCH", Path: subscriptions, Body: `[{"apiVersion":"v2","subscription":{"name":"s-3","categories":["harvest","DEVICE_CHANGED"]}}]`, Status: 207, Submits: 1,
			WantBody: `[{"apiVersion":"v2","message":"no notification has the category \"harvest\" yet","statusCode":200}]` + "\n"},
		{Name: "misspelled key", Method: "PATCH", Path: subscriptions, Body: `[{"apiVersion":"v2","subscription":{"name":"s-3","adminstat":"LOCKED"}}]`, Status: 400,
			Contains: []string{`[0].subscription.adminstat: is an unknown key; did you mean adminState?`}},
		{Name: "put", Method: "PUT", Path: subscriptions, Body: "[]", Status: 405},
		{Name: "empty", Method: "POST", Path: subscriptions, Body: "[]", Status: 207, WantBody: "null\n"},
	})
}

func TestBadSubscriptions(t *testing.T) {
	f := mustNotifications(t)
	var scenarios []handlerstest.Scenario
	for _, b := range []struct{ name, body, want string }{
		{"malformed", "[{", "the body is no JSON"},
		{"nothing", "[{}]", "[0].subscription.channels: is missing or empty"},
		{"no channels", "[" + subscription(`{"type":"ZeroMQ","host":"*","port":5564,"topic":"t","publisher":"p"}`, "") + "]", "[0].subscription.channels: is missing"},
		{"unknown channel", "[" + subscription("ZeroMQ", "PIGEON") + "]", `[0].subscription.channels[0].type: \"PIGEON\" is unknown`},
		{"no host", "[" + subscription(`"*"`, `""`) + "]", "[0].subscription.channels[0].host"},
		{"port 0", "[" + subscription("5564", "0") + "]", "[0].subscription.channels[0].port: 0 is not a TCP port"},
		{"port a string", "[" + subscription("5564", `"5564"`) + "]", "[0].subscription.channels[0].port: a JSON string is not possible here; give a whole number of 64 bits"},
		{"no topic", "[" + subscription(`"topic":"t",`, "") + "]", "[0].subscription.channels[0].topic"},
		{"bad category", "[" + subscription("DEVICE_CHANGED", "a b") + "]", "[0].subscription.categories[0]"},
		{"no receiver", "[" + subscription(`"receiver":"till",`, "") + "]", "[0].subscription.receiver"},
		{"no adminState", "[" + subscription(`,"adminState":"UNLOCKED"`, "") + "]", "[0].subscription.adminState"},
		{"a bad one after a good one", "[" + subscription() + "," + subscription("s-2", "") + "]", "[1].subscription.name"},
	} {
		scenarios = append(scenarios, handlerstest.Scenario{Name: b.name, Method: "POST", Path: subscriptions, Body: b.body, Status: 400, Contains: []string{b.want}})
	}
	scenarios = append(scenarios, handlerstest.Scenario{
		Name: "patch without channels", Method: "PATCH", Path: subscriptions, Status: 400,
		Body: `[{"apiVersion":"v2","subscription":{"name":"s-1","channels":[]}}]`, Contains: []string{"[0].subscription.channels: is empty"},
	})
	handlerstest.Run(t, f, f.events, scenarios)
	if len(f.ports.reserved) != 0 {
		t.Errorf("reserved: got %v", f.ports.reserved)
	}
}

func TestReserve(t *testing.T) {
	const patch = `[{"apiVersion":"v2","subscription":{"name":"s-1","description":"d"}}]`
	const patchChannels = `[{"apiVersion":"v2","subscription":{"name":"s-1","channels":[{"type":"ZeroMQ","host":"*","port":9,"topic":"t"}]}}]`
	for _, c := range []struct {
		name, method, body string
		fail               error
		status, submits    int
		done               []uint64
		contains           string
	}{
		{"recorded", "POST", "[" + subscription() + "]", nil, 207, 1, []uint64{2}, "201"},
		{"refused", "POST", "[" + subscription("s-2", "s-1") + "]", nil, 207, 1, []uint64{0}, "409"},
		{"taken", "POST", "[" + subscription("5564", "1") + "]", nil, 207, 0, nil, `"message":"port 1 is taken; choose another","statusCode":409`},
		{"one taken", "POST", "[" + subscription("5564", "1") + "," + subscription() + "]", nil, 207, 1, []uint64{2}, `"statusCode":409},{"apiVersion":"v2","statusCode":201`},
		{"log fails", "POST", "[" + subscription() + "]", domain.Errorf(domain.Unavailable, "stopping"), 503, 1, []uint64{0}, "stopping"},
		{"patch without channels", "PATCH", patch, nil, 207, 1, nil, "200"},
		{"patch with channels", "PATCH", patchChannels, nil, 207, 1, []uint64{2}, "200"},
		{"patch that changes nothing", "PATCH", strings.Replace(patchChannels, "9", "5563", 1), nil, 207, 1, []uint64{0}, "200"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := mustNotifications(t)
			f.events.Fail = c.fail
			f.events.Before = func() {
				if f.ports.held == 0 && c.done != nil {
					t.Error("submitted before the channels were held")
				}
			}
			handlerstest.Run(t, f, f.events, []handlerstest.Scenario{
				{Name: "request", Method: c.method, Path: subscriptions, Body: c.body, Status: c.status, Submits: c.submits, Contains: []string{c.contains}},
			})
			if !slices.Equal(f.ports.done, c.done) || f.ports.held != 0 {
				t.Errorf("done: got %v, want %v; %d held", f.ports.done, c.done, f.ports.held)
			}
		})
	}
}

func TestReserveIsUndoneByAPanic(t *testing.T) {
	f := mustNotifications(t)
	f.events.Before = func() { panic("boom") }
	w := handlerstest.Serve(f, "POST", subscriptions, "["+subscription()+"]")
	if w.Code != 500 || strings.Contains(w.Body.String(), "boom") || f.ports.held != 0 || !slices.Equal(f.ports.done, []uint64{0}) {
		t.Errorf("got %d %s; %d held, done %v", w.Code, w.Body, f.ports.held, f.ports.done)
	}
}

package notifications

import (
	"strings"
	"testing"

	"ledge/handlers/handlerstest"
)

// zeroMQ is the channel of subscription.
const zeroMQ = `{"type":"ZeroMQ","host":"*","port":5564,"topic":"t","publisher":"p"}`

// everyType is one channel of each type, with all its fields, as it is shown.
var everyType = []string{
	`{"type":"REST","host":"127.0.0.1","port":42089,"path":"/hook/ok","httpMethod":"POST"}`,
	`{"type":"REST","scheme":"https","host":"till","port":443,"httpMethod":"PUT"}`,
	`{"type":"EMAIL","host":"","port":0,"recipients":["a@example.com","b@example.com"]}`,
	`{"type":"MQTT","scheme":"ssl","host":"broker","port":8883,"topic":"alarms","publisher":"ledge","qos":1,"keepAlive":60,"retained":true,` +
		`"autoReconnect":true,"connectTimeout":5,"secretPath":"mqtt","authMode":"usernamepassword","skipCertVerify":true}`,
	zeroMQ,
	`{"type":"ZeroMQ","host":"*","port":5564,"topic":"t","allow":["10.0.0.0/8","::1"]}`,
	`{"type":"ZeroMQ","host":"*","port":5564,"topic":"t","clientKeys":["wQmbA3Dm6zY.v@mEV+WT98:2i3u6R.3rF57PVf.m"],"serverKey":"the server's key"}`,
}

func TestChannelShapes(t *testing.T) {
	f := mustNotifications(t)
	all := strings.Join(everyType, ",")
	const patch = `[{"apiVersion":"v2","subscription":{"name":"s-2","channels":[{"type":"EMAIL","host":"h","port":9,"topic":"t","recipients":["a@example.com"]}]}}]`
	handlerstest.Run(t, f, f.events, []handlerstest.Scenario{
		{Name: "add", Method: "POST", Path: subscriptions, Body: "[" + subscription(zeroMQ, all) + "]", Status: 207, Submits: 1, Contains: []string{`"statusCode":201`}},
		{Name: "get", Method: "GET", Path: subscriptions + "/name/s-2", Status: 200, Contains: []string{`"channels":[` + all + "]"}},
		{Name: "patch drops what the type does not use", Method: "PATCH", Path: subscriptions, Body: patch, Status: 207, Submits: 1, Contains: []string{`"statusCode":200`}},
		{Name: "patched", Method: "GET", Path: subscriptions + "/name/s-2", Status: 200, Contains: []string{`"channels":[{"type":"EMAIL","host":"","port":0,"recipients":["a@example.com"]}]`}},
	})
}

func TestBadChannels(t *testing.T) {
	f := mustNotifications(t)
	var scenarios []handlerstest.Scenario
	for _, b := range []struct{ name, channel, want string }{
		{"REST without a method", `{"type":"REST","host":"h","port":1}`, "[0].subscription.channels[0].httpMethod: is missing"},
		{"REST with an unknown method", `{"type":"REST","host":"h","port":1,"httpMethod":"FETCH"}`, `[0].subscription.channels[0].httpMethod: \"FETCH\" is unknown`},
		{"e-mail to nobody", `{"type":"EMAIL"}`, "[0].subscription.channels[0].recipients: is missing"},
		{"e-mail to no address", `{"type":"EMAIL","recipients":["nope"]}`, `[0].subscription.channels[0].recipients[0]: \"nope\" is not an e-mail address`},
		{"MQTT without a topic", `{"type":"MQTT","host":"h","port":1,"publisher":"p"}`, "[0].subscription.channels[0].topic: is missing"},
		{"a host's name allowed", `{"type":"ZeroMQ","host":"*","port":5564,"topic":"t","allow":["till"]}`, `[0].subscription.channels[0].allow[0]: \"till\" is neither a network nor an address`},
		{"a bad client key", `{"type":"ZeroMQ","host":"*","port":5564,"topic":"t","clientKeys":["till"]}`, `[0].subscription.channels[0].clientKeys[0]: \"till\" is not a public key of CURVE`},
		{"allow a string", `{"type":"ZeroMQ","host":"*","port":5564,"topic":"t","allow":"::1"}`, "[0].subscription.channels[0].allow: a JSON string is not possible here"},
		{"qos a string", `{"type":"MQTT","host":"h","port":1,"qos":"1"}`, "[0].subscription.channels[0].qos: a JSON string is not possible here"},
	} {
		scenarios = append(scenarios, handlerstest.Scenario{
			Name: b.name, Method: "POST", Path: subscriptions, Body: "[" + subscription(zeroMQ, b.channel) + "]", Status: 400, Contains: []string{b.want},
		})
	}
	handlerstest.Run(t, f, f.events, scenarios)
}

func TestSubscriptionLists(t *testing.T) {
	f := mustNotifications(t)
	add := subscription("s-2", "s-2", "DEVICE_CHANGED", "FIRE") + "," + subscription("s-2", "s-3", `"labels":["l"]`, `"labels":["l","m"]`, "5564", "5565", "till", "guards")
	const empty = `{"apiVersion":"v2","statusCode":200,"totalCount":0,"subscriptions":[]}` + "\n"
	list := func(name, path, count string, want ...string) handlerstest.Scenario {
		return handlerstest.Scenario{Name: name, Method: "GET", Path: subscriptions + path, Status: 200, Contains: append(want, `"totalCount":`+count+`,"subscriptions":[`)}
	}
	handlerstest.Run(t, f, f.events, []handlerstest.Scenario{
		{Name: "add", Method: "POST", Path: subscriptions, Body: "[" + add + "]", Status: 207, Submits: 1},
		list("by category", "/category/DEVICE_CHANGED", "2", `"name":"s-3"`, `"name":"s-1"`),
		list("by another category", "/category/FIRE", "1", `"name":"s-2"`),
		list("by label", "/label/m", "1", `"name":"s-3"`),
		list("by label, a page", "/label/l?limit=1&offset=1", "2", `"name":"s-2"`),
		list("by receiver", "/receiver/till", "2", `"name":"s-2"`, `"name":"s-1"`),
		{Name: "unknown category", Method: "GET", Path: subscriptions + "/category/none", Status: 200, WantBody: empty},
		{Name: "unknown label", Method: "GET", Path: subscriptions + "/label/none", Status: 200, WantBody: empty},
		{Name: "unknown receiver", Method: "GET", Path: subscriptions + "/receiver/none", Status: 200, WantBody: empty},
		{Name: "beyond", Method: "GET", Path: subscriptions + "/receiver/till?offset=3", Status: 416, Contains: []string{`"statusCode":416`}},
		{Name: "bad limit", Method: "GET", Path: subscriptions + "/label/l?limit=x", Status: 400, Contains: []string{`limit's value \"x\" is not a whole number`}},
		{Name: "delete a list", Method: "DELETE", Path: subscriptions + "/label/l", Status: 405},
	})
}

package notifications

import (
	"strings"
	"testing"

	"ledge/domain"
	"ledge/handlers/handlerstest"
)

const notifications = "/api/v2/notification"

// notification is an element in JSON, with old replaced by new.
func notification(replace ...string) string {
	return strings.NewReplacer(replace...).Replace(`{"apiVersion":"v2","notification":{"category":"c-1","content":"{\"a\":1}",` +
		`"contentType":"application/json","description":"nd","labels":["l"],"sender":"me","severity":"NORMAL"}}`)
}

func TestNotifications(t *testing.T) {
	f := mustNotifications(t)
	const id = "6877ff35-5566-5d14-a992-79fbb18d8d4a"
	withID := notification(`"category"`, `"id":"`+id+`","status":"ESCALATED","created":5,"category"`)
	handlerstest.Run(t, f, f.notices, []handlerstest.Scenario{
		{Name: "add", Loose: "a time in a request", Method: "POST", Path: notifications, Body: "[" + withID + "]", Status: 207, Submits: 1, WantBody: `[{"apiVersion":"v2","statusCode":201,"id":"` + id + `"}]` + "\n"},
		{
			Name: "get", Method: "GET", Path: notifications + "/id/" + id, Status: 200,
			WantBody: `{"apiVersion":"v2","statusCode":200,"notification":{"created":1795246925123,"modified":1795246925123,"id":"` + id + `","category":"c-1","labels":["l"],` +
				`"content":"{\"a\":1}","contentType":"application/json","description":"nd","sender":"me","severity":"NORMAL","status":"NEW"}}` + "\n",
		},
		{Name: "id taken", Loose: "a time in a request", Method: "POST", Path: notifications, Body: "[" + withID + "]", Status: 207, Submits: 1, Contains: []string{`"statusCode":409`}},
		{Name: "add two", Method: "POST", Path: notifications, Body: "[" + notification() + "," + notification() + "]", Status: 207, Submits: 1, Contains: []string{`[{"apiVersion":"v2","statusCode":201,"id":"`, `"},{"apiVersion":"v2","statusCode":201,"id":"`}},
		{Name: "get unknown", Method: "GET", Path: notifications + "/id/00000000-0000-4000-8000-00000000dead", Status: 404, Contains: []string{"notification id"}},
		{Name: "get the collection", Method: "GET", Path: notifications, Status: 405},
		{Name: "patch", Method: "PATCH", Path: notifications, Body: "[]", Status: 405},
	})
	if n := f.events.Submits(); n != 0 {
		t.Errorf("submitted to the stream of subscriptions: %d", n)
	}
}

// What Ledge knows of a notification beside EdgeX's fields is not shown.
func TestNotificationHidesCause(t *testing.T) {
	f := mustNotifications(t)
	f.notices.Given(t, domain.AddNotification{Notification: domain.Notification{
		ID: handlerstest.ID(99), Category: "DEVICE_CHANGED", Content: "{}", Sender: "ledge", Severity: "NORMAL", Status: "NEW",
		Cause: 7, Matched: []string{"s-1"}, Created: 1, Modified: 1,
	}})
	got := handlerstest.Serve(f, "GET", notifications+"/id/"+handlerstest.ID(99), "").Body.String()
	want := `{"apiVersion":"v2","statusCode":200,"notification":{"created":1,"modified":1,"id":"` + handlerstest.ID(99) +
		`","category":"DEVICE_CHANGED","content":"{}","sender":"ledge","severity":"NORMAL","status":"NEW"}}` + "\n"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestBadNotifications(t *testing.T) {
	f := mustNotifications(t)
	var scenarios []handlerstest.Scenario
	for _, b := range []struct{ name, body, want string }{
		{"object", `{"apiVersion":"v2"}`, "the body is an object"},
		{"null", "[null]", "[0]: is null; give an object"},
		{"neither category nor labels", "[" + notification(`"category":"c-1",`, "", `"labels":["l"],`, "") + "]", "[0].notification.category"},
		{"bad category", "[" + notification("c-1", "a b") + "]", "[0].notification.category"},
		{"empty content", "[" + notification(`"{\"a\":1}"`, `""`) + "]", "[0].notification.content"},
		{"no sender", "[" + notification(`"sender":"me",`, "") + "]", "[0].notification.sender"},
		{"bad severity", "[" + notification("NORMAL", "HIGH") + "]", `[0].notification.severity: \"HIGH\" is unknown; use one of MINOR, NORMAL, CRITICAL`},
		{"bad status", "[" + notification(`"category"`, `"status":"OLD","category"`) + "]", "[0].notification.status"},
		{"id no UUID", "[" + notification(`"category"`, `"id":"x","category"`) + "]", "[0].notification.id"},
	} {
		scenarios = append(scenarios, handlerstest.Scenario{Name: b.name, Method: "POST", Path: notifications, Body: b.body, Status: 400, Contains: []string{b.want}})
	}
	handlerstest.Run(t, f, f.notices, scenarios)
}

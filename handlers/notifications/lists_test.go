package notifications

import (
	"fmt"
	"testing"

	"ledge/domain"
	"ledge/handlers/handlerstest"
)

const transmissions = "/api/v2/transmission"

// givenNotices records four notifications, made at 10, 20, 30 and 40: n-1 in category a, with label l, which s-1 got; n-2 in
// b, with l; n-3 in a, which s-1 did not get; n-4 in c, which is not delivered yet. It returns their ids.
func givenNotices(tb testing.TB, f fixture) (ids [4]string) {
	tb.Helper()
	for i := range ids {
		ids[i] = handlerstest.ID(100 + i)
		n := domain.Notification{
			ID: ids[i], Category: []string{"a", "b", "a", "c"}[i], Labels: [][]string{{"l"}, {"l"}, nil, nil}[i], Content: fmt.Sprint("n-", i+1),
			Sender: "me", Severity: "NORMAL", Status: "NEW", Created: int64(10 * (i + 1)), Modified: int64(10 * (i + 1)),
		}
		f.notices.Given(tb, domain.AddNotification{Notification: n})
	}
	for i, id := range ids[:3] {
		p := domain.ProcessNotification{ID: id, At: int64(50 + i)}
		if i != 1 {
			status := []string{"SENT", "", "FAILED"}[i]
			p.Matched = []string{"s-1", "", "s-9"}[i : i+1]
			p.Transmissions = []domain.Transmission{{
				ID: handlerstest.ID(200 + i), NotificationID: id, SubscriptionName: p.Matched[0], Status: status, Created: p.At,
				Channel: domain.Channel{Type: "REST", Host: "127.0.0.1", Port: 42089, Path: "/hook/ok", HTTPMethod: "POST"},
				Records: []domain.TransmissionRecord{{Status: status, Response: "subscriber ok", Sent: p.At}},
			}}
		}
		f.notices.Given(tb, p)
	}
	return ids
}

// listed wants a list of so many notifications, with these contents.
func listed(name, path string, total int, contents ...string) handlerstest.Scenario {
	s := handlerstest.Scenario{
		Name: name, Method: "GET", Path: notifications + path, Status: 200,
		Contains: []string{fmt.Sprintf(`"totalCount":%d,"notifications":[`, total)},
	}
	for _, c := range contents {
		s.Contains = append(s.Contains, `"content":"`+c+`"`)
	}
	if total == 0 {
		s.WantBody = `{"apiVersion":"v2","statusCode":200,"totalCount":0,"notifications":[]}` + "\n"
	}
	return s
}

func TestNotificationLists(t *testing.T) {
	f := mustNotifications(t)
	ids := givenNotices(t, f)
	for i, name := range []string{"both", "labels", "categories"} {
		tags := [][2][]string{{{"a"}, {"l"}}, {nil, {"none", "l"}}, {{"c", "b"}, nil}}[i]
		f.events.Given(t, domain.AddSubscription{Subscription: domain.Subscription{
			ID: handlerstest.ID(300 + i), Name: name, Receiver: "till", AdminState: "UNLOCKED", Categories: tags[0], Labels: tags[1],
			Channels: []domain.Channel{{Type: "ZeroMQ", Host: "*", Port: 5563, Topic: "t"}},
		}})
	}
	whole := listed("whole", "/category/b", 1)
	whole.WantBody = `{"apiVersion":"v2","statusCode":200,"totalCount":1,"notifications":[{"created":20,"modified":51,"id":"` + ids[1] +
		`","category":"b","labels":["l"],"content":"n-2","sender":"me","severity":"NORMAL","status":"PROCESSED"}]}` + "\n"
	bad := func(name, path string, status int, says string) handlerstest.Scenario {
		return handlerstest.Scenario{Name: name, Method: "GET", Path: notifications + path, Status: status, Contains: []string{says}}
	}
	handlerstest.Run(t, f, f.notices, []handlerstest.Scenario{
		whole,
		listed("by category", "/category/a", 2, "n-3", "n-1"),
		listed("by category, a page", "/category/a?offset=1&limit=1", 2, "n-1"),
		listed("by category, none on the page", "/category/a?limit=0", 2),
		listed("by unknown category", "/category/none", 0),
		listed("by label", "/label/l", 2, "n-2", "n-1"),
		listed("by unknown label", "/label/none", 0),
		listed("by status", "/status/PROCESSED", 3),
		listed("by another status", "/status/NEW", 1, "n-4"),
		listed("by unknown status", "/status/XX", 0),
		listed("by time", "/start/20/end/30", 2, "n-3", "n-2"),
		bad("by a time in seconds", "/start/1700000000/end/1700000000000", 400, "start: 1700000000 is a time in seconds, and not in milliseconds; send 1700000000000"),
		listed("by one time", "/start/20/end/20", 1, "n-2"),
		listed("by time, a page", "/start/0/end/9000?offset=3&limit=5", 4, "n-1"),
		listed("by another time", "/start/100/end/200", 0),
		listed("by subscription, which matched one, and has the category of none", "/subscription/name/s-1", 0),
		listed("by subscription, with a category or a label", "/subscription/name/both", 3, "n-3", "n-2", "n-1"),
		listed("by subscription, a page", "/subscription/name/both?offset=2&limit=1", 3, "n-1"),
		listed("by subscription, with a label", "/subscription/name/labels", 2, "n-2", "n-1"),
		listed("by subscription, with a category", "/subscription/name/categories", 2, "n-4", "n-2"),
		{Name: "a slash in a name", Method: "GET", Path: notifications + "/subscription/name/s%2F1", Status: 404, WantBody: "404 page not found\n"},
		{Name: "a slash in a label", Method: "GET", Path: notifications + "/label/a%2F1", Status: 404, WantBody: "404 page not found\n"},
		{Name: "slashes twice", Method: "GET", Path: notifications + "//label/a%2f1", Status: 301, WantHeader: []string{"Location: " + notifications + "/label/a%2F1"}},
		bad("by unknown subscription", "/subscription/name/s-9", 404, `subscription name \"s-9\" does not exist`),
		bad("start is not a number", "/start/a/end/1", 400, `start: \"a\" is not a whole number`),
		bad("end is not a number", "/start/1/end/1.5", 400, `end: \"1.5\" is not a whole number`),
		bad("end before start", "/start/2/end/1", 400, "end: 1 is before start, which is 2"),
		bad("beyond", "/category/a?offset=3", 416, "out of range"),
		bad("beyond a time", "/start/0/end/9000?offset=5", 416, "out of range"),
		bad("bad limit", "/label/l?limit=1025", 400, "limit's value 1025"),
		bad("get of no id", "/id/x", 400, `id: \"x\" is no UUID`),
	})
}

// EdgeX 4 finds notifications by conditions in the body of a GET.
func TestFindNotifications(t *testing.T) {
	f := mustNotifications(t)
	givenNotices(t, f)
	find := func(name, condition, query string, total int, contents ...string) handlerstest.Scenario {
		s := listed(name, query, total, contents...)
		s.Body = `{"apiVersion":"v2","queryCondition":` + condition + `}`
		return s
	}
	bad := func(name, body, says string) handlerstest.Scenario {
		return handlerstest.Scenario{Name: name, Method: "GET", Path: notifications, Body: body, Status: 400, Contains: []string{says}}
	}
	handlerstest.Run(t, f, f.notices, []handlerstest.Scenario{
		find("all", `{}`, "", 4),
		find("a category", `{"category":["a"]}`, "", 2, "n-3", "n-1"),
		find("one of two categories", `{"category":["b","c","none"]}`, "", 2, "n-4", "n-2"),
		find("a time", `{"start":15,"end":35}`, "", 2, "n-3", "n-2"),
		find("from a time on", `{"start":15}`, "", 3),
		find("end before start is no end", `{"start":15,"end":3}`, "", 3),
		find("a category and a time", `{"category":["a","c"],"start":15,"end":35}`, "", 1, "n-3"),
		find("a page", `{}`, "?offset=1&limit=1", 4, "n-3"),
		find("acknowledged", `{}`, "?ack=true", 0),
		bad("without a version", `{"queryCondition":{}}`, "apiVersion: is missing"),
		bad("no JSON", `{"apiVersion"`, "the body is no JSON: unexpected end of JSON input at line 1, column 14 (byte 13); send one object"),
		bad("wrong type", `{"apiVersion":"v2","queryCondition":{"start":"1"}}`, "body.queryCondition.start: a JSON string is not possible here"),
		bad("an array", `[]`, "body: a JSON array is not possible here; give an object"),
		{Name: "nothing, as in EdgeX 2.3", Method: "GET", Path: notifications, Status: 405},
	})
}

func TestTransmissions(t *testing.T) {
	f := mustNotifications(t)
	ids := givenNotices(t, f)
	shape := func(i int, status, subscription string) string {
		return fmt.Sprintf(`{"created":%d,"id":%q,"channel":{"type":"REST","host":"127.0.0.1","port":42089,"path":"/hook/ok","httpMethod":"POST"},"notificationId":%q,`+
			`"subscriptionName":%q,"records":[{"status":%q,"response":"subscriber ok","sent":%d}],"status":%q}`, 50+i, handlerstest.ID(200+i), ids[i], subscription, status, 50+i, status)
	}
	sent, failed := shape(0, "SENT", "s-1"), shape(2, "FAILED", "s-9")
	list := func(name, path string, total int, want string) handlerstest.Scenario {
		return handlerstest.Scenario{
			Name: name, Method: "GET", Path: transmissions + path, Status: 200,
			WantBody: fmt.Sprintf(`{"apiVersion":"v2","statusCode":200,"totalCount":%d,"transmissions":[%s]}`+"\n", total, want),
		}
	}
	bad := func(name, path string, status int, says string) handlerstest.Scenario {
		return handlerstest.Scenario{Name: name, Method: "GET", Path: transmissions + path, Status: status, Contains: []string{says}}
	}
	get := handlerstest.Scenario{
		Name: "get", Method: "GET", Path: transmissions + "/id/" + handlerstest.ID(200), Status: 200, WantHeader: []string{`ETag: "5"`},
		WantBody: `{"apiVersion":"v2","statusCode":200,"transmission":` + sent + "}\n",
	}
	same := get
	same.Name, same.Status, same.WantBody, same.Header = "get the same", 304, "", []string{`If-None-Match: "5"`}
	handlerstest.Run(t, f, f.notices, []handlerstest.Scenario{
		get, same,
		list("all", "/all", 2, failed+","+sent),
		list("all, a page", "/all?offset=1", 2, sent),
		list("by status", "/status/FAILED", 1, failed),
		list("by unknown status", "/status/XX", 0, ""),
		list("by time", "/start/50/end/51", 1, sent),
		list("by subscription", "/subscription/name/s-9", 1, failed),
		list("by unknown subscription", "/subscription/name/none", 0, ""),
		list("by notification", "/notification/id/"+ids[0], 1, sent),
		list("by a notification without any", "/notification/id/"+ids[1], 0, ""),
		list("by a notification that is no UUID, as in EdgeX 2.3", "/notification/id/x", 0, ""),
		bad("get unknown", "/id/"+handlerstest.ID(9), 404, "transmission id"),
		bad("get of no id", "/id/x", 400, `id: \"x\" is no UUID`),
		bad("beyond", "/all?offset=3", 416, "out of range"),
		bad("bad time", "/start/1/end/b", 400, `end: \"b\" is not a whole number`),
		{Name: "post", Method: "POST", Path: transmissions + "/all", Body: "[]", Status: 405},
	})
}

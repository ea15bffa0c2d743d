package notifications

import (
	"slices"
	"testing"

	"ledge/domain"
	"ledge/handlers/handlerstest"
)

func TestSubscriptionConditions(t *testing.T) {
	f := mustNotifications(t)
	const name = subscriptions + "/name/s-1"
	patch := func(label string) string {
		return `[{"apiVersion":"v2","subscription":{"name":"s-1","labels":["` + label + `"],"channels":[{"type":"ZeroMQ","host":"*","port":9,"topic":"t"}]}}]`
	}
	first, second, none := []string{`ETag: "1"`}, []string{`ETag: "2"`}, []string{"ETag"}
	const stale = `subscription \"s-1\" has the ETag \"2\" now, which If-Match does not name`
	two := patch("c")[:len(patch("c"))-1] + "," + patch("d")[1:]
	handlerstest.Run(t, f, f.events, []handlerstest.Scenario{
		{Name: "get", Method: "GET", Path: name, Status: 200, WantHeader: first},
		{Name: "get the same", Method: "GET", Path: name, Header: []string{`If-None-Match: "1"`}, Status: 304, WantHeader: first},
		{Name: "patch", Method: "PATCH", Path: subscriptions, Header: []string{`If-Match: "1"`}, Body: patch("a"), Status: 207, Submits: 1, WantHeader: second},
		{Name: "stale patch", Method: "PATCH", Path: subscriptions, Header: []string{`If-Match: "1"`}, Body: patch("b"), Status: 412, Submits: 1, Contains: []string{stale}, WantHeader: none},
		{Name: "weak patch", Method: "PATCH", Path: subscriptions, Header: []string{`If-Match: W/"2"`}, Body: patch("b"), Status: 412, Submits: 1, Contains: []string{stale}},
		{Name: "malformed patch", Method: "PATCH", Path: subscriptions, Header: []string{`If-Match: 2`}, Body: patch("b"), Status: 400, Contains: []string{"is not a list of entity tags"}},
		{Name: "patch of two", Method: "PATCH", Path: subscriptions, Header: []string{`If-Match: *`}, Body: two, Status: 400, Contains: []string{"this one has 2"}},
		{Name: "get another", Method: "GET", Path: name, Header: []string{`If-None-Match: "1"`}, Status: 200, WantHeader: second},
		{Name: "stale delete", Method: "DELETE", Path: name, Header: []string{`If-Match: "1"`}, Status: 412, Submits: 1, Contains: []string{stale}},
		{Name: "delete", Method: "DELETE", Path: name, Header: []string{`If-Match: "1", "2"`}, Status: 200, Submits: 1, WantHeader: none},
		{Name: "delete of nothing", Method: "DELETE", Path: name, Header: []string{"If-Match: *"}, Status: 404, Submits: 1},
	})
	if want := []uint64{2, 0, 0}; !slices.Equal(f.ports.done, want) || f.ports.held != 0 {
		t.Errorf("channels: got %v, want %v; %d held", f.ports.done, want, f.ports.held)
	}
}

func TestNotificationETag(t *testing.T) {
	f := mustNotifications(t)
	n := domain.Notification{ID: handlerstest.ID(99), Category: "c", Content: "{}", Sender: "me", Severity: "NORMAL", Status: "NEW"}
	f.notices.Given(t, domain.AddNotification{Notification: n})
	get := func(status int, etag string) []handlerstest.Scenario {
		return []handlerstest.Scenario{{
			Name: etag, Method: "GET", Path: notifications + "/id/" + n.ID, Header: []string{`If-None-Match: "1"`}, Status: status, WantHeader: []string{"ETag: " + etag},
		}}
	}
	handlerstest.Run(t, f, f.notices, get(304, `"1"`))
	f.notices.Given(t, domain.ProcessNotification{ID: n.ID, At: 9})
	handlerstest.Run(t, f, f.notices, get(200, `"2"`))
}

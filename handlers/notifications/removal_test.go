package notifications

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"ledge/domain"
	"ledge/handlers/handlerstest"
)

const done = `{"apiVersion":"v2","statusCode":200}` + "\n"

func TestRemoveNotifications(t *testing.T) {
	f := mustNotifications(t)
	ids := givenNotices(t, f)
	remove := func(name, path string, status int) handlerstest.Scenario {
		return handlerstest.Scenario{Name: name, Method: "DELETE", Path: notifications + path, Status: status, Submits: 1}
	}
	one := remove("one", "/id/"+ids[0], 200)
	one.WantBody, one.WantHeader = done, []string{"ETag"}
	stale := remove("stale", "/id/"+ids[3], 412)
	stale.Header, stale.Contains = []string{`If-Match: "3"`}, []string{`has the ETag \"4\" now`}
	several := remove("If-Match of two", "/ids/"+ids[1]+","+ids[3], 400)
	several.Header, several.Submits = []string{`If-Match: *`}, 0
	handlerstest.Run(t, f, f.notices, []handlerstest.Scenario{
		one,
		{Name: "its transmission is gone", Method: "GET", Path: transmissions + "/notification/id/" + ids[0], Status: 200, Contains: []string{`"totalCount":0`}},
		{Name: "the other transmission is not", Method: "GET", Path: transmissions + "/all", Status: 200, Contains: []string{`"totalCount":1`}},
		remove("again", "/id/"+ids[0], 404),
		remove("no UUID, as in EdgeX 2.3", "/id/x", 404),
		remove("one of two is unknown", "/ids/"+ids[1]+","+ids[0], 404),
		listed("nothing was removed beside it", "/category/b", 1, "n-2"),
		stale, several,
		remove("two", "/ids/"+ids[1]+","+ids[2], 200),
		{Name: "all transmissions are gone", Method: "GET", Path: transmissions + "/all", Status: 200, Contains: []string{`"totalCount":0`}},
		listed("one is left", "/start/0/end/99", 1, "n-4"),
	})
}

// A notification that is delivered while it is removed takes its transmissions along.
func TestRemoveWhileDelivered(t *testing.T) {
	f := mustNotifications(t)
	ids := givenNotices(t, f)
	sent := domain.Transmission{ID: handlerstest.ID(300), NotificationID: ids[3], SubscriptionName: "s-1", Status: "SENT"}
	f.notices.Before = func() {
		f.notices.Before = nil
		f.notices.Given(t, domain.ProcessNotification{ID: ids[3], Transmissions: []domain.Transmission{sent}})
	}
	handlerstest.Run(t, f, f.notices, []handlerstest.Scenario{
		{Name: "remove", Method: "DELETE", Path: notifications + "/id/" + ids[3], Status: 200, Submits: 2, WantBody: done},
		{Name: "the transmission is gone", Method: "GET", Path: transmissions + "/id/" + sent.ID, Status: 404},
	})
	n := 0
	f.notices.Before = func() { n++; f.notices.Given(t, domain.AcknowledgeNotifications{IDs: ids[:1], Acknowledged: n%2 == 1}) }
	handlerstest.Run(t, f, f.notices, []handlerstest.Scenario{
		{Name: "what never rests", Method: "DELETE", Path: notifications + "/id/" + ids[0], Status: 503, Submits: readAgain, Contains: []string{"has changed meanwhile; try again"}},
	})
}

func TestRequestCleanup(t *testing.T) {
	f := mustNotifications(t)
	for _, c := range []struct {
		path string
		want domain.Cleanup
	}{
		{"/cleanup", domain.Cleanup{Kind: "all", Until: handlerstest.NowMilli}},
		{"/cleanup/age/0", domain.Cleanup{Kind: "all", Until: handlerstest.NowMilli}},
		{"/cleanup/age/-9223372036854775808", domain.Cleanup{Kind: "all", Until: math.MaxInt64}},
		{"/notification/age/1000", domain.Cleanup{Kind: "processed", Until: handlerstest.NowMilli - 1000}},
		{"/transmission/age/9223372036854775807", domain.Cleanup{Kind: "transmissions", Until: handlerstest.NowMilli - math.MaxInt64}},
		{"/transmission/age/-5", domain.Cleanup{Kind: "transmissions", Until: handlerstest.NowMilli + 5}},
	} {
		handlerstest.Run(t, f, f.notices, []handlerstest.Scenario{
			{Name: c.path, Method: "DELETE", Path: "/api/v2" + c.path, Status: 202, Submits: 1, WantBody: `{"apiVersion":"v2","statusCode":202}` + "\n"},
		})
		recorded := f.notices.Recorded()
		c.want.Asked = handlerstest.NowMilli
		if got, want := recorded[len(recorded)-1].Event, (domain.CleanupRequested{Cleanup: c.want}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", c.path, got, want)
		}
	}
	var bad []handlerstest.Scenario
	for i, path := range []string{"/cleanup/age/x", "/notification/age/1.5", "/transmission/age/9223372036854775808"} {
		bad = append(bad, handlerstest.Scenario{Name: fmt.Sprint("bad ", i), Method: "DELETE", Path: "/api/v2" + path, Status: 400, Contains: []string{"is not a whole number of 64 bits; give one, in milliseconds"}})
	}
	handlerstest.Run(t, f, f.notices, append(bad, handlerstest.Scenario{Name: "get", Method: "GET", Path: "/api/v2/cleanup", Status: 405}))
}

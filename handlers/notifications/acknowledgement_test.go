package notifications

import (
	"strings"
	"testing"

	"ledge/handlers/handlerstest"
)

func TestAcknowledge(t *testing.T) {
	f := mustNotifications(t)
	ids := givenNotices(t, f)
	const ok = `{"apiVersion":"v2","statusCode":200}` + "\n"
	put := func(name, verb, ids string, status int) handlerstest.Scenario {
		return handlerstest.Scenario{Name: name, Method: "PUT", Path: notifications + "/" + verb + "/ids/" + ids, Status: status, Submits: 1}
	}
	both := put("two", "acknowledge", ids[0]+","+ids[3], 200)
	both.WantBody, both.WantHeader = ok, []string{"ETag"}
	again := put("again", "acknowledge", ids[0], 200)
	again.WantBody, again.WantHeader = ok, []string{"ETag"}
	back := put("taken back", "unacknowledge", ids[0], 200)
	back.WantBody, back.WantHeader, back.Header = ok, []string{`ETag: "9"`}, []string{`If-Match: "8"`}
	stale := put("stale", "acknowledge", ids[0], 412)
	stale.Header, stale.Contains = []string{`If-Match: "8"`}, []string{`notification \"` + ids[0] + `\" has the ETag \"9\" now`}
	several := put("If-Match of two", "acknowledge", ids[0]+","+ids[1], 400)
	several.Header, several.Contains, several.Submits = []string{"If-Match: *"}, []string{"this one has 2"}, 0
	unknown := put("unknown", "acknowledge", ids[1]+","+handlerstest.ID(9), 404)
	unknown.Contains = []string{`notification id \"` + handlerstest.ID(9) + `\" does not exist`}
	handlerstest.Run(t, f, f.notices, []handlerstest.Scenario{
		both,
		{Name: "get", Method: "GET", Path: notifications + "/id/" + ids[0], Status: 200, Contains: []string{`"modified":1795246925123,`, `"status":"PROCESSED","acknowledged":true}`}},
		listed("acknowledged of a category", "/category/a?ack=true", 1, "n-1"),
		listed("not acknowledged of a category", "/category/a?ack=false", 1, "n-3"),
		listed("acknowledged of a status", "/status/NEW?ack=true", 1, "n-4"),
		listed("not acknowledged of a label", "/label/l?ack=false", 1, "n-2"),
		listed("acknowledged of a time", "/start/0/end/40?ack=true", 2, "n-4", "n-1"),
		listed("not acknowledged of a subscription", "/subscription/name/s-1?ack=false", 0),
		again, back,
		listed("none of a category", "/category/a?ack=true", 0),
		stale, several, unknown,
		listed("nothing was acknowledged beside an unknown one", "/category/b?ack=true", 0),
		put("no id", "acknowledge", "x", 404),
		put("too many", "acknowledge", strings.Repeat("x,", 1000)+"x", 400),
		{Name: "bad ack", Method: "GET", Path: notifications + "/label/l?ack=yes", Status: 400, Contains: []string{`ack: \"yes\" is unknown; use true or false`}},
		{Name: "post", Method: "POST", Path: notifications + "/acknowledge/ids/" + ids[0], Status: 405},
	})
}

package metadata

import (
	"reflect"
	"testing"

	"ledge/domain"
	"ledge/domain/moment"
	"ledge/handlers/handlerstest"
)

// TestReplays orders replays, and lists, shows and stops one.
func TestReplays(t *testing.T) {
	const path = "/api/v2/ledger/replay"
	log := handlerstest.NewLog()
	replays := &handlerstest.Replays{}
	h := contract.Watch(t, New(handlerstest.Options("core-metadata"), log.View, log, nil, Ledger{Past: log.Past(), Replays: replays}))
	h = as(h, domain.Identity{Actor: "user:anna", Role: domain.Admin})
	order := path + "?from=2&to=2026-11-21T07:42:05Z&speed=max&subject=ledge.event.>&id=t-1"
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "none", Method: "GET", Path: path + "/all", Status: 200,
			WantBody: `{"apiVersion":"v2","statusCode":200,"replays":[]}` + "\n"},
		{Name: "two kinds of places", Method: "POST", Path: order, Status: 400,
			Contains: []string{"to: one of from and to is a sequence and the other a time"}},
		{Name: "no place", Method: "POST", Path: path + "?from=yesterday", Status: 400,
			Contains: []string{`from: \"yesterday\" is neither a sequence nor a time`}},
		{Name: "no speed", Method: "POST", Path: path + "?speed=0", Status: 400,
			Contains: []string{`speed: \"0\" is not a speed; use a number such as 1 or 10, or max`}},
		{Name: "not a number", Method: "POST", Path: path + "?speed=NaN", Status: 400,
			Contains: []string{"speed: NaN is out of range"}},
		{Name: "too fast", Method: "POST", Path: path + "?speed=1e9", Status: 400,
			Contains: []string{"use a number up to 1000000, or max"}},
		{Name: "no subject", Method: "POST", Path: path + "?subject=a..b", Status: 400,
			Contains: []string{"subject: "}},
		{Name: "more behind the end", Method: "POST", Path: path + "?subject=a.>.b", Status: 400,
			Contains: []string{"subject: "}},
		{Name: "on a condition", Method: "POST", Path: path, Header: []string{`If-Match: "1"`}, Status: 400,
			Contains: []string{"If-Match"}},
		{Name: "start", Method: "POST", Path: path + "?from=2&to=9&speed=2.5&subject=ledge.event.*.cam-1.>&id=t-1", Status: 202,
			Contains: []string{`"id":"t-1","subject":"replay.t-1.\u003e","state":"running"`}},
		{Name: "another", Method: "POST", Path: path, Status: 409, Contains: []string{`replay \"t-1\" runs`}},
		{Name: "show", Method: "GET", Path: path + "/id/t-1", Status: 200, Contains: []string{`"speed":2.5`}},
		{Name: "show none", Method: "GET", Path: path + "/id/t-2", Status: 404,
			Contains: []string{`replay \"t-2\" is not among the last ones`}},
		{Name: "stop none", Method: "DELETE", Path: path + "/id/t-2", Status: 404},
		{Name: "stop", Method: "DELETE", Path: path + "/id/t-1", Status: 200},
		{Name: "list", Method: "GET", Path: path + "/all", Status: 200, Contains: []string{`"state":"stopped"`}},
	})
	want := domain.BusReplayOrder{
		ID: "t-1", From: moment.Moment{Sequence: 2}, To: moment.Moment{Sequence: 9}, Speed: 2.5, Subject: "ledge.event.*.cam-1.>",
		Actor: "user:anna",
	}
	if !reflect.DeepEqual(replays.Ordered, []domain.BusReplayOrder{want}) {
		t.Errorf("got %+v, want %+v", replays.Ordered, want)
	}
}

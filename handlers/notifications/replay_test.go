package notifications

import (
	"slices"
	"testing"
	"time"

	"ledge/domain"
	"ledge/handlers/handlerstest"
)

const (
	replayPath = subscriptions + "/name/s-1/replay"
	cursorPath = subscriptions + "/name/s-1/cursor"
)

func TestReplayAndCursor(t *testing.T) {
	f := mustNotifications(t)
	handlerstest.Run(t, f, f.notices, []handlerstest.Scenario{
		{Name: "replay", Method: "POST", Path: replayPath, Status: 200, Submits: 1,
			WantBody: `{"apiVersion":"v2","statusCode":200,"replay":{"subscription":"s-1","from":3,"last":9,"next":10,"count":2,"dropped":1,"more":true}}` + "\n"},
		{Name: "cursor", Method: "GET", Path: cursorPath, Status: 200,
			WantBody: `{"apiVersion":"v2","statusCode":200,"cursor":{"subscription":"s-1","last":1,"next":2,"sent":1795246925123}}` + "\n"},
		{Name: "unknown", Method: "POST", Path: subscriptions + "/name/nosuch/replay", Status: 404, Contains: []string{`subscription name \"nosuch\" does not exist; correct the name`}},
		{Name: "get", Method: "GET", Path: replayPath, Status: 405},
		{Name: "on a condition", Method: "POST", Path: replayPath, Header: []string{`If-Match: "1"`}, Status: 400, Contains: []string{"If-Match"}},
		{Name: "no sequence", Method: "POST", Path: replayPath + "?from=-1", Status: 400, Contains: []string{`from: \"-1\" is not a position on the record; give a sequence, a time in milliseconds since 1970 (from 100000000000 on), or a time such as 2026-11-21T07:42:05Z`}},
		{Name: "no time", Method: "POST", Path: replayPath + "?from=yesterday", Status: 400, Contains: []string{`from: \"yesterday\"`}},
		{Name: "empty", Method: "POST", Path: replayPath + "?from=", Status: 400, Contains: []string{`from: \"\"`}},
		{Name: "a date", Method: "POST", Path: replayPath + "?from=2026-11-21", Status: 400},
		{Name: "a float", Method: "POST", Path: replayPath + "?from=1.5", Status: 400},
		{Name: "too long", Method: "POST", Path: replayPath + "?from=99999999999999999999", Status: 400},
		{Name: "no limit", Method: "POST", Path: replayPath + "?limit=0", Status: 400, Contains: []string{`limit: \"0\" is not a number of notifications`}},
	})
	if len(f.replays.ordered) != 1 {
		t.Errorf("ordered %v, want what is not wrong alone", f.replays.ordered)
	}
}

func TestReplayPlaces(t *testing.T) {
	at := time.Date(2026, 11, 21, 7, 42, 5, 500_000_000, time.UTC)
	for _, tt := range []struct {
		query string
		want  domain.ReplayOrder
	}{
		{"", domain.ReplayOrder{}},
		{"?from=0", domain.ReplayOrder{}},
		{"?from=43&limit=7", domain.ReplayOrder{From: 43, Limit: 7}},
		{"?from=99999999999", domain.ReplayOrder{From: 99_999_999_999}},
		{"?from=100000000000", domain.ReplayOrder{Since: time.UnixMilli(100_000_000_000)}},
		{"?from=1795246925500", domain.ReplayOrder{Since: at}},
		{"?from=2026-11-21T07:42:05.5Z", domain.ReplayOrder{Since: at}},
		{"?from=2026-11-21T09:42:05.5%2B02:00", domain.ReplayOrder{Since: at}},
		{"?from=2026-11-21T09:42:05.5+02:00", domain.ReplayOrder{Since: at}},
	} {
		f := mustNotifications(t)
		if w := handlerstest.Serve(f, "POST", replayPath+tt.query, ""); w.Code != 200 || len(f.replays.ordered) != 1 {
			t.Errorf("%s: got %d %s", tt.query, w.Code, w.Body)
			continue
		}
		got := f.replays.ordered[0]
		if !got.Since.Equal(tt.want.Since) || got.From != tt.want.From || got.Limit != tt.want.Limit || got.Subscription != "s-1" {
			t.Errorf("%s: got %+v, want %+v", tt.query, got, tt.want)
		}
	}
}

func TestReplayRefused(t *testing.T) {
	for code, status := range map[domain.Code]int{domain.Conflict: 409, domain.Locked: 423, domain.Invalid: 400, domain.Unavailable: 503, domain.Full: 507} {
		f := mustNotifications(t)
		f.replays.err = domain.Errorf(code, "no")
		if w := handlerstest.Serve(f, "POST", replayPath, ""); w.Code != status {
			t.Errorf("got %d %s, want %d", w.Code, w.Body, status)
		}
	}
}

// The record says who wanted the replay.
func TestReplayIsStamped(t *testing.T) {
	f := mustNotifications(t)
	handlerstest.Serve(f, "POST", replayPath, "", "X-Correlation-ID: 0b0c6a3e-2a59-4b62-9a0a-6f1f7b1b7e11")
	recorded := f.notices.Recorded()
	i := slices.IndexFunc(recorded, func(r domain.Recorded) bool {
		return r.CorrelationID == "0b0c6a3e-2a59-4b62-9a0a-6f1f7b1b7e11" && r.Actor != "" && r.Origin != "" && r.EventID != ""
	})
	if i < 0 {
		t.Errorf("recorded %+v", recorded)
	}
}

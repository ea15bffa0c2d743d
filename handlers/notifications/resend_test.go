package notifications

import (
	"fmt"
	"testing"

	"ledge/domain"
	"ledge/handlers/handlerstest"
)

const (
	resendOnePath = "/api/v2/transmission/id/%s/resend"
	resendAllPath = "/api/v2/transmission/subscription/name/s-1/resend"
)

// givenUp returns support-notifications with n given-up transmissions of s-1, created 1, 2, … s after 1970, and one that was sent.
func givenUp(tb testing.TB, n int) fixture {
	tb.Helper()
	f := mustNotifications(tb)
	for i := range n + 1 {
		note := domain.Notification{
			ID: handlerstest.ID(100 + i), Category: "c", Content: "text", Sender: "me", Severity: "NORMAL", Status: "NEW",
		}
		t := domain.Transmission{
			ID: handlerstest.ID(200 + i), NotificationID: note.ID, SubscriptionName: "s-1", Status: []string{"FAILED", "ESCALATED"}[i%2],
			Channel: domain.Channel{Type: "ZeroMQ", Host: "*", Port: 5563, Topic: "t"}, Created: int64(i+1) * 1000,
			Records: []domain.TransmissionRecord{{Status: "FAILED", Response: "refused", Sent: int64(i+1) * 1000}},
		}
		if i == n {
			t.Status = "SENT"
		}
		f.notices.Given(tb, domain.AddNotification{Notification: note},
			domain.ProcessNotification{ID: note.ID, Matched: []string{"s-1"}, Transmissions: []domain.Transmission{t}})
	}
	return f
}

func (f fixture) statuses() string {
	view, done := f.notices.View()
	defer done()
	text := ""
	for i := range 4 {
		t, _ := view.State.Transmissions.Get(handlerstest.ID(200 + i))
		n, _ := view.State.Notifications.Get(t.NotificationID)
		text += fmt.Sprintf("%.1s%d%d ", t.Status, n.Open, n.Failed)
	}
	return text
}

func TestResendOne(t *testing.T) {
	f := givenUp(t, 3)
	at := func(i int) string { return fmt.Sprintf(resendOnePath, handlerstest.ID(200+i)) }
	handlerstest.Run(t, f, f.notices, []handlerstest.Scenario{
		{Name: "failed", Method: "POST", Path: at(0), Status: 202, Submits: 1,
			WantBody: `{"apiVersion":"v2","statusCode":202,"resend":{"count":1,"skipped":0,"more":false}}` + "\n"},
		{Name: "again", Method: "POST", Path: at(0), Status: 409, Submits: 1, Contains: []string{"is RESENDING; only FAILED and"}},
		{Name: "sent", Method: "POST", Path: at(3), Status: 409, Submits: 1, Contains: []string{"is SENT"}},
		{Name: "unknown", Method: "POST", Path: at(9), Status: 404, Contains: []string{"does not exist; correct the id"}},
		{Name: "on a condition", Method: "POST", Path: at(1), Header: []string{`If-Match: "1"`}, Status: 400},
	})
	if got := f.statuses(); got != "R10 E01 F01 S00 " {
		t.Errorf("got %s", got)
	}
}

func TestResendAll(t *testing.T) {
	f := givenUp(t, 3)
	handlerstest.Run(t, f, f.notices, []handlerstest.Scenario{
		{Name: "no limit", Method: "POST", Path: resendAllPath + "?limit=1001", Status: 400, Contains: []string{"from 1 to 1000"}},
		{Name: "no time", Method: "POST", Path: resendAllPath + "?from=17", Status: 400, Contains: []string{`from: \"17\" is not a time`}},
		{Name: "unknown", Method: "POST", Path: "/api/v2/transmission/subscription/name/nosuch/resend", Status: 404},
		{Name: "none since", Method: "POST", Path: resendAllPath + "?from=2026-11-21T07:42:05Z", Status: 202,
			WantBody: `{"apiVersion":"v2","statusCode":202,"resend":{"count":0,"skipped":0,"more":false}}` + "\n"},
		{Name: "one", Method: "POST", Path: resendAllPath + "?limit=1", Status: 202, Submits: 1,
			WantBody: `{"apiVersion":"v2","statusCode":202,"resend":{"count":1,"skipped":0,"more":true}}` + "\n"},
		{Name: "the others", Method: "POST", Path: resendAllPath, Status: 202, Submits: 1,
			WantBody: `{"apiVersion":"v2","statusCode":202,"resend":{"count":2,"skipped":0,"more":false}}` + "\n"},
	})
	if got := f.statuses(); got != "R10 R10 R10 S00 " {
		t.Errorf("got %s", got)
	}
}

// TestResendChannel sends to the channel that the subscription has now.
func TestResendChannel(t *testing.T) {
	f := givenUp(t, 3)
	patch := func(fields ...any) {
		change := domain.PatchOf[domain.Subscription](append([]any{"name", "s-1"}, fields...)...)
		f.events.Given(t, domain.UpdateSubscription{Patch: change, At: 9})
	}
	moved := domain.Channel{Type: "ZeroMQ", Host: "*", Port: 5564, Topic: "t"}
	other := domain.Channel{Type: "ZeroMQ", Host: "*", Port: 5565, Topic: "t"}
	at := fmt.Sprintf(resendOnePath, handlerstest.ID(200))
	patch("adminState", "LOCKED")
	handlerstest.Run(t, f, f.notices, []handlerstest.Scenario{
		{Name: "locked", Method: "POST", Path: at, Status: 423, Contains: []string{"UNLOCKED first"}},
		{Name: "all of a locked one", Method: "POST", Path: resendAllPath, Status: 423},
	})
	patch("adminState", "UNLOCKED", "channels", []domain.Channel{moved, other})
	handlerstest.Run(t, f, f.notices, []handlerstest.Scenario{
		{Name: "two others", Method: "POST", Path: at, Status: 409, Contains: []string{"and 2 others of type ZeroMQ"}},
		{Name: "all, to two others", Method: "POST", Path: resendAllPath, Status: 202, Submits: 1, Contains: []string{`"skipped":3`}},
	})
	patch("channels", []domain.Channel{moved})
	handlerstest.Run(t, f, f.notices, []handlerstest.Scenario{{Name: "moved", Method: "POST", Path: at, Status: 202, Submits: 1}})
	view, done := f.notices.View()
	defer done()
	if one, _ := view.State.Transmissions.Get(handlerstest.ID(200)); one.Channel.Port != 5564 || one.Status != domain.StatusResending {
		t.Errorf("got %+v", one)
	}
}

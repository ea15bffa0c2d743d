package notifications

import (
	"strings"
	"testing"

	"ledge/domain"
	"ledge/handlers/handlerstest"
)

const key = "Idempotency-Key: k-1"

func TestNotifyOnce(t *testing.T) {
	f := mustNotifications(t)
	body := "[" + notification() + "," + notification() + "]"
	first := handlerstest.Serve(f, "POST", notifications, body, key)
	again := handlerstest.Serve(f, "POST", notifications, body, key)
	if first.Code != 207 || strings.Count(first.Body.String(), "201") != 2 || again.Body.String() != first.Body.String() || len(f.notices.Recorded()) != 2 {
		t.Errorf("got %s, then %s, %d events", first.Body, again.Body, len(f.notices.Recorded()))
	}
}

// What could not be reserved, and what could, is answered as before whatever can be reserved later.
func TestSubscribeOnce(t *testing.T) {
	f := mustNotifications(t)
	body := "[" + subscription("5564", "1") + "," + subscription() + "]"
	first := handlerstest.Serve(f, "POST", subscriptions, body, key)
	if got := first.Body.String(); !strings.Contains(got, "port 1 is taken") || strings.Count(got, "201") != 1 {
		t.Fatalf("got %s", got)
	}
	f.events.Given(t, domain.RemoveSubscription{Name: "s-2"})
	before := len(f.events.Recorded())
	again := handlerstest.Serve(f, "POST", subscriptions, body, key)
	if again.Body.String() != first.Body.String() || len(f.events.Recorded()) != before {
		t.Errorf("got %s, want %s", again.Body, first.Body)
	}
	if done := f.ports.done; f.ports.held != 0 || len(done) != 2 || done[0] == 0 || done[1] != 0 {
		t.Errorf("%d channels are held, done with %v", f.ports.held, done)
	}
}

// A refusal that is on record is none of the subscription.
func TestRefusedIsNotReserved(t *testing.T) {
	f := mustNotifications(t)
	w := handlerstest.Serve(f, "POST", subscriptions, "["+subscription("s-2", "s-1")+"]", key)
	if !strings.Contains(w.Body.String(), "409") || f.ports.held != 0 || f.ports.done[0] != 0 {
		t.Errorf("got %s, done with %v", w.Body, f.ports.done)
	}
}

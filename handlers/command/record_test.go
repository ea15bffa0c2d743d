package command

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"reflect"
	"slices"
	"testing"
	"time"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/access"
	"ledge/handlers/handlerstest"
)

// startObserved replaces the device service of pump-1 by one that calls arrived when a request arrives.
func startObserved(t *testing.T, p parts, arrived func(command string)) {
	t.Helper()
	observed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived(path.Base(r.URL.Path))
		p.service.ServeHTTP(w, r)
	}))
	t.Cleanup(observed.Close)
	p.log.Given(t, setService("UNLOCKED", observed.URL))
}

// newestEvent returns the newest event on record.
func newestEvent(p parts) domain.Recorded {
	all := p.log.Recorded()
	return all[len(all)-1]
}

// A command is on record when its request arrives at the device service.
func TestRecordedBeforeSent(t *testing.T) {
	p := mustCommand(t, 0)
	var atArrival []domain.Event
	startObserved(t, p, func(string) { atArrival = append(atArrival, newestEvent(p).Event) })
	for _, command := range []string{"Int8", "Status-500"} {
		handlerstest.Serve(p, "PUT", pump+command, `{"Int8":"7"}`)
	}
	value := json.RawMessage(`{"Int8":"7"}`)
	want := []domain.Event{
		domain.CommandIssued{Device: "pump-1", Service: "device-pump", Command: "Int8", Value: value},
		domain.CommandIssued{Device: "pump-1", Service: "device-pump", Command: "Status-500", Value: value, Prev: 8},
	}
	if !reflect.DeepEqual(atArrival, want) {
		t.Errorf("on record at the arrivals: %+v, want %+v", atArrival, want)
	}
}

// Of two commands under way each has its own outcome.
func TestTwoCommandsAtOnce(t *testing.T) {
	p := mustCommand(t, 0)
	arrived, release := make(chan struct{}), make(chan struct{})
	startObserved(t, p, func(command string) {
		if command == "Int8" {
			close(arrived)
			<-release
		}
	})
	answered := make(chan int, 1)
	go func() { answered <- handlerstest.Serve(p, "PUT", pump+"Int8", `{}`).Code }()
	await := func(event string, done <-chan struct{}) {
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatalf("%s does not happen", event)
		}
	}
	await("the first command", arrived)
	if w := handlerstest.Serve(p, "PUT", pump+"Status-409", `{}`); w.Code != 409 {
		t.Errorf("the second command: got %d %s", w.Code, w.Body)
	}
	close(release)
	if code := <-answered; code != 200 {
		t.Errorf("the first command: got %d", code)
	}
	var got []string
	for _, r := range p.log.Recorded()[6:] {
		switch e := r.Event.(type) {
		case domain.CommandIssued:
			got = append(got, fmt.Sprintf("%d %s after %d", r.Seq, e.Command, e.Prev))
		case domain.CommandAnswered:
			got = append(got, fmt.Sprintf("%d %s of %d answered %d after %d", r.Seq, e.Command, e.Issued, e.Status, e.Prev))
		}
	}
	want := []string{
		"7 Int8 after 0", "8 Status-409 after 7", "9 Status-409 of 8 answered 409 after 8", "10 Int8 of 7 answered 200 after 9",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A command whose record fails is not sent. If only the record of the outcome fails, the answer says so.
func TestRecordFails(t *testing.T) {
	full := domain.Errorf(domain.Full, "the disk is full")
	p := mustCommand(t, 0)
	p.log.Fail = full
	s := scenarioOf("of a command", "PUT", pump+"Int8", `{}`, 507, "the command is not sent, because its record failed: the disk is full")
	s.Submits = 1
	handlerstest.Run(t, p, p.log, []handlerstest.Scenario{s})
	p.log.Fail = nil
	p.log.Given(t, setStates("LOCKED", "UP"))
	p.log.Fail = full
	s.Name = "of a refusal"
	handlerstest.Run(t, p, p.log, []handlerstest.Scenario{s})
	if calls := p.service.Calls(); len(calls) > 0 {
		t.Errorf("sent %+v", calls)
	}
	p = mustCommand(t, 0)
	startObserved(t, p, func(string) { p.log.Fail = full })
	s = scenarioOf("of an outcome", "PUT", pump+"Int8", `{}`, 507,
		"the command was sent and answered with status 200, which is not on record beside event 7 of the command: the disk is full")
	s.Submits = 2
	handlerstest.Run(t, p, p.log, []handlerstest.Scenario{s})
	if calls := p.service.Calls(); len(calls) != 1 {
		t.Errorf("sent %+v", calls)
	}
}

// A command is not sent if its sender has lost the right meanwhile. If it was sent, its outcome is on record all the same.
func TestSenderLosesRight(t *testing.T) {
	p := mustCommand(t, 0, func(o *handlers.Options) { o.Access = &access.Access{Authenticator: operator{}} })
	put := func(status int) {
		t.Helper()
		if w := handlerstest.Serve(p, "PUT", pump+"Int8", `{}`, "Authorization: Bearer t"); w.Code != status {
			t.Errorf("got %d %s, want %d", w.Code, w.Body, status)
		}
	}
	before := len(p.log.Recorded())
	put(http.StatusForbidden)
	if calls := p.service.Calls(); len(calls) > 0 || len(p.log.Recorded()) != before {
		t.Errorf("sent %+v, recorded %+v", calls, newestEvent(p))
	}
	token := domain.Token{Name: "gone", Role: domain.Operator, Credential: "c", Created: handlerstest.NowMilli}
	p.log.Given(t, domain.AddToken{Token: token})
	startObserved(t, p, func(string) { p.log.Given(t, domain.RemoveToken{Name: "gone"}) })
	put(http.StatusOK)
	if e, ok := newestEvent(p).Event.(domain.CommandAnswered); !ok || e.Status != http.StatusOK || newestEvent(p).Actor != "token:gone" {
		t.Errorf("recorded %+v", newestEvent(p))
	}
}

// operator has an operator for every token.
type operator struct{ handlerstest.Logins }

func (operator) Bearer(context.Context, string, string) (domain.Identity, error) {
	return domain.Identity{Actor: "token:gone", Role: domain.Operator, Credential: "c"}, nil
}

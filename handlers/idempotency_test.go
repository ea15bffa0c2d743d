package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/handlerstest"
)

const servicePath = "/api/v2/service"

// services is a batch of additions.
func services(names ...string) string {
	for i, name := range names {
		names[i] = strings.Trim(service(name), "[]")
	}
	return "[" + strings.Join(names, ",") + "]"
}

// mustReplay sends a request with a key again and holds that the answer is the same and nothing is recorded.
func mustReplay(t *testing.T, h http.Handler, log *handlerstest.Log, path, body, key, want string) {
	t.Helper()
	before := len(log.Recorded())
	w := handlerstest.Serve(h, "POST", path, body, "Idempotency-Key: "+key)
	if got := w.Body.String(); got != want || w.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("again:\n got %s%v\nwant %s", got, w.Header(), want)
	}
	if n := len(log.Recorded()); n != before {
		t.Errorf("again: %d events more", n-before)
	}
}

func TestSameAnswer(t *testing.T) {
	h, log := mustService(t, nil)
	body := services("a", "a", "b")
	first := handlerstest.Serve(h, "POST", servicePath, body, "Idempotency-Key: k-1")
	if got := first.Body.String(); first.Code != 207 || strings.Count(got, "201") != 2 || strings.Count(got, "409") != 1 || first.Header().Get("Idempotent-Replayed") != "" {
		t.Fatalf("got %d %s", first.Code, got)
	}
	mustReplay(t, h, log, servicePath, body, "k-1", first.Body.String())
	mustReplay(t, h, log, servicePath, body, `"k-1"`, first.Body.String())
	log.Given(t, domain.RemoveService{Name: "a"}, domain.RemoveService{Name: "b"})
	mustReplay(t, h, log, servicePath, body, "k-1", first.Body.String())
	if w := handlerstest.Serve(h, "POST", servicePath, body, "Idempotency-Key: k-2"); strings.Count(w.Body.String(), "201") != 2 {
		t.Errorf("another key: got %s", w.Body)
	}
}

func TestOtherRequest(t *testing.T) {
	h, log := mustService(t, nil)
	const key = "Idempotency-Key: k-1"
	handlerstest.Serve(h, "POST", servicePath, services("a", "b"), key)
	before := len(log.Recorded())
	want := []string{`"statusCode":422`, "this Idempotency-Key was used for a request with another path or body"}
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "shorter", Method: "POST", Path: servicePath, Header: []string{key}, Body: services("a"), Status: 422, Submits: 1, Contains: want},
		{Name: "longer", Method: "POST", Path: servicePath, Header: []string{key}, Body: services("a", "b", "c"), Status: 422, Submits: 1, Contains: want},
		{Name: "other path", Method: "POST", Path: "/api/v2/otherpath", Header: []string{key}, Body: services("a", "b"), Status: 422, Submits: 1, Contains: want},
		{Name: "nothing", Method: "POST", Path: servicePath, Header: []string{key}, Body: "[]", Status: 207, WantBody: "null\n"},
		{Name: "malformed", Method: "POST", Path: servicePath, Header: []string{key}, Body: "[", Status: 400},
	})
	if n := len(log.Recorded()); n != before {
		t.Errorf("%d events more", n-before)
	}
	w := handlerstest.Serve(h, "PATCH", servicePath, services("c"), key)
	if events := log.Recorded(); w.Code != 207 || events[len(events)-1].Key != nil {
		t.Errorf("a method that needs no key: got %d %s, key %v", w.Code, w.Body, events[len(events)-1].Key)
	}
}

// A crash leaves the first events of a request, however many; sent again, the request has the answer that it would have had.
func TestSameAnswerAfterCrash(t *testing.T) {
	h, log := mustService(t, nil)
	body := services("a", "b", "a", "c", "d")
	handlerstest.Serve(h, "POST", servicePath, body, "Idempotency-Key: k-1")
	all := log.Recorded()
	for n := range len(all) + 1 {
		log := handlerstest.LogOf(all[:n])
		h := serviceOn(log, func(o *handlers.Options) { o.NewID = nil }) // other ones than at first
		w := handlerstest.Serve(h, "POST", servicePath, body, "Idempotency-Key: k-1")
		got := w.Body.String()
		if w.Code != 207 || strings.Count(got, `"statusCode":201`) != 4 || strings.Count(got, `"statusCode":409`) != 1 || len(log.Recorded()) != len(all) {
			t.Errorf("after %d: got %d %s, %d events", n, w.Code, got, len(log.Recorded()))
		}
		for _, r := range log.Recorded() {
			if e, ok := r.Event.(domain.ServiceAdded); ok && !strings.Contains(got, e.Service.ID) {
				t.Errorf("after %d: the id of %s is not in %s", n, e.Service.Name, got)
			}
		}
		mustReplay(t, h, log, servicePath, body, "k-1", got)
	}
}

func TestSentAtOnce(t *testing.T) {
	h, log := mustService(t, nil)
	answers := make([]string, 16)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			answers[i] = handlerstest.Serve(h, "POST", servicePath, services("a", "b", "a"), "Idempotency-Key: k-1").Body.String()
		})
	}
	wg.Wait()
	for _, got := range answers {
		if got != answers[0] || strings.Count(got, "201") != 2 {
			t.Errorf("got %s and %s", got, answers[0])
		}
	}
	if n := len(log.Recorded()); n != 3 {
		t.Errorf("%d events, want 3", n)
	}
}

func TestKeys(t *testing.T) {
	h, log := mustService(t, nil)
	var scenarios []handlerstest.Scenario
	for i, c := range []struct {
		key string
		ok  bool
	}{
		{"8e03978e-40d5-43e8-bc93-6894a57f9324", true}, {`"8e03978e-40d5-43e8-bc93-6894a57f9325"`, true}, {"a:b/c+d=", true},
		{`"with space, comma; and \"quote\" and \\"`, true}, {strings.Repeat("x", 255), true}, {`"` + strings.Repeat("y", 255) + `"`, true},
		{"", false}, {`""`, false}, {`"`, false}, {`"a`, false}, {`a"`, false}, {`"a"b"`, false}, {`"a\b"`, false}, {`"a\`, false}, {`"a\"`, false}, {"a b", false},
		{"a, b", false}, {`"a";b=1`, false}, {"ü", false}, {`"ü"`, false}, {"a\tb", false}, {strings.Repeat("x", 256), false}, {`"` + strings.Repeat("x", 256) + `"`, false},
	} {
		s := handlerstest.Scenario{
			Name: c.key, Method: "POST", Path: servicePath, Header: []string{"Idempotency-Key: " + c.key}, Body: services(fmt.Sprint("n", i)), Status: 207, Submits: 1,
			Contains: []string{`"statusCode":201`},
		}
		if !c.ok {
			s.Status, s.Submits, s.Contains = 400, 0, []string{"Idempotency-Key: ", "is not a key; give one of 1 to 255 printable characters, once, in double quotes or as it is"}
		}
		scenarios = append(scenarios, s)
	}
	handlerstest.Run(t, h, log, scenarios)
}

// Another service's key is another one, and a time later it is again.
func TestKeysAreTheServices(t *testing.T) {
	now, service := handlerstest.Now, "a-service"
	log := handlerstest.NewLog()
	send := func(name string) string {
		h := serviceOn(log, func(o *handlers.Options) {
			o.Service, o.Now, o.NewID = service, func() time.Time { return now }, nil
		})
		return handlerstest.Serve(h, "POST", servicePath, services(name), "Idempotency-Key: k-1").Body.String()
	}
	first := send("a")
	service = "another-service"
	if got := send("b"); !strings.Contains(got, `"statusCode":201`) {
		t.Errorf("at another service: got %s", got)
	}
	service, now = "a-service", now.Add(24*time.Hour-time.Millisecond)
	if got := send("a"); got != first {
		t.Errorf("within a day: got %s, want %s", got, first)
	}
	now = now.Add(time.Millisecond)
	if got := send("c"); !strings.Contains(got, `"statusCode":201`) {
		t.Errorf("after a day: got %s", got)
	}
}

func TestMostAnswers(t *testing.T) {
	h, log := mustService(t, func(o *handlers.Options) { o.IdempotencyAnswers = 2 })
	w := handlerstest.Serve(h, "POST", servicePath, services("a", "b", "c", "d"), "Idempotency-Key: k-1")
	if got := w.Body.String(); strings.Count(got, "201") != 2 || strings.Count(got, "503") != 2 || !strings.Contains(got, "wait until they are a day old") {
		t.Errorf("got %s", got)
	}
	if w := handlerstest.Serve(h, "POST", servicePath, services("c")); !strings.Contains(w.Body.String(), "201") || len(log.Recorded()) != 3 {
		t.Errorf("without a key: got %s", w.Body)
	}
	if got := log.Recorded()[2].Key; got != nil {
		t.Errorf("without a key: got %+v", got)
	}
}

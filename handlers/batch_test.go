package handlers_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"ledge/handlers/handlerstest"
)

func TestMistyped(t *testing.T) {
	h, log := mustService(t, nil)
	var scenarios []handlerstest.Scenario
	for _, c := range []struct{ body, want string }{
		{`[{"service":{"tags":{}}}]`, "[0].service.tags: a JSON object is not possible here; give an array"},
		{`[{"service":{"tags":[1]}}]`, "[0].service.tags[0]: a JSON number is not possible here; give a string"},
		{`[{"service":{"on":1}}]`, "[0].service.on: a JSON number is not possible here; give true or false"},
		{`[{"service":{"size":300}}]`, "[0].service.size: a JSON number 300 is not possible here; give a whole number of 8 bits"},
		{`[{"requestId":[]}]`, "[0].requestId: a JSON array is not possible here; give a string"},
		{`[[]]`, "[0]: a JSON array is not possible here; give an object"},
	} {
		scenarios = append(scenarios, handlerstest.Scenario{Name: c.body, Method: "POST", Path: "/api/v2/service", Body: c.body, Status: 400, Contains: []string{c.want}})
	}
	handlerstest.Run(t, h, log, scenarios)
}

// One time for all of a batch, one event id for each element.
func TestStamps(t *testing.T) {
	h, log := mustService(t, nil)
	body := `[{"apiVersion":"v2","service":{"name":"a"}},{"apiVersion":"v2","service":{"name":"b"}}]`
	handlerstest.Serve(h, "POST", "/api/v2/service", body)
	got := log.Recorded()
	if len(got) != 2 || got[0].EventID == got[1].EventID || got[0].At != got[1].At || got[0].CorrelationID != got[1].CorrelationID {
		t.Errorf("got %+v", got)
	}
}

func TestClientGone(t *testing.T) {
	h, log := mustService(t, nil)
	log.Fail = context.Canceled
	if w := handlerstest.Serve(h, "POST", "/api/v2/service", service("a")); w.Code != 503 {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func FuzzBatch(f *testing.F) {
	f.Add(service("a"))
	f.Add(`[{},null,{"service":{"name":"a","tags":["x"],"on":true,"size":1}}]garbage`)
	f.Add(`[{"apiVersion":"V2","requestId":"x","service":[]}`)
	f.Add("[\n\n{\"a\" 1}]")
	f.Add(`[` + strings.Repeat("[", 100))
	h, log := mustService(f, nil)
	f.Fuzz(func(t *testing.T, body string) {
		before := log.Submits()
		r := httptest.NewRequest("POST", "/api/v2/service", strings.NewReader(body))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 207 && w.Code != 400 && w.Code != 413 {
			t.Errorf("got %d %s", w.Code, w.Body)
		}
		if w.Code != 207 && log.Submits() != before {
			t.Error("submitted")
		}
		if !json.Valid(w.Body.Bytes()) {
			t.Errorf("got %q", w.Body)
		}
	})
}

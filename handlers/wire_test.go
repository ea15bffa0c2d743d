package handlers_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ledge/handlers"
	"ledge/handlers/faults"
	"ledge/handlers/handlerstest"
)

// failure is the body of a refusal.
type failure struct {
	Message string         `json:"message"`
	Errors  []faults.Fault `json:"errors"`
}

// A refusal says in errors what it says in message: in its own body, and in the element of a batch.
func TestErrorsBesideTheMessage(t *testing.T) {
	h, log := mustService(t, nil)
	for _, tt := range []struct {
		body string
		want []faults.Fault
	}{
		{`[{"apiVersion":"v2","services":{"name":"a"}}]`, []faults.Fault{{Path: "[0].services", Cure: `write "service" in its place`}}},
		{`[{"apiVersion":"v2","service":{"name":"a"}},{"apiVersion":"v2","servce":{},"servic":{}}]`, []faults.Fault{
			{Path: "[1].servce", Cure: `write "service" in its place`}, {Path: "[1].servic", Cure: `write "service" in its place`}}},
		{`[{"apiVersion":"v3","service":{"name":"a.b"}}]`, []faults.Fault{
			{Path: "[0].apiVersion", Value: "v3", Cure: `use "v2"`}, {Path: "[0].service.name", Value: "a.b", Cure: "use only letters, digits and - _ ~ : ; ="}}},
		{`[{"apiVersion":"v2","service":{"name":"a","tags":["x",null]}},null]`, []faults.Fault{
			{Path: "[0].service.tags[1]", Cure: "give an entry or leave it out"}, {Path: "[1]", Cure: "give an object"}}},
		{`[{"apiVersion":"v2","service":null}]`, []faults.Fault{{Path: "[0].service.name", Cure: "give a name"}}},
		{"{}", []faults.Fault{{Cure: "send an array of objects: [{…}]"}}},
	} {
		w := handlerstest.Serve(h, "POST", "/api/v2/service", tt.body)
		var got failure
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 400 || got.Message == "" || len(got.Errors) != len(tt.want) {
			t.Errorf("%s: got %d %s, want %+v", tt.body, w.Code, w.Body, tt.want)
			continue
		}
		for i, want := range tt.want {
			if got.Errors[i] != want {
				t.Errorf("%s: got %+v, want %+v", tt.body, got.Errors[i], want)
			}
		}
	}
	if n := len(log.Recorded()); n != 0 {
		t.Errorf("%d events recorded, want none", n)
	}
}

// TestFaultsAreNoted holds that a program that sends a request in process gets the same fields as data.
func TestFaultsAreNoted(t *testing.T) {
	h, _ := mustService(t, nil)
	const body = `[{"apiVersion":"v3","service":{"name":"a.b"}},{"apiVersion":"v2","service":{"name":"a","tags":["x",null]}}]`
	r := httptest.NewRequest(http.MethodPost, "/api/v2/service", strings.NewReader(body))
	ctx, notes := faults.WithNotes(t.Context())
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(ctx))
	var got failure
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Errors) != 3 || len(notes.Fields) != 3 {
		t.Fatalf("noted %+v, answered %s", notes.Fields, w.Body)
	}
	for i, one := range notes.Fields {
		if answered := got.Errors[i]; one.Path != answered.Path || one.Whole || !strings.HasSuffix(one.Says, answered.Cure) {
			t.Errorf("noted %+v, answered %+v", one, answered)
		}
	}
}

// TestIgnoredKeys holds that a success names the keys that nothing was read from.
func TestIgnoredKeys(t *testing.T) {
	h, _ := mustService(t, nil)
	w := handlerstest.Serve(h, "POST", "/api/v2/service", `[{"apiVersion":"v2","service":{"name":"a","colour":"red"},"by":"me"},{"apiVersion":"v2","service":{"name":"b"}}]`)
	var items []handlers.Item
	if err := json.Unmarshal(w.Body.Bytes(), &items); err != nil || len(items) != 2 {
		t.Fatalf("%v: %s", err, w.Body)
	}
	if items[0].StatusCode/100 != 2 || items[0].Message != "ignored, because unknown: by, service.colour" || items[1].Message != "" {
		t.Errorf("got %s", w.Body)
	}
}

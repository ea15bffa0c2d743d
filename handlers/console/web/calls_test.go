package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"ledge/domain"
	"ledge/handlers/faults"
)

// refuseElement answers as a service that refuses an element of a batch.
func refuseElement(w http.ResponseWriter, r *http.Request, err *domain.Error) {
	faults.Note(r.Context(), "", err)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusMultiStatus)
	_ = json.NewEncoder(w).Encode([]any{map[string]any{"statusCode": http.StatusCreated}, map[string]any{"statusCode": 400, "message": err.Message}})
}

func TestProblemsOfFields(t *testing.T) {
	var p domain.Problems
	p.Add("[1].device.name", "%q has a space; use only letters", "a b")
	p.Add("[1].device.protocols.rest", "is missing; give one")
	p.Add("[1].device.nameless", "no")
	err, _ := errors.AsType[*domain.Error](p.Err())
	s := fixture(t, func(w http.ResponseWriter, r *http.Request) { refuseElement(w, r, err) })
	a := s.Call(testContext(t, s), metadataService, http.MethodPost, "/api/v2/device", []any{})
	if a.OK() || a.Status != 400 || a.Message != err.Message {
		t.Fatalf("got %+v", a)
	}
	for field, want := range map[string]string{
		"name": `Name "a b" has a space; use only letters.`, "protocols": "Protocols (rest) is missing; give one.", "description": "",
	} {
		if got := a.Problems.Of(field, upperFirst(field)); got != want {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
}

// TestFieldOfRefusal has a refusal that depends on other entities shown beside its field.
func TestFieldOfRefusal(t *testing.T) {
	for field, err := range map[string]*domain.Error{
		"profileName": domain.Errorf(domain.NotFound, `device "a": device profile "b" does not exist; upload it first`).At("[0].device.profileName"),
		"name":        domain.Errorf(domain.Conflict, `device name "a" exists already; choose another name`).At("[0].device.name"),
		"":            domain.Errorf(domain.Conflict, `device profile "a" is in use; correct profileName`),
	} {
		s := fixture(t, func(w http.ResponseWriter, r *http.Request) { refuseElement(w, r, err) })
		a := s.Call(testContext(t, s), metadataService, http.MethodPost, "/api/v2/device", []any{})
		for _, name := range []string{"name", "profileName", "serviceName"} {
			if got, want := a.Problems.Of(name, "X") == Sentence(err.Message), name == field; got != want {
				t.Errorf("%v: beside %s: %v, want %v", err, name, got, want)
			}
		}
	}
}

func TestLongAnswers(t *testing.T) {
	s := fixture(t, func(w http.ResponseWriter, _ *http.Request) {
		for _, err := w.Write(make([]byte, 1<<20)); err == nil; _, err = w.Write(make([]byte, 1<<20)) {
		}
	})
	c := testContext(t, s)
	if a := s.Call(c, metadataService, http.MethodGet, "/x", nil); a.OK() || !strings.Contains(a.Message, "longer than 8 MiB") || a.Body != nil {
		t.Errorf("got %d %q with %d bytes", a.Status, a.Message, len(a.Body))
	}
}

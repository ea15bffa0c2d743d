package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

func TestProblemsOfFields(t *testing.T) {
	s := fixture(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusMultiStatus)
		_, _ = w.Write([]byte(`[{"statusCode":201},{"statusCode":400,"message":"much is wrong","errors":[
			{"path":"[1].device.name","value":"a b","cure":"use only letters"},{"path":"[1].device.protocols.rest","cure":"give one"},{"path":"[1].device.nameless","cure":"no"}]}]`))
	})
	a := s.Call(testContext(t, s), metadataService, http.MethodPost, "/api/v2/device", []any{})
	if a.OK() || a.Status != 400 || a.Message != "much is wrong" {
		t.Fatalf("got %+v", a)
	}
	for field, want := range map[string]string{"name": "a b: use only letters", "protocols": "give one", "description": ""} {
		if got := a.Problems.Of(field); got != want {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
}

// TestFieldOfCure has a refusal that depends on other entities shown beside its field.
func TestFieldOfCure(t *testing.T) {
	for message, field := range map[string]string{
		`device "a": device profile "b" does not exist; upload it first or correct profileName`:             "profileName",
		`device "a": device service "b" does not exist; add it first or correct serviceName`:                "serviceName",
		`device name "a" exists already; choose another name or change the one that is there`:               "name",
		`device profile "a" is in use (devices and provision watchers: 1); remove them or give them others`: "",
	} {
		s := fixture(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(map[string]any{"statusCode": http.StatusNotFound, "message": message})
		})
		a := s.Call(testContext(t, s), metadataService, http.MethodPost, "/api/v2/device", []any{})
		for _, name := range []string{"name", "profileName", "serviceName"} {
			if got, want := a.Problems.Of(name) == message, name == field; got != want {
				t.Errorf("%s: beside %s: %v, want %v", message, name, got, want)
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

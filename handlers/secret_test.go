package handlers_test

import (
	"bytes"
	"log/slog"
	"maps"
	"strings"
	"testing"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/handlerstest"
)

func TestSecret(t *testing.T) {
	const path = "/api/v2/secret"
	kept := &handlerstest.Secrets{}
	var logged bytes.Buffer
	h, log := mustService(t, func(o *handlers.Options) {
		o.Secrets, o.SecretBytes = kept, 500
		o.Logger = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	const head, data = `{"apiVersion":"v2","path":"smtp",`, `"secretData":[{"key":"username","value":"me"},{"key":"password","value":"hunter2"}]}`
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		{Name: "add", Method: "POST", Path: path, Body: head + `"requestId":"f017d99e-9b7d-49fc-a6ea-b2eea30d7ad9",` + data, Status: 201, WantBody: `{"apiVersion":"v2","requestId":"f017d99e-9b7d-49fc-a6ea-b2eea30d7ad9","statusCode":201}` + "\n"},
		{Name: "other case", Method: "POST", Path: path, Body: strings.Replace(head, "v2", "V2", 1) + data + "hunter2", Status: 201},
		{Name: "get", Method: "GET", Path: path, Status: 405},
		{Name: "nothing", Method: "POST", Path: path, Status: 400, Contains: []string{"the body ends early; send {"}},
		{Name: "half", Method: "POST", Path: path, Body: head + data[:60], Status: 400, Contains: []string{"the body ends early"}},
		{Name: "no JSON", Method: "POST", Path: path, Body: `{"path":hunter2}`, Status: 400, Contains: []string{"the body is no JSON at byte 9"}},
		{Name: "array", Method: "POST", Path: path, Body: "[" + head + data + "]", Status: 400, Contains: []string{"the body: has the wrong type; give an object"}},
		{Name: "number", Method: "POST", Path: path, Body: head + `"secretData":[{"key":"k","value":12345678}]}`, Status: 400, Contains: []string{"secretData.value: has the wrong type; give a string"}},
		{Name: "no data", Method: "POST", Path: path, Body: `{"apiVersion":"v2","path":"x"}`, Status: 400, Contains: []string{"secretData: is missing or empty"}},
		{Name: "no version", Method: "POST", Path: path, Body: `{"path":"x",` + data, Status: 400, Contains: []string{`apiVersion: is missing or unknown; use \"v2\"`}},
		{Name: "wrong places", Method: "POST", Path: path, Body: `{"apiVersion":"hunter2","requestId":"hunter2","path":"//","secretData":[{"key":"hunter2\n"}]}`, Status: 400, Contains: []string{
			"apiVersion: is", "requestId: is no UUID", "path: is missing or empty", "secretData[0].key: is longer than 256 bytes or not all printable", "secretData[0].value: is missing or empty"}},
		{Name: "too large", Method: "POST", Path: path, Body: head + strings.Repeat(" ", 500) + data, Status: 413, Contains: []string{"which is the limit; send less\""}},
	})
	if want := map[string]string{"username": "me", "password": "hunter2"}; len(kept.ByPath) != 1 || !maps.Equal(kept.ByPath["smtp"], want) {
		t.Errorf("kept %v, want %v", kept.ByPath, want)
	}
	kept.Fail = domain.Errorf(domain.Full, "the disk has no room")
	handlerstest.Run(t, h, log, []handlerstest.Scenario{{Name: "full", Method: "POST", Path: path, Body: head + data, Status: 507, Contains: []string{"no room"}}})
	if n := strings.Count(logged.String(), `msg="secret stored" service=core-metadata path=smtp`); n != 2 || strings.Contains(logged.String(), "hunter2") {
		t.Errorf("logged: %s", &logged)
	}
}

// Nothing that is answered to a bad request has any of its values.
func TestBadSecretsAreNotShown(t *testing.T) {
	h, _ := mustService(t, func(o *handlers.Options) { o.Secrets, o.SecretBytes = &handlerstest.Secrets{}, 500 })
	for _, body := range []string{
		`hunter2`, `"hunter2"`, `{"hunter2"`, `{"path":"p","secretData":{"hunter2":"hunter2"}}`, `{"path":"p","secretData":"hunter2"}`, `{"apiVersion":"v2","path":"hunter2","secretData":[{"key":"hunter2"}]}`,
		`{"apiVersion":"hunter2","requestId":"hunter2","path":"hunter2\u0001","secretData":[{"key":"k","value":"hunter2"}]}`,
	} {
		w := handlerstest.Serve(h, "POST", "/api/v2/secret", body)
		if w.Code != 400 || strings.Contains(w.Body.String(), "hunter2") {
			t.Errorf("%s: got %d %s", body, w.Code, w.Body)
		}
	}
}

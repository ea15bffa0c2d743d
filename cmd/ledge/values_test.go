package main

import (
	"net/http"
	"strings"
	"testing"
)

const typedProfile = `[{"apiVersion":"v2","profile":{"name":"typed","manufacturer":"m","model":"m","deviceResources":[
	{"name":"words","properties":{"valueType":"StringArray","readWrite":"R"}},
	{"name":"level","properties":{"valueType":"Float32","readWrite":"R","scale":"2","units":"m"}},
	{"name":"asserted","properties":{"valueType":"String","readWrite":"R","assertion":"good"}}]}}]`

// What is posted and what EdgeX makes of it go through the log side by side, and a failed assertion is a device's change
// like any other.
func TestPostedValues(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir)
	p.postJSON(http.MethodPost, p.metadata+"/api/v2/deviceprofile", typedProfile, http.StatusCreated)
	p.postJSON(http.MethodPost, p.metadata+"/api/v2/device", "["+strings.Replace(deviceJSON("cam-1"), "sample-image", "typed", 1)+"]", http.StatusCreated)
	readings, changes := p.tapSubscribe(t, "ledge.reading.>"), p.tapSubscribe(t, "ledge.event.device.>")
	for _, tt := range []struct{ resource, body, value string }{
		{"level", "6.25", "1.250000e+01"},
		{"words", "[\"a\\r\\nb\", \"ü %\"]", "[a%0D%0Ab,%20%C3%BC,%20%25]"},
		{"asserted", "good", ""},
	} {
		if a := p.call(http.MethodPost, p.deviceREST+"/api/v2/resource/cam-1/"+tt.resource, "text/plain", tt.body); a.status != http.StatusOK {
			t.Fatalf("%s: got %d %s", tt.resource, a.status, a.body)
		}
		m := readings.next(t)
		if got := m.Header.Get("ce-value"); got != tt.value || string(m.Data) != tt.body {
			t.Errorf("%s: got %s, %q, want %q beside the body", tt.resource, m.Data, got, tt.value)
		}
	}
	if a := p.call(http.MethodPost, p.deviceREST+"/api/v2/resource/cam-1/asserted", "text/plain", "bad"); a.status != http.StatusBadRequest {
		t.Errorf("got %d %s, want 400", a.status, a.body)
	}
	if m := changes.next(t); m.Subject != "ledge.event.device.cam-1.updated" || !strings.Contains(string(m.Data), `"operatingState":{"was":"UP","is":"DOWN"}`) {
		t.Errorf("got %s %s", m.Subject, m.Data)
	}
	p.kill()
	again := start(t, dir)
	if a := again.call(http.MethodGet, again.metadata+"/api/v2/device/name/cam-1", "", ""); !strings.Contains(a.body, `"operatingState":"DOWN"`) {
		t.Errorf("got %d %s, want it DOWN", a.status, a.body)
	}
}

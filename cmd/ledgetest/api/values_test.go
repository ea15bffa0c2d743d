package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
)

const typedProfile = `[{"apiVersion":"v2","profile":{"name":"typed","manufacturer":"m","model":"m","deviceResources":[
	{"name":"bytes","properties":{"valueType":"Uint8Array","readWrite":"R"}},
	{"name":"floats","properties":{"valueType":"Float32Array","readWrite":"R"}},
	{"name":"flags","properties":{"valueType":"BoolArray","readWrite":"R"}},
	{"name":"words","properties":{"valueType":"StringArray","readWrite":"R"}},
	{"name":"level","properties":{"valueType":"Float32","readWrite":"R","scale":"2","units":"m"}},
	{"name":"asserted","properties":{"valueType":"String","readWrite":"R","assertion":"good"}}]}}]`

// What is posted and what EdgeX makes of it go through the log side by side, and a failed assertion is a device's change
// like any other.
func TestPostedValues(t *testing.T) {
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/deviceprofile", typedProfile, http.StatusCreated)
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/device", "["+strings.Replace(ledgetest.DeviceJSON("cam-1"), "sample-image", "typed", 1)+"]", http.StatusCreated)
	readings, changes := p.SubscribeNATS(t, "ledge.reading.>"), p.SubscribeNATS(t, "ledge.event.device.>")
	for _, tt := range []struct{ resource, body, value string }{
		{"level", "6.25", "1.250000e+01"},
		{"level", "8388608.1", "1.6777216e+07"}, // EdgeX 2.3: 1.677722e+07
		{"words", "[\"a\\r\\nb\", \"ü %\"]", "[a%0D%0Ab,%20%C3%BC,%20%25]"},
		{"asserted", "good", ""},
	} {
		if a := p.Call(http.MethodPost, p.DeviceREST+"/api/v2/resource/cam-1/"+tt.resource, "text/plain", tt.body); a.Status != http.StatusOK {
			t.Fatalf("%s: got %d %s", tt.resource, a.Status, a.Body)
		}
		m := readings.Next(t)
		if got := m.Header.Get("ce-value"); got != tt.value || string(m.Data) != tt.body {
			t.Errorf("%s: got %s, %q, want %q beside the body", tt.resource, m.Data, got, tt.value)
		}
	}
	if a := p.Call(http.MethodPost, p.DeviceREST+"/api/v2/resource/cam-1/asserted", "text/plain", "bad"); a.Status != http.StatusBadRequest {
		t.Errorf("got %d %s, want 400", a.Status, a.Body)
	}
	if m := changes.Next(t); m.Subject != "ledge.event.device.cam-1.updated" || !strings.Contains(string(m.Data), `"operatingState":{"was":"UP","is":"DOWN"}`) {
		t.Errorf("got %s %s", m.Subject, m.Data)
	}
	p.Kill()
	again := ledgetest.Start(t, dir)
	if a := again.Call(http.MethodGet, again.Metadata+"/api/v2/device/name/cam-1", "", ""); !strings.Contains(a.Body, `"operatingState":"DOWN"`) {
		t.Errorf("got %d %s, want it DOWN", a.Status, a.Body)
	}
}

// A value of every length is recorded and comes back: as text in a header, in the message, or as it was posted.
func TestPostedListsOfEveryLength(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/deviceprofile", typedProfile, http.StatusCreated)
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/device", "["+strings.Replace(ledgetest.DeviceJSON("cam-1"), "sample-image", "typed", 1)+"]", http.StatusCreated)
	for resource, element := range map[string]struct{ posted, text string }{
		"bytes": {"200", "200"}, "floats": {"1.5", "1.500000e+00"}, "flags": {"1", "true"}, "words": {`"ü%"`, "ü%"},
	} {
		for n := 1; n < 2000; n += max(1, n/8) {
			body := "[" + strings.Join(slices.Repeat([]string{element.posted}, n), ",") + "]"
			if a := p.Call(http.MethodPost, p.DeviceREST+"/api/v2/resource/cam-1/"+resource, "text/plain", body); a.Status != http.StatusOK {
				t.Fatalf("%s of %d: got %d %s", resource, n, a.Status, a.Body)
			}
			want := fmt.Sprintf(`"value":"[%s]"`, strings.Join(slices.Repeat([]string{element.text}, n), ", "))
			if a := p.Call(http.MethodGet, p.CoreData+"/api/v2/reading/resourceName/"+resource+"?limit=1", "", ""); !strings.Contains(a.Body, want) {
				t.Fatalf("%s of %d: got %d %.300s", resource, n, a.Status, a.Body)
			}
		}
	}
}

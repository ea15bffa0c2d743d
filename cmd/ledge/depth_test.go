package main

import (
	"net/http"
	"strings"
	"testing"
)

const objectProfile = `
name: objects
deviceResources:
  - {name: state, properties: {valueType: Object, readWrite: RW}}
`

// TestUnreadableRequests holds that no service takes JSON, YAML or CBOR that is nested too deep or has a number beyond a
// float64, and that everything can be read afterwards, also after a restart.
func TestUnreadableRequests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	if a := p.upload("file", objectProfile); a.status != http.StatusCreated {
		t.Fatalf("%d %s", a.status, a.body)
	}
	p.postJSON(http.MethodPost, p.metadata+"/api/v2/device", "["+strings.Replace(deviceJSON("o-1"), "sample-image", "objects", 1)+"]", http.StatusCreated)

	const asJSON, asCBOR = "application/json", "application/cbor"
	deep := `{"a":` + strings.Repeat("[", 9_996) + strings.Repeat("]", 9_996) + "}"
	limits := map[string]string{deep: "more than 64 levels deep", `{"a":[1e400]}`: "outside the range of a float64"}
	for value, says := range limits {
		batch := `[{"apiVersion":"v2","any":` + value + `}]`
		for url, methods := range map[string]string{
			p.metadata + "/api/v2/device": "POST PATCH", p.metadata + "/api/v2/deviceprofile": "POST PUT", p.metadata + "/api/v2/deviceprofile/basicinfo": "PATCH",
			p.metadata + "/api/v2/deviceprofile/resource": "POST PATCH", p.metadata + "/api/v2/deviceprofile/deviceCommand": "POST PATCH",
			p.metadata + "/api/v2/deviceservice": "POST PATCH", p.metadata + "/api/v2/provisionwatcher": "POST PATCH",
			p.notifications + "/api/v2/subscription": "POST PATCH", p.notifications + "/api/v2/notification": "POST",
		} {
			for _, method := range strings.Fields(methods) {
				p.refuses(method, url, asJSON, batch, says)
			}
		}
		object := `{"apiVersion":"v2","event":{"apiVersion":"v2","tags":` + value + `}}`
		p.refuses("POST", p.coreData+"/api/v2/event/objects/o-1/state", asJSON, object, says)
		p.refuses("POST", p.notifications+"/api/v2/secret", asJSON, object, says)
		p.refuses("POST", p.deviceREST+"/api/v2/secret", asJSON, object, says)
		p.refuses("PUT", p.deviceREST+"/api/v2/callback/service", asJSON, object, says)
		p.refuses("PUT", p.deviceREST+"/api/v2/callback/profile", asJSON, object, says)
		p.refuses("POST", p.deviceREST+"/api/v2/resource/o-1/state", asJSON, value, says)
		p.refuses("POST", p.deviceREST+"/api/v2/resource/o-1/state", asJSON, `{"long":"`+strings.Repeat("x", 300<<10)+`","any":`+value+"}", says) // streamed
	}
	p.refuses("POST", p.coreData+"/api/v2/event/objects/o-1/state", asCBOR, strings.Repeat("\x81", 5000)+"\x01", "CBOR")
	for file, says := range map[string]string{"name: p\nx: " + strings.Repeat("[", 100) + strings.Repeat("]", 100): "levels deep", "name: p\nx: 1e400": "float64"} {
		if a := p.upload("file", file); a.status != http.StatusBadRequest || !strings.Contains(a.body, says) {
			t.Errorf("profile file: got %d %.300s, want %s", a.status, a.body, says)
		}
	}

	for range 2 {
		for _, url := range []string{p.metadata + "/api/v2/deviceprofile/all", p.metadata + "/api/v2/device/all", p.notifications + "/api/v2/subscription/all", p.coreData + "/api/v2/event/all"} {
			if a := p.call(http.MethodGet, url, "", ""); a.status != http.StatusOK {
				t.Errorf("%s: got %d %.300s", url, a.status, a.body)
			}
		}
		p.stop()
		p = start(t, dir)
	}
}

// refuses holds that a request is answered 400 and says why.
func (p *process) refuses(method, url, contentType, body, says string) {
	p.tb.Helper()
	if a := p.call(method, url, contentType, body); a.status != http.StatusBadRequest || !strings.Contains(a.body, says) {
		p.tb.Errorf("%s %s: got %d %.300s, want 400 with %q", method, url, a.status, a.body, says)
	}
}

package api

import (
	"net/http"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
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
	p := ledgetest.Start(t, dir)
	if a := p.Upload("file", objectProfile); a.Status != http.StatusCreated {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/device", "["+strings.Replace(ledgetest.DeviceJSON("o-1"), "sample-image", "objects", 1)+"]", http.StatusCreated)

	const asJSON, asCBOR = "application/json", "application/cbor"
	deep := `{"a":` + strings.Repeat("[", 9_996) + strings.Repeat("]", 9_996) + "}"
	limits := map[string]string{deep: "more than 64 levels deep", `{"a":[1e400]}`: "outside the range of a float64"}
	for value, says := range limits {
		batch := `[{"apiVersion":"v2","any":` + value + `}]`
		for url, methods := range map[string]string{
			p.Metadata + "/api/v2/device": "POST PATCH", p.Metadata + "/api/v2/deviceprofile": "POST PUT", p.Metadata + "/api/v2/deviceprofile/basicinfo": "PATCH",
			p.Metadata + "/api/v2/deviceprofile/resource": "POST PATCH", p.Metadata + "/api/v2/deviceprofile/deviceCommand": "POST PATCH",
			p.Metadata + "/api/v2/deviceservice": "POST PATCH", p.Metadata + "/api/v2/provisionwatcher": "POST PATCH",
			p.Notifications + "/api/v2/subscription": "POST PATCH", p.Notifications + "/api/v2/notification": "POST",
		} {
			for _, method := range strings.Fields(methods) {
				refuses(p, method, url, asJSON, batch, says)
			}
		}
		object := `{"apiVersion":"v2","event":{"apiVersion":"v2","tags":` + value + `}}`
		refuses(p, "POST", p.CoreData+"/api/v2/event/objects/o-1/state", asJSON, object, says)
		refuses(p, "POST", p.Notifications+"/api/v2/secret", asJSON, object, says)
		refuses(p, "POST", p.DeviceREST+"/api/v2/secret", asJSON, object, says)
		refuses(p, "PUT", p.DeviceREST+"/api/v2/callback/service", asJSON, object, says)
		refuses(p, "PUT", p.DeviceREST+"/api/v2/callback/profile", asJSON, object, says)
		refuses(p, "POST", p.DeviceREST+"/api/v2/resource/o-1/state", asJSON, value, says)
		refuses(p, "POST", p.DeviceREST+"/api/v2/resource/o-1/state", asJSON, `{"long":"`+strings.Repeat("x", 300<<10)+`","any":`+value+"}", says) // streamed
	}
	refuses(p, "POST", p.CoreData+"/api/v2/event/objects/o-1/state", asCBOR, strings.Repeat("\x81", 5000)+"\x01", "CBOR")
	for file, says := range map[string]string{"name: p\nx: " + strings.Repeat("[", 100) + strings.Repeat("]", 100): "levels deep", "name: p\nx: 1e400": "float64"} {
		if a := p.Upload("file", file); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, says) {
			t.Errorf("profile file: got %d %.300s, want %s", a.Status, a.Body, says)
		}
	}

	for range 2 {
		for _, url := range []string{p.Metadata + "/api/v2/deviceprofile/all", p.Metadata + "/api/v2/device/all", p.Notifications + "/api/v2/subscription/all", p.CoreData + "/api/v2/event/all"} {
			if a := p.Call(http.MethodGet, url, "", ""); a.Status != http.StatusOK {
				t.Errorf("%s: got %d %.300s", url, a.Status, a.Body)
			}
		}
		p.Stop()
		p = ledgetest.Start(t, dir)
	}
}

// refuses holds that a request is answered 400 and says why.
func refuses(p *ledgetest.Node, method, url, contentType, body, says string) {
	p.TB.Helper()
	if a := p.Call(method, url, contentType, body); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, says) {
		p.TB.Errorf("%s %s: got %d %.300s, want 400 with %q", method, url, a.Status, a.Body, says)
	}
}

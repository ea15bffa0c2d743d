package metadata

import (
	"strings"
	"testing"

	"ledge/domain"
	"ledge/handlers/handlerstest"
)

const key = "Idempotency-Key: k-1"

// wantReplay sends a request again and holds that the answer is the first one and nothing is recorded.
func wantReplay(t *testing.T, send func() (status int, body string), log *handlerstest.Log, status int, body string) {
	t.Helper()
	before := len(log.Recorded())
	if s, b := send(); s != status || b != body {
		t.Errorf("again: got %d %s, want %d %s", s, b, status, body)
	}
	if n := len(log.Recorded()); n != before {
		t.Errorf("again: %d events more", n-before)
	}
}

// The boundary of a form is another one each time it is sent.
func TestUploadOnce(t *testing.T) {
	h, log := mustMetadata(t)
	boundary := "b0undary"
	upload := func(file string) (int, string) {
		boundary += "x"
		w := handlerstest.Serve(h, "POST", "/api/v2/deviceprofile/uploadfile", strings.ReplaceAll(form("file", file), "b0undary", boundary),
			"Content-Type: multipart/form-data; boundary="+boundary, key)
		return w.Code, w.Body.String()
	}
	again := func() (int, string) { return upload(cameraYAML) }
	status, first := again()
	if status != 201 || !strings.Contains(first, `"id":"`) {
		t.Fatalf("got %d %s", status, first)
	}
	wantReplay(t, again, log, status, first)
	log.Given(t, domain.RemoveProfile{Name: "yaml-1"})
	wantReplay(t, again, log, status, first)
	if status, got := upload(cameraYAML + "\n"); status != 422 || !strings.Contains(got, `"statusCode":422`) {
		t.Errorf("another file: got %d %s", status, got)
	}
}

func TestUploadRefusedOnce(t *testing.T) {
	h, log := mustMetadata(t)
	upload := func() (int, string) {
		w := handlerstest.Serve(h, "POST", "/api/v2/deviceprofile/uploadfile", form("file", strings.ReplaceAll(cameraYAML, "yaml-1", "camera")), formType, key)
		return w.Code, w.Body.String()
	}
	status, first := upload()
	if status != 409 || !strings.Contains(first, "exists already") {
		t.Fatalf("got %d %s", status, first)
	}
	log.Given(t, domain.RemoveDevice{Name: "cam-1"}, domain.RemoveProfile{Name: "camera"})
	wantReplay(t, upload, log, status, first)
}

func TestAddOnce(t *testing.T) {
	for path, body := range map[string]string{
		"/api/v2/device":                      batch("device", device(), device()),
		"/api/v2/deviceprofile":               batch("profile", `{"name":"p-2","deviceResources":[{"name":"r","properties":{"valueType":"Int8","readWrite":"R"}}]}`),
		"/api/v2/deviceservice":               batch("service", `{"name":"s-2","baseAddress":"http://localhost:1","adminState":"UNLOCKED"}`),
		"/api/v2/deviceprofile/resource":      `[{"apiVersion":"v2","profileName":"camera","resource":{"name":"r","properties":{"valueType":"Int8","readWrite":"R"}}}]`,
		"/api/v2/deviceprofile/deviceCommand": `[{"apiVersion":"v2","profileName":"camera","deviceCommand":{"name":"c","readWrite":"R","resourceOperations":[{"deviceResource":"zoom"}]}}]`,
		"/api/v2/provisionwatcher":            batch("provisionWatcher", `{"name":"w","identifiers":{"a":"b"},"serviceName":"device-rest","profileName":"camera","adminState":"UNLOCKED"}`),
	} {
		h, log := mustMetadata(t)
		send := func() (int, string) {
			w := handlerstest.Serve(h, "POST", path, body, key)
			return w.Code, w.Body.String()
		}
		status, first := send()
		if status != 207 || !strings.Contains(first, `"statusCode":201`) {
			t.Errorf("%s: got %d %s", path, status, first)
		}
		wantReplay(t, send, log, status, first)
	}
}

// A condition that held when the request was sent first is not asked again, and the ETag is that of then.
func TestConditionOnce(t *testing.T) {
	h, log := mustMetadata(t)
	get := handlerstest.Serve(h, "GET", "/api/v2/deviceprofile/name/camera", "")
	const path = "/api/v2/deviceprofile/resource"
	body := `[{"apiVersion":"v2","profileName":"camera","resource":{"name":"r","properties":{"valueType":"Int8","readWrite":"R"}}}]`
	match := "If-Match: " + get.Header().Get("ETag")
	first := handlerstest.Serve(h, "POST", path, body, key, match)
	log.Given(t, domain.RemoveDevice{Name: "cam-1"}, domain.RemoveDeviceResource{Profile: "camera", Name: "r", At: 1})
	again := handlerstest.Serve(h, "POST", path, body, key, match)
	if etag := first.Header().Get("ETag"); first.Code != 207 || etag == "" || again.Body.String() != first.Body.String() || again.Header().Get("ETag") != etag {
		t.Errorf("got %d %s %v, then %d %s %v", first.Code, first.Body, first.Header(), again.Code, again.Body, again.Header())
	}
	before := len(log.Recorded())
	if w := handlerstest.Serve(h, "POST", path, body, "Idempotency-Key: k-2", match); w.Code != 412 || len(log.Recorded()) != before {
		t.Errorf("stale: got %d %s", w.Code, w.Body)
	}
	upload := func(header ...string) (int, string) {
		w := handlerstest.Serve(h, "POST", "/api/v2/deviceprofile/uploadfile", form("file", cameraYAML), append(header, formType, "Idempotency-Key: k-3")...)
		return w.Code, w.Header().Get("ETag")
	}
	if status, _ := upload("If-Match: *"); status != 400 {
		t.Errorf("an upload that adds, with a condition: got %d", status)
	}
	status, etag := upload()
	if s, e := upload(); status != 201 || etag == "" || s != status || e != etag {
		t.Errorf("got %d %s, then %d %s", status, etag, s, e)
	}
}

package devicerest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/handlerstest"
)

// memory is Payloads in memory.
type memory struct {
	kept     [][]byte
	released []string // as "used <digest>" or "unused <digest>"
}

func (m *memory) Release(digest string, used bool) {
	word := "unused "
	if used {
		word = "used "
	}
	m.released = append(m.released, word+digest)
}

func (m *memory) Put(_ context.Context, r io.Reader, limit int64) (string, int64, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return "", 0, errors.New("copy payload: failed") // as one that loses the cause
	}
	m.kept = append(m.kept, b)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), int64(len(b)), nil
}

const (
	inlineBytes   = 1000
	resourceBytes = 20_000
)

// mustDeviceREST returns device-rest with a device "cam-1" and, of another service, "other-1".
func mustDeviceREST(tb testing.TB, change ...func(*handlers.Options)) (http.Handler, *handlerstest.Log, *memory) {
	tb.Helper()
	log, payloads := handlerstest.NewLog(), &memory{}
	var resources []domain.DeviceResource
	for _, t := range domain.ValueTypes {
		resources = append(resources, domain.DeviceResource{Name: "v" + t, Properties: domain.ResourceProperties{ValueType: t, ReadWrite: "R"}})
	}
	resources = append(resources, domain.DeviceResource{
		Name: "jpeg", Properties: domain.ResourceProperties{ValueType: "Binary", ReadWrite: "R", MediaType: "image/jpeg"},
	})
	for _, readWrite := range []string{"W", "RW"} {
		resources = append(resources, domain.DeviceResource{Name: readWrite, Properties: domain.ResourceProperties{ValueType: "Int32", ReadWrite: readWrite}})
	}
	device := func(id int, name, service string) domain.Command {
		return domain.AddDevice{Device: domain.Device{
			ID: handlerstest.ID(id), Name: name, AdminState: "UNLOCKED", OperatingState: "UP", ServiceName: service, ProfileName: "all",
			ProtocolName: "rest", Protocols: map[string]map[string]string{"other": {}},
		}}
	}
	service := func(id int, name string) domain.Command {
		return domain.AddService{Service: domain.DeviceService{ID: handlerstest.ID(id), Name: name, BaseAddress: "http://h:1", AdminState: "UNLOCKED"}}
	}
	command := func(name, readWrite string) domain.DeviceCommand {
		return domain.DeviceCommand{Name: name, ReadWrite: readWrite, ResourceOperations: []domain.ResourceOperation{{DeviceResource: "RW"}}}
	}
	log.Given(tb,
		service(901, "device-rest"), service(902, "device-virtual"),
		domain.AddProfile{Profile: domain.Profile{ID: handlerstest.ID(903), Name: "all", DeviceResources: resources, DeviceCommands: []domain.DeviceCommand{
			command("readIt", "R"), command("writeIt", "W"), command("vInt8", "RW"),
		}}},
		device(904, "cam-1", "device-rest"), device(905, "other-1", "device-virtual"),
	)
	o := handlerstest.Options("device-rest")
	o.InlineBytes, o.ResourceBytes = inlineBytes, resourceBytes
	for _, f := range change {
		f(&o)
	}
	return contract.Watch(tb, New(o, log.View, log, log, payloads)), log, payloads
}

const resource = "/api/v2/resource/cam-1/"

func post(name, to, contentType, body string, status int, want string) handlerstest.Scenario {
	s := handlerstest.Scenario{Name: name, Method: "POST", Path: to, Body: body, Status: status, WantBody: want}
	if contentType != "" {
		s.Header = []string{"Content-Type: " + contentType}
	}
	if status == 200 {
		s.Submits = 1
	}
	return s
}

func TestPostValue(t *testing.T) {
	h, log, payloads := mustDeviceREST(t)
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		post("binary", resource+"jpeg", "image/jpeg", "\xff\xd8\x00", 200, ""),
		post("binary without a media type", resource+"vBinary", "", "abc", 200, ""),
		post("as long as is kept inline", resource+"vBinary", "image/png", strings.Repeat("x", inlineBytes), 200, ""),
		post("number", resource+"vInt32", "text/plain", "46", 200, ""),
		post("text", resource+"vString", "", "ü", 200, ""),
		post("object", resource+"vObject", "application/json", `{"id":"1234","n":[1,2.5,null]}`, 200, ""),
	})
	events := log.Recorded()
	got := events[len(events)-6].Event.(domain.ReadingPosted)
	want := domain.Reading{
		ID: got.ID, Event: got.Event, Profile: "all", Device: "cam-1", Resource: "jpeg", ValueType: "Binary", MediaType: "image/jpeg", Size: 3,
		Origin: handlerstest.Now.UnixNano(),
	}
	if got.Reading != want || string(got.Value) != "\xff\xd8\x00" || !domain.IsUUID(got.ID) || !domain.IsUUID(got.Event) || got.Event == got.ID {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if len(payloads.kept) != 0 {
		t.Errorf("payloads: got %d, want none", len(payloads.kept))
	}
}

// As in EdgeX 2.3, the value of an Object may be any JSON but null: short ones are read in memory, long ones as a stream.
func TestPostAnyObject(t *testing.T) {
	h, log, payloads := mustDeviceREST(t)
	for _, body := range []string{`[1,{"a":null}]`, "[]", `"text"`, `""`, "0", "-1.5e3", "true", " false\n", "{}"} {
		handlerstest.Run(t, h, log, []handlerstest.Scenario{post(body, resource+"vObject", "application/json", body, 200, "")})
		if got := last(log); string(got.Value) != body || got.ValueType != "Object" {
			t.Errorf("%s: got %+v %q", body, got.Reading, got.Value)
		}
		long := strings.Repeat(" ", inlineBytes) + body
		handlerstest.Run(t, h, log, []handlerstest.Scenario{post("long "+body, resource+"vObject", "application/json", long, 200, "")})
		if n := len(payloads.kept); n == 0 || string(payloads.kept[n-1]) != long {
			t.Errorf("long %s: not kept as it was posted", body)
		}
	}
	before := len(log.Recorded())
	for _, body := range []string{"null", " null ", "nul", "x", "[1", `{"a"}`, "1 2", `"a`, "1."} {
		handlerstest.Run(t, h, log, []handlerstest.Scenario{
			post(body, resource+"vObject", "application/json", body, 400, ""),
			post("long "+body, resource+"vObject", "application/json", strings.Repeat(" ", inlineBytes)+body, 400, ""),
		})
	}
	if after := len(log.Recorded()); after != before {
		t.Errorf("%d values recorded, want none", after-before)
	}
}

func TestPostLongValue(t *testing.T) {
	h, log, payloads := mustDeviceREST(t)
	long := strings.Repeat("x", inlineBytes+1)
	object := `{"a":"` + long + `","b":[{},[1]]}`
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		post("binary", resource+"jpeg", "image/jpeg", long, 200, ""),
		post("as long as may be", resource+"vBinary", "", strings.Repeat("y", resourceBytes), 200, ""),
		post("text", resource+"vString", "", long, 200, ""),
		post("object", resource+"vObject", "application/json", object+"\n", 200, ""),
	})
	if len(payloads.kept) != 4 || string(payloads.kept[0]) != long || string(payloads.kept[3]) != object+"\n" {
		t.Fatalf("payloads: got %d", len(payloads.kept))
	}
	events := log.Recorded()
	got := events[len(events)-4].Event.(domain.ReadingPosted)
	sum := sha256.Sum256([]byte(long))
	if got.Digest != hex.EncodeToString(sum[:]) || got.Size != inlineBytes+1 || len(got.Value) != 0 || got.MediaType != "image/jpeg" {
		t.Errorf("got %+v", got)
	}
}

func TestBadPosts(t *testing.T) {
	h, log, payloads := mustDeviceREST(t)
	long := strings.Repeat("x", inlineBytes)
	scenarios := []handlerstest.Scenario{
		post("unknown device", "/api/v2/resource/nosuch/jpeg", "image/jpeg", "x", 404, "Device 'nosuch' not found; add it at core-metadata first or correct the device name\n"),
		post("device of another service", "/api/v2/resource/other-1/jpeg", "image/jpeg", "x", 404, "Device 'other-1' not found: its serviceName is 'device-virtual'; change that to 'device-rest' or correct the device name\n"),
		post("unknown resource", resource+"nosuch", "", "1", 404, "Resource 'nosuch' not found in the profile 'all' of the device; add it there or correct the resource name\n"),
		post("no body", resource+"jpeg", "image/jpeg", "", 400, "no request body provided; send the value of resource 'jpeg' as the body\n"),
		post("no content type", resource+"jpeg", "", "x", 400, "resource \"jpeg\": wrong Content-Type: expected \"image/jpeg\" but received \"\"\n"),
		post("other content type", resource+"jpeg", "image/png", "x", 400, ""),
		post("other content type, long", resource+"jpeg", "image/png", long+long, 400, ""),
		post("object of another type", resource+"vObject", "text/plain", "{}", 400, ""),
		post("object that is null", resource+"vObject", "application/json", "null", 400, ""),
		post("object that is no JSON", resource+"vObject", "application/json", "x", 400, ""),
		post("long object that is no JSON", resource+"vObject", "application/json", long+long, 400, ""),
		post("long object that ends early", resource+"vObject", "application/json", `{"a":"`+long+`"`, 400, ""),
		post("long object with more after it", resource+"vObject", "application/json", `{"a":"`+long+`"} x`, 400, ""),
		post("long object without sense", resource+"vObject", "application/json", `{"a":"`+long+`",1}`, 400, ""),
		post("array that is none", resource+"vInt32Array", "", "1", 400, ""),
		post("no number", resource+"vInt32", "", "x", 400, "resource \"vInt32\": \"x\" is no Int32; write one value in plain text\n"),
		post("number out of range", resource+"vUint8", "", "256", 400, ""),
		post("endless number", resource+"vInt8", "", strings.Repeat("0", inlineBytes+1), 413, ""),
		post("over the limit", resource+"vBinary", "", strings.Repeat("x", resourceBytes+1), 413, "the body is longer than 20000 bytes, which is the limit; send less or raise the attribute maxBodyBytes of the resource in its profile\n"),
		post("trailing slash", resource+"vInt32/", "", "1", 404, "404 page not found\n"),
		post("encoded slash", "/api/v2/resource/cam-1%2FvInt32", "", "1", 404, "404 page not found\n"),
		post("no resource", "/api/v2/resource/cam-1", "", "1", 404, "404 page not found\n"),
	}
	for _, method := range []string{"PUT", "GET", "DELETE", "PATCH", "HEAD", "OPTIONS"} {
		scenarios = append(scenarios, handlerstest.Scenario{Name: method, Method: method, Path: resource + "vInt32", Status: 405})
	}
	before := len(log.Recorded())
	handlerstest.Run(t, h, log, scenarios)
	if n := len(log.Recorded()); n != before || len(payloads.kept) != 0 {
		t.Errorf("traces: %d events, %d payloads", n-before, len(payloads.kept))
	}
}

func TestPostAnswersArePlain(t *testing.T) {
	h, log, _ := mustDeviceREST(t)
	w := handlerstest.Serve(h, "POST", "/api/v2/resource/nosuch/jpeg", "x")
	if got := w.Header().Get("Content-Type"); got != "text/plain; charset=utf-8" {
		t.Errorf("content type: got %q", got)
	}
	w = handlerstest.Serve(h, "POST", resource+"vInt8", "1")
	if w.Header().Get("Content-Length") != "0" || w.Header().Get("Content-Type") != "" {
		t.Errorf("success: got %v", w.Header())
	}
	log.Fail = domain.Errorf(domain.Full, "the disk is full; free some of it")
	if w = handlerstest.Serve(h, "POST", resource+"vInt8", "1"); w.Code != 507 || w.Body.String() != "the disk is full; free some of it\n" {
		t.Errorf("full: got %d %s", w.Code, w.Body)
	}
}

// A body of unknown length is refused when it passes the limit or breaks off, and nothing is kept of it.
func TestChunkedBodies(t *testing.T) {
	h, log, payloads := mustDeviceREST(t)
	for _, c := range []struct {
		name string
		body io.Reader
		want int
	}{
		{"short", &pull{"x", io.EOF}, 200},
		{"empty", &pull{"", io.EOF}, 400},
		{"over the limit", &pull{strings.Repeat("x", resourceBytes+1), io.EOF}, 413},
		{"broken off when short", &pull{"x", io.ErrUnexpectedEOF}, 400},
		{"broken off when long", &pull{strings.Repeat("x", inlineBytes+9), io.ErrUnexpectedEOF}, 400},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", resource+"vBinary", c.body))
		if w.Code != c.want {
			t.Errorf("%s: got %d %s, want %d", c.name, w.Code, w.Body, c.want)
		}
	}
	if log.Submits() != 1 || len(payloads.kept) != 0 {
		t.Errorf("traces: %d submits, %d payloads", log.Submits(), len(payloads.kept))
	}
}

// pull reads one byte at a time from its text, then fails with err.
type pull struct {
	text string
	err  error
}

func (p *pull) Read(b []byte) (int, error) {
	if p.text == "" {
		return 0, p.err
	}
	b[0], p.text = p.text[0], p.text[1:]
	return 1, nil
}

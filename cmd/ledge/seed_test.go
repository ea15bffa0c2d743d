package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ledge/bridge/porttest"
	"ledge/cmd/internal/exit"
)

// The tests in this file are named after the numbered rows of the specification that Ledge was built to.

func startSeed(t *testing.T) *process {
	t.Helper()
	return start(t, t.TempDir(), "--log-level", "debug")
}

// upload posts a profile file as multipart form data with one part named part.
func (p *process) upload(part, yaml string) answer {
	p.tb.Helper()
	return p.sendFile(http.MethodPost, part, yaml)
}

func (p *process) sendFile(method, part, yaml string) answer {
	p.tb.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	w, err := form.CreateFormFile(part, "profile.yaml")
	if err != nil {
		p.tb.Fatal(err)
	}
	_, _ = w.Write([]byte(yaml))
	form.Close()
	return p.call(method, p.metadata+"/api/v2/deviceprofile/uploadfile", form.FormDataContentType(), b.String())
}

func mustRead(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// get decodes one entity of an answer.
func (p *process) get(url, entity string) map[string]any {
	p.tb.Helper()
	a := p.call(http.MethodGet, url, "", "")
	var all map[string]any
	if err := json.Unmarshal([]byte(a.body), &all); err != nil || a.status != http.StatusOK {
		p.tb.Fatalf("GET %s: got %d %s, want 200", url, a.status, a.body)
	}
	m, _ := all[entity].(map[string]any)
	return m
}

func (p *process) addSubscription(name string, port int, topic string, more string) {
	p.tb.Helper()
	p.postJSON(http.MethodPost, p.notifications+"/api/v2/subscription", fmt.Sprintf(
		`[{"apiVersion":"V2","subscription":{"name":%q,"receiver":"group","adminState":"UNLOCKED","categories":["DEVICE_CHANGED"],
		"channels":[{"type":"ZeroMQ","host":"127.0.0.1","port":%d,"topic":%q}]%s}}]`, name, port, topic, more), http.StatusCreated)
}

func TestSeed_1_1_DeviceServiceIsDeviceREST(t *testing.T) {
	p := startSeed(t)
	s := p.get(p.metadata+"/api/v2/deviceservice/name/device-rest", "service")
	if s["name"] != "device-rest" || s["baseAddress"] != strings.Replace(p.deviceREST, "127.0.0.1", "localhost", 1) {
		t.Fatalf("service = %v, want device-rest at %s", s, p.deviceREST)
	}
	a := p.call(http.MethodGet, p.deviceREST+"/api/v2/ping", "", "")
	if !strings.Contains(a.body, `"serviceName":"device-rest"`) {
		t.Fatalf("ping = %s", a.body)
	}
}

func TestSeed_1_2_DataComesByPOSTNotPUT(t *testing.T) {
	p := startSeed(t)
	url := p.deviceREST + "/api/v2/resource/sample-numeric/int"
	if a := p.call(http.MethodPost, url, "text/plain", "42"); a.status != http.StatusOK || a.body != "" {
		t.Fatalf("POST = %d %q, want 200 and nothing", a.status, a.body)
	}
	if a := p.call(http.MethodPut, url, "text/plain", "42"); a.status != http.StatusMethodNotAllowed {
		t.Fatalf("PUT = %d, want 405", a.status)
	}
}

func TestSeed_1_3_SamplesArePreloadedOnce(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir)
	for _, name := range []string{"sample-image", "sample-json", "sample-numeric"} {
		d := p.get(p.metadata+"/api/v2/device/name/"+name, "device")
		if d["serviceName"] != "device-rest" || d["protocolName"] != "rest" {
			t.Errorf("device %s = %v", name, d)
		}
		p.get(fmt.Sprintf("%s/api/v2/deviceprofile/name/%v", p.metadata, d["profileName"]), "profile")
	}
	p.call(http.MethodDelete, p.metadata+"/api/v2/device/name/sample-json", "", "")
	if code := p.stop(); code != exit.OK {
		t.Fatalf("exit code %d\n%s", code, p.log)
	}
	p = start(t, dir)
	if a := p.call(http.MethodGet, p.metadata+"/api/v2/device/name/sample-json", "", ""); a.status != http.StatusNotFound {
		t.Fatalf("a deleted sample came back: %d %s", a.status, a.body)
	}
	out, _, _ := ledge(t, "log", "--data-dir", dir)
	if n := strings.Count(out, "device sample-image added"); n != 1 {
		t.Fatalf("sample-image was added %d times, want once\n%s", n, out)
	}
}

func TestSeed_1_4_ProfileThenDeviceThenData(t *testing.T) {
	p := startSeed(t)
	url := p.deviceREST + "/api/v2/resource/cam-1/jpeg"
	if a := p.call(http.MethodPost, url, "image/jpeg", "x"); a.status != http.StatusNotFound {
		t.Fatalf("before: %d, want 404", a.status)
	}
	device := strings.Replace(deviceJSON("cam-1"), "sample-image", "camera", 1)
	a := p.postJSON(http.MethodPost, p.metadata+"/api/v2/device", "["+device+"]", http.StatusNotFound)
	if !strings.Contains(a.body, "camera") {
		t.Fatalf("the message does not name the missing profile: %s", a.body)
	}
	p.upload("file", mustRead(t, "../../docs/tour/cam.yaml"))
	p.postJSON(http.MethodPost, p.metadata+"/api/v2/device", "["+device+"]", http.StatusCreated)
	if a := p.call(http.MethodPost, url, "image/jpeg", "x"); a.status != http.StatusOK {
		t.Fatalf("after: %d %s, want 200", a.status, a.body)
	}
}

func TestSeed_1_5_SubscriptionWithHostPortAndTopic(t *testing.T) {
	p := startSeed(t)
	port := porttest.Hold(t)
	p.addSubscription("watch", port, "changes", "")
	s := p.subscribe(port, "changes")
	p.addDevice("cam-1")
	if topic, _ := s.next(); topic != "changes" {
		t.Fatalf("topic = %q", topic)
	}
}

func TestSeed_2_1_Device(t *testing.T) {
	p := startSeed(t)
	full := `{"name":"cam-1","description":"at the door","labels":["door","hd"],"adminState":"UNLOCKED","operatingState":"UP",
		"serviceName":"device-rest","profileName":"sample-image","protocolName":"rest","protocols":{"other":{}}}`
	p.postJSON(http.MethodPost, p.metadata+"/api/v2/device", `[{"apiVersion":"v2","device":`+full+`}]`, http.StatusCreated)
	got := p.get(p.metadata+"/api/v2/device/name/cam-1", "device")
	var want map[string]any
	_ = json.Unmarshal([]byte(full), &want)
	for field, value := range want {
		if !reflect.DeepEqual(got[field], value) {
			t.Errorf("%s = %v, want %v", field, got[field], value)
		}
	}
	for _, field := range []string{"name", "serviceName", "profileName", "protocolName"} {
		without := map[string]any{}
		_ = json.Unmarshal([]byte(full), &without)
		delete(without, field)
		b, _ := json.Marshal(without)
		a := p.call(http.MethodPost, p.metadata+"/api/v2/device", "application/json", `[{"apiVersion":"v2","device":`+string(b)+`}]`)
		if a.status != http.StatusBadRequest || !strings.Contains(a.body, "device."+field) {
			t.Errorf("without %s: %d %s, want 400 that names it", field, a.status, a.body)
		}
	}
	if a := p.call(http.MethodPost, p.metadata+"/api/v2/device", "application/json", `[{"device":`+full+`}]`); a.status != http.StatusBadRequest || !strings.Contains(a.body, "apiVersion") {
		t.Errorf("without apiVersion: %d %s, want 400 that names it", a.status, a.body)
	}
}

func TestSeed_2_2_DeviceProfileFromYAML(t *testing.T) {
	p := startSeed(t)
	if a := p.upload("file", mustRead(t, "../../docs/tour/cam.yaml")); a.status != http.StatusCreated {
		t.Fatalf("upload = %d %s", a.status, a.body)
	}
	profile := p.get(p.metadata+"/api/v2/deviceprofile/name/camera", "profile")
	var names []any
	for _, r := range profile["deviceResources"].([]any) {
		names = append(names, r.(map[string]any)["name"])
	}
	if !slices.Contains(names, any("jpeg")) || !slices.Contains(names, any("temperature")) {
		t.Fatalf("resources = %v", names)
	}
}

func TestSeed_2_3_Subscription(t *testing.T) {
	p := startSeed(t)
	full := fmt.Sprintf(`{"name":"watch","description":"all of them","receiver":"group","adminState":"UNLOCKED",
		"categories":["DEVICE_CHANGED"],"labels":["metadata"],
		"channels":[{"type":"ZeroMQ","host":"127.0.0.1","port":%d,"topic":"t","publisher":"ledge"}]}`, porttest.Hold(t))
	url := p.notifications + "/api/v2/subscription"
	p.postJSON(http.MethodPost, url, `[{"apiVersion":"V2","subscription":`+full+`}]`, http.StatusCreated)
	got := p.get(url+"/name/watch", "subscription")
	var want map[string]any
	_ = json.Unmarshal([]byte(full), &want)
	for field, value := range want {
		if !reflect.DeepEqual(got[field], value) {
			t.Errorf("%s = %v, want %v", field, got[field], value)
		}
	}
	for _, field := range []string{"name", "channels", "receiver", "adminState"} {
		without := map[string]any{}
		_ = json.Unmarshal([]byte(full), &without)
		delete(without, field)
		b, _ := json.Marshal(without)
		a := p.call(http.MethodPost, url, "application/json", `[{"apiVersion":"V2","subscription":`+string(b)+`}]`)
		if a.status != http.StatusBadRequest || !strings.Contains(a.body, "subscription."+field) {
			t.Errorf("without %s: %d %s, want 400 that names it", field, a.status, a.body)
		}
	}
}

func TestSeed_2_4_BodyHasFiveFields(t *testing.T) {
	p := startSeed(t)
	port := porttest.Hold(t)
	p.addSubscription("watch", port, "t", "")
	s := p.subscribe(port, "t")
	p.addDevice("cam-1")
	_, body := s.next()
	var got map[string]any
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatalf("body %q: %v", body, err)
	}
	want := map[string]any{
		"deviceName": "cam-1", "deviceServiceName": "device-rest", "actionType": "Device creation",
		"operatingState": "UP", "adminState": "UNLOCKED",
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("body = %v, want %v", got, want)
	}
}

func TestSeed_3_States(t *testing.T) {
	p := startSeed(t)
	for _, change := range []string{`"adminState":"LOCKED"`, `"operatingState":"DOWN"`, `"adminState":"UNLOCKED","operatingState":"UP"`} {
		p.postJSON(http.MethodPatch, p.metadata+"/api/v2/device", `[{"apiVersion":"v2","device":{"name":"sample-image",`+change+`}}]`, http.StatusOK)
	}
	d := p.get(p.metadata+"/api/v2/device/name/sample-image", "device")
	if d["adminState"] != "UNLOCKED" || d["operatingState"] != "UP" {
		t.Fatalf("device = %v", d)
	}
}

func TestSeed_4_1_UploadDeviceProfile(t *testing.T) {
	p := startSeed(t)
	if a := p.upload("document", "name: x\n"); a.status != http.StatusBadRequest || !strings.Contains(a.body, "file") {
		t.Errorf("without the part file: %d %s, want 400 that names it", a.status, a.body)
	}
	if a := p.upload("file", "name: tiny\n"); a.status != http.StatusCreated || !strings.Contains(a.body, `"id":`) {
		t.Errorf("upload = %d %s, want 201 with an id", a.status, a.body)
	}
	if a := p.upload("file", "name: tiny\n"); a.status != http.StatusConflict {
		t.Errorf("again = %d %s, want 409", a.status, a.body)
	}
}

func TestSeed_4_2_OnboardDevices(t *testing.T) {
	p := startSeed(t)
	body := "[" + deviceJSON("a") + "," + deviceJSON("sample-image") + "," + deviceJSON("b") + "]"
	p.postJSON(http.MethodPost, p.metadata+"/api/v2/device", body, http.StatusCreated, http.StatusConflict, http.StatusCreated)
	p.get(p.metadata+"/api/v2/device/name/b", "device")
}

func TestSeed_4_3_InputBinaryData(t *testing.T) {
	p := startSeed(t)
	photo := mustRead(t, "../../docs/tour/photo.jpg")
	tap := p.tapSubscribe(t, "ledge.reading.sample-image.sample-image.jpeg")
	if a := p.call(http.MethodPost, p.deviceREST+"/api/v2/resource/sample-image/jpeg", "image/jpeg", photo); a.status != http.StatusOK {
		t.Fatalf("POST = %d %s", a.status, a.body)
	}
	if m := tap.next(t); string(m.Data) != photo || m.Header.Get("content-type") != "image/jpeg" {
		t.Fatalf("tap got %d bytes of %q, want the picture", len(m.Data), m.Header.Get("content-type"))
	}
	for _, tt := range []struct {
		path, contentType string
		want              int
	}{{"sample-image/jpeg", "image/png", 400}, {"sample-image/gif", "image/gif", 404}, {"nobody/jpeg", "image/jpeg", 404}} {
		if a := p.call(http.MethodPost, p.deviceREST+"/api/v2/resource/"+tt.path, tt.contentType, photo); a.status != tt.want {
			t.Errorf("POST %s as %s = %d %s, want %d", tt.path, tt.contentType, a.status, a.body, tt.want)
		}
	}
}

func TestSeed_4_4_CreateSubscriptions(t *testing.T) {
	p := startSeed(t)
	port := porttest.Hold(t)
	p.addSubscription("one", port, "t", "")
	// The port of the metadata service cannot be bound: a clear error, and nothing is stored.
	taken := p.metadata[strings.LastIndex(p.metadata, ":")+1:]
	url := p.notifications + "/api/v2/subscription"
	a := p.call(http.MethodPost, url, "application/json", fmt.Sprintf(`[{"apiVersion":"V2","subscription":{"name":"two","receiver":"r",
		"adminState":"UNLOCKED","categories":["c"],"channels":[{"type":"ZeroMQ","host":"127.0.0.1","port":%s,"topic":"t"}]}}]`, taken))
	if a.status != http.StatusMultiStatus || !strings.Contains(a.body, `"statusCode":400`) || !strings.Contains(a.body, taken) {
		t.Errorf("taken port: %d %s, want 400 that names it", a.status, a.body)
	}
	if a := p.call(http.MethodGet, url+"/name/two", "", ""); a.status != http.StatusNotFound {
		t.Errorf("it was stored: %s", a.body)
	}
}

func TestSeed_6_1_NotificationForEachChange(t *testing.T) {
	p := startSeed(t)
	port := porttest.Hold(t)
	p.addSubscription("watch", port, "t", "")
	s := p.subscribe(port, "t")
	p.addDevice("cam-1")
	p.postJSON(http.MethodPatch, p.metadata+"/api/v2/device", `[{"apiVersion":"v2","device":{"name":"cam-1","adminState":"LOCKED"}}]`, http.StatusOK)
	p.call(http.MethodDelete, p.metadata+"/api/v2/device/name/cam-1", "", "")
	for _, want := range []string{"Device creation", "Device update", "Device removal"} {
		topic, body := s.next()
		if topic != "t" || !strings.Contains(body, `"actionType":"`+want+`"`) || !strings.Contains(body, `"cam-1"`) {
			t.Errorf("got [%q, %s], want %s", topic, body, want)
		}
	}
}

func TestSeed_6_2_SubscribersFilterOnTheTopic(t *testing.T) {
	p := startSeed(t)
	port := porttest.Hold(t)
	p.addSubscription("one", port, "one", "")
	p.addSubscription("two", port, "two", "")
	one, two := p.subscribe(port, "one"), p.subscribe(port, "two")
	for i := range 3 {
		p.addDevice(fmt.Sprint("cam-", i))
	}
	for want, s := range map[string]*subscriber{"one": one, "two": two} {
		for i := range 3 {
			if topic, body := s.next(); topic != want || !strings.Contains(body, fmt.Sprintf(`"cam-%d"`, i)) {
				t.Errorf("%s got [%q, %s]", want, topic, body)
			}
		}
	}
}

func TestSeed_7_ErrorsNameFieldValueAndCure(t *testing.T) {
	p := startSeed(t)
	bad := strings.Replace(deviceJSON("cam-1"), "UNLOCKED", "OPEN", 1)
	a := p.call(http.MethodPost, p.metadata+"/api/v2/device", "application/json", "["+deviceJSON("fine")+","+bad+"]")
	for _, part := range []string{"[1].device.adminState", "OPEN", "LOCKED, UNLOCKED"} {
		if !strings.Contains(a.body, part) {
			t.Errorf("answer %s does not say %q", a.body, part)
		}
	}
	if a.status != http.StatusBadRequest {
		t.Errorf("status = %d, want 400", a.status)
	}
	if a := p.call(http.MethodGet, p.metadata+"/api/v2/device/name/fine", "", ""); a.status != http.StatusNotFound {
		t.Error("an element of a refused request was written")
	}
}

func TestSeed_8_Limits(t *testing.T) {
	p := start(t, t.TempDir())
	p.sendProfile(http.MethodPost, `{"name":"small","deviceResources":[{"name":"jpeg","attributes":{"maxBodyBytes":"1024"},
		"properties":{"valueType":"Binary","readWrite":"R","mediaType":"image/jpeg"}}]}`, http.StatusCreated)
	p.postJSON(http.MethodPost, p.metadata+"/api/v2/device", "["+strings.Replace(deviceJSON("small"), "sample-image", "small", 1)+"]", http.StatusCreated)
	url := p.deviceREST + "/api/v2/resource/small/jpeg"
	if a := p.call(http.MethodPost, url, "image/jpeg", strings.Repeat("x", 1024)); a.status != http.StatusOK {
		t.Errorf("at the limit: %d %s", a.status, a.body)
	}
	if a := p.call(http.MethodPost, url, "image/jpeg", strings.Repeat("x", 1025)); a.status != http.StatusRequestEntityTooLarge {
		t.Errorf("over the limit: %d %s, want 413", a.status, a.body)
	}
	if a := p.call(http.MethodPost, p.metadata+"/api/v2/device", "application/json", "["+strings.Repeat(" ", 16<<20)+"]"); a.status != http.StatusRequestEntityTooLarge {
		t.Errorf("JSON over the limit: %d %s, want 413", a.status, a.body)
	}
}

func TestSeed_9_1_PathsAreBelowAPIv2(t *testing.T) {
	p := startSeed(t)
	for _, service := range []string{p.metadata, p.deviceREST, p.notifications} {
		for path, want := range map[string]int{"/api/v2/ping": 200, "/api/v2/version": 200, "/api/v2/config": 200, "/api/v2/metrics": 200, "/api/v1/ping": 404, "/ping": 404} {
			if a := p.call(http.MethodGet, service+path, "", ""); a.status != want {
				t.Errorf("GET %s%s = %d, want %d", service, path, a.status, want)
			}
		}
	}
}

// TestVersionAndHost has a device service say which SDK it was built with, and a container reach the services of its machine.
func TestVersionAndHost(t *testing.T) {
	p := startSeed(t)
	for service, device := range map[string]bool{p.metadata: false, p.coreData: false, p.deviceREST: true, p.notifications: false} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, service+"/api/v2/version", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "host.docker.internal:59881"
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || strings.Contains(string(text), `"sdk_version":"`) != device {
			t.Errorf("%s: %d %s", service, resp.StatusCode, text)
		}
	}
}

func TestSeed_9_2_VersionTagInEitherCase(t *testing.T) {
	p := startSeed(t)
	for i, tag := range []string{"v2", "V2"} {
		device := strings.Replace(deviceJSON(fmt.Sprint("cam-", i)), `"v2"`, `"`+tag+`"`, 1)
		p.postJSON(http.MethodPost, p.metadata+"/api/v2/device", "["+device+"]", http.StatusCreated)
	}
	device := strings.Replace(deviceJSON("cam-3"), `"v2"`, `"v3"`, 1)
	if a := p.call(http.MethodPost, p.metadata+"/api/v2/device", "application/json", "["+device+"]"); a.status != http.StatusBadRequest {
		t.Errorf("v3: %d %s, want 400", a.status, a.body)
	}
}

package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ledge/bridge/porttest"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/services"
	"ledge/cmd/ledgetest"
)

func addSubscription(p *ledgetest.Node, name string, port int, topic string, more string) {
	p.TB.Helper()
	p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/subscription", fmt.Sprintf(
		`[{"apiVersion":"V2","subscription":{"name":%q,"receiver":"group","adminState":"UNLOCKED","categories":["DEVICE_CHANGED"],
		"channels":[{"type":"ZeroMQ","host":"127.0.0.1","port":%d,"topic":%q}]%s}}]`, name, port, topic, more), http.StatusCreated)
}

func TestSeed_1_1_DeviceServiceIsDeviceREST(t *testing.T) {
	p := ledgetest.StartSeed(t)
	s := p.Get(p.Metadata+"/api/v2/deviceservice/name/device-rest", "service")
	if s["name"] != "device-rest" || s["baseAddress"] != strings.Replace(p.DeviceREST, "127.0.0.1", "localhost", 1) {
		t.Fatalf("service = %v, want device-rest at %s", s, p.DeviceREST)
	}
	a := p.Call(http.MethodGet, p.DeviceREST+"/api/v2/ping", "", "")
	if !strings.Contains(a.Body, `"serviceName":"device-rest"`) {
		t.Fatalf("ping = %s", a.Body)
	}
}

func TestSeed_1_2_DataComesByPOSTNotPUT(t *testing.T) {
	p := ledgetest.StartSeed(t)
	url := p.DeviceREST + "/api/v2/resource/sample-numeric/int"
	if a := p.Call(http.MethodPost, url, "text/plain", "42"); a.Status != http.StatusOK || a.Body != "" {
		t.Fatalf("POST = %d %q, want 200 and nothing", a.Status, a.Body)
	}
	if a := p.Call(http.MethodPut, url, "text/plain", "42"); a.Status != http.StatusMethodNotAllowed {
		t.Fatalf("PUT = %d, want 405", a.Status)
	}
}

func TestSeed_1_3_SamplesArePreloadedOnce(t *testing.T) {
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	for _, name := range []string{"sample-image", "sample-json", "sample-numeric"} {
		d := p.Get(p.Metadata+"/api/v2/device/name/"+name, "device")
		if d["serviceName"] != "device-rest" || d["protocolName"] != "rest" {
			t.Errorf("device %s = %v", name, d)
		}
		p.Get(fmt.Sprintf("%s/api/v2/deviceprofile/name/%v", p.Metadata, d["profileName"]), "profile")
	}
	p.Call(http.MethodDelete, p.Metadata+"/api/v2/device/name/sample-json", "", "")
	if code := p.Stop(); code != exit.OK {
		t.Fatalf("exit code %d\n%s", code, p.Log)
	}
	p = ledgetest.Start(t, dir)
	if a := p.Call(http.MethodGet, p.Metadata+"/api/v2/device/name/sample-json", "", ""); a.Status != http.StatusNotFound {
		t.Fatalf("a deleted sample came back: %d %s", a.Status, a.Body)
	}
	out, _, _ := ledgetest.Run(t, "log", "--data-dir", dir)
	if n := strings.Count(out, "device sample-image added"); n != 1 {
		t.Fatalf("sample-image was added %d times, want once\n%s", n, out)
	}
}

// TestSamplesStayAway holds that a first start without samples adds device-rest alone, and that no later start adds them.
func TestSamplesStayAway(t *testing.T) {
	dir := t.TempDir()
	for _, samples := range []string{"false", "true"} {
		p := ledgetest.Start(t, dir, "--samples="+samples)
		for path, want := range map[string]string{
			"device/all": `"totalCount":0,`, "deviceprofile/all": `"totalCount":0,`, "deviceservice/all": `"totalCount":1,`,
		} {
			if a := p.Call(http.MethodGet, p.Metadata+"/api/v2/"+path, "", ""); !strings.Contains(a.Body, want) {
				t.Errorf("samples=%s: %s: %d %s, want %s", samples, path, a.Status, a.Body, want)
			}
		}
		if code := p.Stop(); code != exit.OK {
			t.Fatalf("exit code %d\n%s", code, p.Log)
		}
	}
}

func TestSeed_1_4_ProfileThenDeviceThenData(t *testing.T) {
	p := ledgetest.StartSeed(t)
	url := p.DeviceREST + "/api/v2/resource/cam-1/jpeg"
	if a := p.Call(http.MethodPost, url, "image/jpeg", "x"); a.Status != http.StatusNotFound {
		t.Fatalf("before: %d, want 404", a.Status)
	}
	device := strings.Replace(ledgetest.DeviceJSON("cam-1"), "sample-image", "camera", 1)
	a := p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/device", "["+device+"]", http.StatusNotFound)
	if !strings.Contains(a.Body, "camera") {
		t.Fatalf("the message does not name the missing profile: %s", a.Body)
	}
	p.Upload("file", ledgetest.MustRead(t, "../../../docs/tour/cam.yaml"))
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/device", "["+device+"]", http.StatusCreated)
	if a := p.Call(http.MethodPost, url, "image/jpeg", "x"); a.Status != http.StatusOK {
		t.Fatalf("after: %d %s, want 200", a.Status, a.Body)
	}
}

func TestSeed_1_5_SubscriptionWithHostPortAndTopic(t *testing.T) {
	p := ledgetest.StartSeed(t)
	port := porttest.Hold(t)
	addSubscription(p, "watch", port, "changes", "")
	s := p.Subscribe(port, "changes")
	p.AddDevice("cam-1")
	if topic, _ := s.Next(); topic != "changes" {
		t.Fatalf("topic = %q", topic)
	}
}

func TestSeed_2_1_Device(t *testing.T) {
	p := ledgetest.StartSeed(t)
	full := `{"name":"cam-1","description":"at the door","labels":["door","hd"],"adminState":"UNLOCKED","operatingState":"UP",
		"serviceName":"device-rest","profileName":"sample-image","protocolName":"rest","protocols":{"other":{}}}`
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/device", `[{"apiVersion":"v2","device":`+full+`}]`, http.StatusCreated)
	got := p.Get(p.Metadata+"/api/v2/device/name/cam-1", "device")
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
		a := p.Call(http.MethodPost, p.Metadata+"/api/v2/device", "application/json", `[{"apiVersion":"v2","device":`+string(b)+`}]`)
		if a.Status != http.StatusBadRequest || !strings.Contains(a.Body, "device."+field) {
			t.Errorf("without %s: %d %s, want 400 that names it", field, a.Status, a.Body)
		}
	}
	if a := p.Call(http.MethodPost, p.Metadata+"/api/v2/device", "application/json", `[{"device":`+full+`}]`); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, "apiVersion") {
		t.Errorf("without apiVersion: %d %s, want 400 that names it", a.Status, a.Body)
	}
}

func TestSeed_2_2_DeviceProfileFromYAML(t *testing.T) {
	p := ledgetest.StartSeed(t)
	if a := p.Upload("file", ledgetest.MustRead(t, "../../../docs/tour/cam.yaml")); a.Status != http.StatusCreated {
		t.Fatalf("upload = %d %s", a.Status, a.Body)
	}
	profile := p.Get(p.Metadata+"/api/v2/deviceprofile/name/camera", "profile")
	var names []any
	for _, r := range profile["deviceResources"].([]any) {
		names = append(names, r.(map[string]any)["name"])
	}
	if !slices.Contains(names, any("jpeg")) || !slices.Contains(names, any("temperature")) {
		t.Fatalf("resources = %v", names)
	}
}

func TestSeed_2_3_Subscription(t *testing.T) {
	p := ledgetest.StartSeed(t)
	full := fmt.Sprintf(`{"name":"watch","description":"all of them","receiver":"group","adminState":"UNLOCKED",
		"categories":["DEVICE_CHANGED"],"labels":["metadata"],
		"channels":[{"type":"ZeroMQ","host":"127.0.0.1","port":%d,"topic":"t","publisher":"ledge"}]}`, porttest.Hold(t))
	url := p.Notifications + "/api/v2/subscription"
	p.PostJSON(http.MethodPost, url, `[{"apiVersion":"V2","subscription":`+full+`}]`, http.StatusCreated)
	got := p.Get(url+"/name/watch", "subscription")
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
		a := p.Call(http.MethodPost, url, "application/json", `[{"apiVersion":"V2","subscription":`+string(b)+`}]`)
		if a.Status != http.StatusBadRequest || !strings.Contains(a.Body, "subscription."+field) {
			t.Errorf("without %s: %d %s, want 400 that names it", field, a.Status, a.Body)
		}
	}
}

func TestSeed_2_4_BodyHasFiveFields(t *testing.T) {
	p := ledgetest.StartSeed(t)
	port := porttest.Hold(t)
	addSubscription(p, "watch", port, "t", "")
	s := p.Subscribe(port, "t")
	p.AddDevice("cam-1")
	_, body := s.Next()
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
	p := ledgetest.StartSeed(t)
	for _, change := range []string{`"adminState":"LOCKED"`, `"operatingState":"DOWN"`, `"adminState":"UNLOCKED","operatingState":"UP"`} {
		p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/device", `[{"apiVersion":"v2","device":{"name":"sample-image",`+change+`}}]`, http.StatusOK)
	}
	d := p.Get(p.Metadata+"/api/v2/device/name/sample-image", "device")
	if d["adminState"] != "UNLOCKED" || d["operatingState"] != "UP" {
		t.Fatalf("device = %v", d)
	}
}

func TestSeed_4_1_UploadDeviceProfile(t *testing.T) {
	p := ledgetest.StartSeed(t)
	if a := p.Upload("document", "name: x\n"); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, "file") {
		t.Errorf("without the part file: %d %s, want 400 that names it", a.Status, a.Body)
	}
	if a := p.Upload("file", "name: tiny\n"); a.Status != http.StatusCreated || !strings.Contains(a.Body, `"id":`) {
		t.Errorf("upload = %d %s, want 201 with an id", a.Status, a.Body)
	}
	if a := p.Upload("file", "name: tiny\n"); a.Status != http.StatusConflict {
		t.Errorf("again = %d %s, want 409", a.Status, a.Body)
	}
}

func TestSeed_4_2_OnboardDevices(t *testing.T) {
	p := ledgetest.StartSeed(t)
	body := "[" + ledgetest.DeviceJSON("a") + "," + ledgetest.DeviceJSON("sample-image") + "," + ledgetest.DeviceJSON("b") + "]"
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/device", body, http.StatusCreated, http.StatusConflict, http.StatusCreated)
	p.Get(p.Metadata+"/api/v2/device/name/b", "device")
}

func TestSeed_4_3_InputBinaryData(t *testing.T) {
	p := ledgetest.StartSeed(t)
	photo := ledgetest.MustRead(t, "../../../docs/tour/photo.jpg")
	heard := p.SubscribeNATS(t, "ledge.reading.sample-image.sample-image.jpeg")
	if a := p.Call(http.MethodPost, p.DeviceREST+"/api/v2/resource/sample-image/jpeg", "image/jpeg", photo); a.Status != http.StatusOK {
		t.Fatalf("POST = %d %s", a.Status, a.Body)
	}
	if m := heard.Next(t); string(m.Data) != photo || m.Header.Get("content-type") != "image/jpeg" {
		t.Fatalf("a NATS client got %d bytes of %q, want the picture", len(m.Data), m.Header.Get("content-type"))
	}
	for _, tt := range []struct {
		path, contentType string
		want              int
	}{{"sample-image/jpeg", "image/png", 400}, {"sample-image/gif", "image/gif", 404}, {"nobody/jpeg", "image/jpeg", 404}} {
		if a := p.Call(http.MethodPost, p.DeviceREST+"/api/v2/resource/"+tt.path, tt.contentType, photo); a.Status != tt.want {
			t.Errorf("POST %s as %s = %d %s, want %d", tt.path, tt.contentType, a.Status, a.Body, tt.want)
		}
	}
}

func TestSeed_4_4_CreateSubscriptions(t *testing.T) {
	p := ledgetest.StartSeed(t)
	port := porttest.Hold(t)
	addSubscription(p, "one", port, "t", "")
	// The port of the metadata service cannot be bound: a clear error, and nothing is stored.
	taken := p.Metadata[strings.LastIndex(p.Metadata, ":")+1:]
	url := p.Notifications + "/api/v2/subscription"
	a := p.Call(http.MethodPost, url, "application/json", fmt.Sprintf(`[{"apiVersion":"V2","subscription":{"name":"two","receiver":"r",
		"adminState":"UNLOCKED","categories":["c"],"channels":[{"type":"ZeroMQ","host":"127.0.0.1","port":%s,"topic":"t"}]}}]`, taken))
	if a.Status != http.StatusMultiStatus || !strings.Contains(a.Body, `"statusCode":400`) || !strings.Contains(a.Body, taken) {
		t.Errorf("taken port: %d %s, want 400 that names it", a.Status, a.Body)
	}
	if a := p.Call(http.MethodGet, url+"/name/two", "", ""); a.Status != http.StatusNotFound {
		t.Errorf("it was stored: %s", a.Body)
	}
}

func TestSeed_6_1_NotificationForEachChange(t *testing.T) {
	p := ledgetest.StartSeed(t)
	port := porttest.Hold(t)
	addSubscription(p, "watch", port, "t", "")
	s := p.Subscribe(port, "t")
	p.AddDevice("cam-1")
	p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/device", `[{"apiVersion":"v2","device":{"name":"cam-1","adminState":"LOCKED"}}]`, http.StatusOK)
	p.Call(http.MethodDelete, p.Metadata+"/api/v2/device/name/cam-1", "", "")
	for _, want := range []string{"Device creation", "Device update", "Device removal"} {
		topic, body := s.Next()
		if topic != "t" || !strings.Contains(body, `"actionType":"`+want+`"`) || !strings.Contains(body, `"cam-1"`) {
			t.Errorf("got [%q, %s], want %s", topic, body, want)
		}
	}
}

func TestSeed_6_2_SubscribersFilterOnTheTopic(t *testing.T) {
	p := ledgetest.StartSeed(t)
	port := porttest.Hold(t)
	addSubscription(p, "one", port, "one", "")
	addSubscription(p, "two", port, "two", "")
	one, two := p.Subscribe(port, "one"), p.Subscribe(port, "two")
	for i := range 3 {
		p.AddDevice(fmt.Sprint("cam-", i))
	}
	for want, s := range map[string]*ledgetest.Subscriber{"one": one, "two": two} {
		for i := range 3 {
			if topic, body := s.Next(); topic != want || !strings.Contains(body, fmt.Sprintf(`"cam-%d"`, i)) {
				t.Errorf("%s got [%q, %s]", want, topic, body)
			}
		}
	}
}

func TestSeed_7_ErrorsNameFieldValueAndCure(t *testing.T) {
	p := ledgetest.StartSeed(t)
	bad := strings.Replace(ledgetest.DeviceJSON("cam-1"), "UNLOCKED", "OPEN", 1)
	a := p.Call(http.MethodPost, p.Metadata+"/api/v2/device", "application/json", "["+ledgetest.DeviceJSON("fine")+","+bad+"]")
	for _, part := range []string{"[1].device.adminState", "OPEN", "LOCKED, UNLOCKED"} {
		if !strings.Contains(a.Body, part) {
			t.Errorf("answer %s does not say %q", a.Body, part)
		}
	}
	if a.Status != http.StatusBadRequest {
		t.Errorf("status = %d, want 400", a.Status)
	}
	if a := p.Call(http.MethodGet, p.Metadata+"/api/v2/device/name/fine", "", ""); a.Status != http.StatusNotFound {
		t.Error("an element of a refused request was written")
	}
}

func TestSeed_8_Limits(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	sendProfile(p, http.MethodPost, `{"name":"small","deviceResources":[{"name":"jpeg","attributes":{"maxBodyBytes":"1024"},
		"properties":{"valueType":"Binary","readWrite":"R","mediaType":"image/jpeg"}}]}`, http.StatusCreated)
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/device", "["+strings.Replace(ledgetest.DeviceJSON("small"), "sample-image", "small", 1)+"]", http.StatusCreated)
	url := p.DeviceREST + "/api/v2/resource/small/jpeg"
	if a := p.Call(http.MethodPost, url, "image/jpeg", strings.Repeat("x", 1024)); a.Status != http.StatusOK {
		t.Errorf("at the limit: %d %s", a.Status, a.Body)
	}
	if a := p.Call(http.MethodPost, url, "image/jpeg", strings.Repeat("x", 1025)); a.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("over the limit: %d %s, want 413", a.Status, a.Body)
	}
	if a := p.Call(http.MethodPost, p.Metadata+"/api/v2/device", "application/json", "["+strings.Repeat(" ", 16<<20)+"]"); a.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("JSON over the limit: %d %s, want 413", a.Status, a.Body)
	}
}

func TestSeed_9_1_PathsAreBelowAPIv2(t *testing.T) {
	p := ledgetest.StartSeed(t)
	for _, service := range []string{p.Metadata, p.DeviceREST, p.Notifications} {
		for path, want := range map[string]int{"/api/v2/ping": 200, "/api/v2/version": 200, "/api/v2/config": 200, "/api/v2/metrics": 200, "/api/v1/ping": 404, "/ping": 404} {
			if a := p.Call(http.MethodGet, service+path, "", ""); a.Status != want {
				t.Errorf("GET %s%s = %d, want %d", service, path, a.Status, want)
			}
		}
	}
}

// TestVersionAndHost has all services answer with a version of EdgeX 2, as EdgeX's app-functions-sdk-go checks it, and with Ledge's own
// beside it. A container reaches the services of its machine.
func TestVersionAndHost(t *testing.T) {
	p := ledgetest.StartSeed(t)
	printed, _, _ := ledgetest.Run(t, "version", "--json")
	var own struct{ Version string }
	if err := json.Unmarshal([]byte(printed), &own); err != nil || own.Version == "" {
		t.Fatalf("ledge version --json: %s, %v", printed, err)
	}
	for _, service := range services.REST() {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URLs[service.Name]+"/api/v2/version", nil)
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
		sdk := ""
		if service.Name == services.DeviceREST {
			sdk = `"sdk_version":"2.3.0",`
		}
		want := fmt.Sprintf(`{"apiVersion":"v2","version":"2.3.0","serviceName":%q,%s"ledgeVersion":%q}`, service.Name, sdk, own.Version)
		if resp.StatusCode != http.StatusOK || string(text) != want {
			t.Errorf("%s: %d %s, want %s", service.Name, resp.StatusCode, text, want)
		}
	}
}

func TestSeed_9_2_VersionTagInEitherCase(t *testing.T) {
	p := ledgetest.StartSeed(t)
	for i, tag := range []string{"v2", "V2"} {
		device := strings.Replace(ledgetest.DeviceJSON(fmt.Sprint("cam-", i)), `"v2"`, `"`+tag+`"`, 1)
		p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/device", "["+device+"]", http.StatusCreated)
	}
	device := strings.Replace(ledgetest.DeviceJSON("cam-3"), `"v2"`, `"v3"`, 1)
	if a := p.Call(http.MethodPost, p.Metadata+"/api/v2/device", "application/json", "["+device+"]"); a.Status != http.StatusBadRequest {
		t.Errorf("v3: %d %s, want 400", a.Status, a.Body)
	}
}

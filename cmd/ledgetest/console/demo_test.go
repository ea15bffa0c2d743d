package console

import (
	"bytes"
	"fmt"
	"math"
	"mime/multipart"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// demoProfile is a profile with a resource of each kind that the console shows.
const demoProfile = `name: boiler
manufacturer: Example
model: B-2
labels: [heating]
description: A boiler with a door, a camera and a log
deviceResources:
  - name: temperature
    description: Water temperature
    properties: { valueType: Float32, readWrite: R, units: C, minimum: "-40", maximum: "125" }
  - name: pressure
    description: Water pressure
    properties: { valueType: Float32, readWrite: R }
  - name: door
    description: Whether the door is open
    properties: { valueType: Bool, readWrite: R }
  - name: picture
    description: The gauge
    properties: { valueType: Binary, readWrite: R, mediaType: image/jpeg }
  - name: status
    description: What the controller reports
    properties: { valueType: Object, readWrite: R }
`

// fillConsole gives a node what a site has, so that each page shows something: hostile names are in other tests.
func fillConsole(p *ledgetest.Node, t *testing.T) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "boiler.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = part.Write([]byte(demoProfile)) // a buffer takes all
	_ = form.Close()
	if got := p.Call(http.MethodPost, p.Metadata+"/api/v2/deviceprofile/uploadfile", form.FormDataContentType(), body.String()); got.Status != http.StatusCreated {
		t.Fatal(got)
	}
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/deviceservice", `[{"apiVersion":"v2","service":{"name":"device-modbus","baseAddress":"http://127.0.0.1:1","adminState":"UNLOCKED","labels":["modbus"],"description":"Meters on the bus"}}]`, http.StatusCreated)
	for i, name := range []string{"boiler-1", "boiler-2", "boiler-3", "boiler-4"} {
		state := []string{"UP", "UP", "DOWN", "UP"}[i]
		p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/device", fmt.Sprintf(`[{"apiVersion":"v2","device":{"name":%q,"description":"Hall %d, cellar","adminState":"UNLOCKED","operatingState":%q,
			"labels":["heating","hall-%d"],"serviceName":"device-rest","profileName":"boiler","protocolName":"rest","protocols":{"rest":{"address":"10.0.0.%d"}}}}]`, name, i+1, state, i+1, i+20), http.StatusCreated)
	}
	p.AddDevice("hall")
	p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/subscription", `[{"apiVersion":"v2","subscription":{"name":"gate","description":"The alarm of the gate","receiver":"porter","adminState":"UNLOCKED",
		"categories":["DEVICE_CHANGED"],"labels":["metadata"],"channels":[{"type":"REST","host":"127.0.0.1","port":1,"path":"/alarm","httpMethod":"POST"}]}}]`, http.StatusCreated)
	p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/notification", `[{"apiVersion":"v2","notification":{"category":"DEVICE_CHANGED","content":"The door of hall 2 is open","sender":"porter","severity":"CRITICAL","labels":["door"]}}]`, http.StatusCreated)
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/provisionwatcher", `[{"apiVersion":"v2","provisionWatcher":{"name":"finder","identifiers":{"address":"10\\.0\\.0\\..*"},"profileName":"boiler","serviceName":"device-rest","adminState":"UNLOCKED"}}]`, http.StatusCreated)
	postDemoValues(p, t)
	publishRefused(p, t, `{"apiVersion":"v2"}`)
}

func postDemoValues(p *ledgetest.Node, t *testing.T) {
	t.Helper()
	post := func(resource, contentType, value string) {
		if got := p.Call(http.MethodPost, p.DeviceREST+"/api/v2/resource/"+resource, contentType, value); got.Status != http.StatusOK {
			t.Fatal(resource, got)
		}
	}
	photo := ledgetest.MustRead(t, "../../../docs/tour/photo.jpg")
	const points = 40
	for i := range points {
		at := time.Now().Add(time.Duration(i-points) * 15 * time.Minute).UnixNano()
		got := p.Call(http.MethodPost, p.CoreData+"/api/v2/event/boiler/boiler-2/temperature", "application/json", fmt.Sprintf(`{"apiVersion":"v2","event":{"apiVersion":"v2","id":%q,"deviceName":"boiler-2","profileName":"boiler","sourceName":"temperature","origin":%d,
			"readings":[{"id":%q,"origin":%d,"deviceName":"boiler-2","resourceName":"temperature","profileName":"boiler","valueType":"Float32","units":"C","value":"%.1f"}]}}`,
			uuid.NewString(), at, uuid.NewString(), at, 68+7*math.Sin(float64(i)/5)+float64(i*7%5)/4))
		if got.Status != http.StatusCreated {
			t.Fatal(got)
		}
	}
	post("boiler-2/pressure", "text/plain", "1.8")
	post("boiler-2/door", "text/plain", "false")
	post("boiler-2/status", "application/json", `{"mode":"auto","pump":{"rpm":1450,"hours":8123},"valves":["inlet","return"]}`)
	for range 3 {
		post("boiler-2/picture", "image/jpeg", photo)
		post("sample-image/jpeg", "image/jpeg", photo)
	}
	p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/device", `[{"apiVersion":"v2","device":{"name":"boiler-2","adminState":"LOCKED"}}]`, http.StatusOK)
	p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/device", `[{"apiVersion":"v2","device":{"name":"boiler-2","adminState":"UNLOCKED","description":"Hall 2, behind the pump"}}]`, http.StatusOK)
}

// TestConsolePictures takes the pictures of docs/reference/console.md, where TEST_LEDGE_PICTURES names a folder for them.
func TestConsolePictures(t *testing.T) {
	t.Parallel()
	if os.Getenv("TEST_LEDGE_PICTURES") == "" {
		t.Skip("no pictures are wanted: set TEST_LEDGE_PICTURES to a folder for them")
	}
	p := ledgetest.Start(t, t.TempDir(), "--node-name", "hall-2")
	fillConsole(p, t)
	b := logIn(p, t, domain.Admin)
	b.until(`document.querySelector("#overview").innerText.includes("connection refused")`)
	for _, one := range []struct{ name, path, scheme string }{
		{"overview", "/", "dark"}, {"device", "/devices/boiler-2?resource=temperature", "light"}, {"history", "/devices/boiler-2/history", "light"},
		{"ledger", "/ledger?kind=device", "light"}, {"subscription", "/subscriptions/gate", "dark"},
	} {
		b.look(1280, one.scheme)
		b.open(one.path)
		b.until(`document.readyState === "complete" && (!document.querySelector("[data-chart]") || !!document.querySelector(".uplot"))`)
		b.picture(one.name + "-" + one.scheme)
	}
}

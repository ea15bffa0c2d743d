package bus

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"ledge/cmd/ledgetest"
)

// TestEdgeXPublished posts events to core-data and values to device-rest. A NATS client hears each on edgex.events.core, as EdgeX's
// core-data publishes it, and hears no event twice that came over the bus. The client of EdgeX 2.3 hears them too.
func TestEdgeXPublished(t *testing.T) {
	t.Parallel()
	p := ledgetest.StartSeed(t)
	nc, _ := ledgetest.MustJetStream(t, p.NATS)
	heard, err := nc.SubscribeSync("edgex.events.core.>")
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	next := func(subject, contentType string) *nats.Msg {
		t.Helper()
		m, err := heard.NextMsg(ledgetest.Timeout)
		if err != nil {
			t.Fatalf("%s: %v", subject, err)
		}
		if m.Subject != subject || m.Header.Get("Content-Type") != contentType {
			t.Fatalf("got %s with %v, want %s", m.Subject, m.Header, subject)
		}
		for _, want := range []string{"ApiVersion: v2", "ErrorCode: 0", "RequestId: "} {
			name, value, _ := strings.Cut(want, ": ")
			if values, ok := m.Header[name]; !ok || values[0] != value {
				t.Errorf("%s: the header %s is %q", subject, name, values)
			}
		}
		return m
	}
	type request struct {
		APIVersion string `json:"apiVersion"`
		RequestID  string `json:"requestId"`
		Event      struct {
			ID         string `json:"id"`
			DeviceName string `json:"deviceName"`
			Origin     int64  `json:"origin"`
			Readings   []struct {
				Value       string `json:"value"`
				BinaryValue []byte `json:"binaryValue"`
				MediaType   string `json:"mediaType"`
			} `json:"readings"`
		} `json:"event"`
	}

	overBus, posted := uuid.NewString(), uuid.NewString()
	if err := nc.PublishMsg(edgexMessage(overBus, "core", 1)); err != nil {
		t.Fatal(err)
	}
	ledgetest.Until(t, "the event of the bus", func() bool { return hasEvent(p, overBus) })
	a := p.Call(http.MethodPost, p.CoreData+"/api/v2/event/climate/core/hum", "application/json", edgexEvent(posted, "core", 2),
		"X-Correlation-ID", "c-posted")
	if a.Status != http.StatusCreated {
		t.Fatal(a)
	}
	m := next("edgex.events.core.climate.core.hum", "application/json")
	var r request
	if err := json.Unmarshal(m.Data, &r); err != nil {
		t.Fatal(err)
	}
	if r.APIVersion != "v2" || uuid.Validate(r.RequestID) != nil || r.Event.ID != posted || r.Event.DeviceName != "core" ||
		r.Event.Origin != 1795771745179468565 || r.Event.Readings[0].Value != "2" {
		t.Errorf("got %s", m.Data)
	}
	if got := m.Header["X-Correlation-ID"]; len(got) != 1 || got[0] != "c-posted" {
		t.Errorf("the correlation id is %q", got)
	}

	p.AddDevice("cam")
	post := func(picture string) {
		t.Helper()
		ledgetest.PostTo(p, "cam", "jpeg", "image/jpeg", picture)
	}
	post("\xff\xd8\xff picture")
	m = next("edgex.events.core.sample-image.cam.jpeg", "application/cbor")
	r = request{}
	if err := cbor.Unmarshal(m.Data, &r); err != nil {
		t.Fatal(err)
	}
	if got := r.Event.Readings[0]; string(got.BinaryValue) != "\xff\xd8\xff picture" || got.MediaType != "image/jpeg" {
		t.Errorf("got %+v", got)
	}
	post("\xff\xd8\xff" + strings.Repeat("x", 600<<10))                   // too long for the bus
	wantMetric(t, p, `ledge_edgex_published_total{result="published"} 3`) // with the system event of the device
	wantMetric(t, p, `ledge_edgex_published_total{result="too_large"} 1`)

	client := buildBusClients(t).start(t, "2.3", p.NATS[strings.LastIndexByte(p.NATS, ':')+1:], "nats-core", "nats", "", "", "", "unused")
	client.want("ready")
	post("\xff\xd8\xff again")
	client.want("received edgex/events/core/sample-image/cam/jpeg")
	next("edgex.events.core.sample-image.cam.jpeg", "application/cbor")
}

// TestEdgeXSystemEvents adds, changes, moves and removes a device. A NATS client hears the system events of EdgeX 2.3's core-metadata.
// The former device service of a moved device has one too.
func TestEdgeXSystemEvents(t *testing.T) {
	t.Parallel()
	p := ledgetest.StartSeed(t)
	const other = `[{"apiVersion":"v2","service":{"name":"device-other","adminState":"UNLOCKED","baseAddress":"http://localhost:59999"}}]`
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/deviceservice", other, http.StatusCreated)
	nc, _ := ledgetest.MustJetStream(t, p.NATS)
	heard, err := nc.SubscribeSync("edgex.system-events.>")
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.AddDevice("cam")
	patch := func(fields string) {
		t.Helper()
		body := `[{"apiVersion":"v2","device":{"name":"cam",` + fields + `}}]`
		p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/device", body, http.StatusOK)
	}
	patch(`"adminState":"LOCKED"`)
	patch(`"serviceName":"device-other"`)
	a := p.Call(http.MethodDelete, p.Metadata+"/api/v2/device/name/cam", "", "", "X-Correlation-ID", "c-delete")
	if a.Status != http.StatusOK {
		t.Fatal(a)
	}
	for _, want := range []struct{ action, owner, service, state string }{
		{"add", "device-rest", "device-rest", "UNLOCKED"},
		{"update", "device-rest", "device-rest", "LOCKED"},
		{"update", "device-rest", "device-other", "LOCKED"},
		{"update", "device-other", "device-other", "LOCKED"},
		{"delete", "device-other", "device-other", "LOCKED"},
	} {
		m, err := heard.NextMsg(ledgetest.Timeout)
		if err != nil {
			t.Fatal(want, err)
		}
		var e struct {
			APIVersion, Type, Action, Source, Owner string
			Tags                                    any
			Details                                 struct{ ID, Name, ServiceName, ProfileName, AdminState string }
			Timestamp                               int64
		}
		if err := json.Unmarshal(m.Data, &e); err != nil {
			t.Fatal(err)
		}
		subject := "edgex.system-events.core-metadata.device." + want.action + "." + want.owner + ".sample-image"
		d := e.Details
		if m.Subject != subject || e.APIVersion != "v2" || e.Type != "device" || e.Action != want.action || e.Source != "core-metadata" ||
			e.Owner != want.owner || e.Timestamp == 0 || d.Name != "cam" || uuid.Validate(d.ID) != nil || d.ServiceName != want.service ||
			d.AdminState != want.state || m.Header.Get("Content-Type") != "application/json" {
			t.Errorf("want %v, got %s %s", want, m.Subject, m.Data)
		}
		if id := m.Header["X-Correlation-ID"]; want.action == "delete" && (len(id) != 1 || id[0] != "c-delete") {
			t.Errorf("the correlation id is %q", id)
		}
	}
}

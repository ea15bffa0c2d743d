package bus

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"ledge/cmd/ledgetest"
)

// profile4 has numbers as texts, as API v2 has them. API v3 has numbers.
const profile4 = `{"apiVersion":"v2","profile":{"name":"climate",` +
	`"deviceResources":[{"name":"hum","properties":{"valueType":"Int64","readWrite":"RW",` +
	`"minimum":"-40","maximum":"1e3","mask":"255","shift":"-2","scale":"0.5"}}],"deviceCommands":[{"name":"all","readWrite":"R",` +
	`"resourceOperations":[{"deviceResource":"hum"}]}]}}`

// TestEdgeXPublished4 has core-data publish events and core-metadata system events in the form of EdgeX 3.1 and 4.0. The clients and the
// DTOs of both decode and validate them. Profiles, device services and provision watchers have system events too.
func TestEdgeXPublished4(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir(), "--edgex-version", "4")
	built := buildBusClients(t)
	port := p.NATS[strings.LastIndexByte(p.NATS, ':')+1:]
	nc, _ := ledgetest.MustJetStream(t, p.NATS)
	heard, err := nc.SubscribeSync("edgex.system-events.>")
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	var clients []*busClient
	for _, version := range []string{"3.1", "4.0"} {
		c := built.start(t, version, port, "nats-core", "nats", "", "", "", "unused")
		c.want("ready")
		clients = append(clients, c)
	}
	send := func(method, path, body string, status int) {
		t.Helper()
		p.PostJSON(method, p.Metadata+"/api/v2/"+path, body, status)
	}
	const service = `[{"apiVersion":"v2","service":{"name":"virtual","adminState":"UNLOCKED","baseAddress":"http://localhost:59999"}}]`
	send(http.MethodPost, "deviceservice", service, http.StatusCreated)
	send(http.MethodPost, "deviceprofile", "["+profile4+"]", http.StatusCreated)
	send(http.MethodPost, "provisionwatcher", `[{"apiVersion":"v2","provisionWatcher":{"name":"w","identifiers":{"a":"1"},`+
		`"serviceName":"virtual","profileName":"climate","adminState":"LOCKED"}}]`, http.StatusCreated)
	send(http.MethodPost, "device", `[{"apiVersion":"v2","device":{"name":"d","adminState":"UNLOCKED","operatingState":"UP",`+
		`"serviceName":"virtual","profileName":"climate","protocols":{"other":{"Address":"x"}},`+
		`"autoEvents":[{"interval":"1h","onChange":true,"sourceName":"hum"}]}}]`, http.StatusCreated)
	send(http.MethodPatch, "device", `[{"apiVersion":"v2","device":{"name":"d","lastConnected":5}}]`, http.StatusOK) // is not published
	send(http.MethodPatch, "deviceservice", `[{"apiVersion":"v2","service":{"name":"virtual","lastConnected":5}}]`, http.StatusOK)
	send(http.MethodPatch, "deviceprofile/basicinfo", `[{"apiVersion":"v2","basicinfo":{"name":"climate","model":"m"}}]`, http.StatusOK)
	const moved = `[{"apiVersion":"v2","provisionWatcher":{"name":"w","serviceName":"device-rest"}}]`
	send(http.MethodPatch, "provisionwatcher", moved, http.StatusOK)
	send(http.MethodPatch, "deviceservice", `[{"apiVersion":"v2","service":{"name":"virtual","labels":["a"]}}]`, http.StatusOK)
	for _, device := range []string{"d", "unknown"} {
		path := "/api/v2/event/climate/" + device + "/hum"
		a := p.Call(http.MethodPost, p.CoreData+path, "application/json", edgexEvent(uuid.NewString(), device, 2))
		if a.Status != http.StatusCreated {
			t.Fatal(a)
		}
	}
	p.AddDevice("cam")
	ledgetest.PostTo(p, "cam", "jpeg", "image/jpeg", "\xff\xd8\xff picture")
	for _, path := range []string{"device/name/d", "provisionwatcher/name/w", "deviceprofile/name/climate", "deviceservice/name/virtual"} {
		if a := p.Call(http.MethodDelete, p.Metadata+"/api/v2/"+path, "", ""); a.Status != http.StatusOK {
			t.Fatal(a)
		}
	}

	for _, want := range []string{
		"deviceservice.add.virtual", "deviceprofile.add.core-metadata.climate", "provisionwatcher.add.virtual.climate",
		"device.add.virtual.climate",
		"deviceprofile.update.core-metadata.climate", "deviceprofile.update.virtual.climate",
		"provisionwatcher.update.virtual.climate", "provisionwatcher.update.device-rest.climate", "deviceservice.update.virtual",
		"device.add.device-rest.sample-image", "device.delete.virtual.climate", "provisionwatcher.delete.device-rest.climate",
		"deviceprofile.delete.core-metadata.climate", "deviceservice.delete.virtual",
	} {
		m, err := heard.NextMsg(ledgetest.Timeout)
		if err != nil {
			t.Fatal(want, err)
		}
		var e struct{ APIVersion, Type, Action, Source, Owner string }
		if err := json.Unmarshal(m.Data, &e); err != nil {
			t.Fatal(err)
		}
		levels := strings.Split(want, ".")
		if m.Subject != "edgex.system-events.core-metadata."+want || m.Header.Get("ApiVersion") != "v3" || e.APIVersion != "v3" ||
			e.Type != levels[0] || e.Action != levels[1] || e.Source != "core-metadata" || e.Owner != levels[2] {
			t.Errorf("want %s, got %s %s", want, m.Subject, m.Data)
		}
	}
	for _, c := range clients {
		for _, want := range []string{
			"system deviceservice add virtual ", "system deviceprofile add core-metadata ", `"valueType":"Int64"`,
			`"minimum":-40,"maximum":1000,"mask":255,"shift":-2,"scale":0.5`, "system provisionwatcher add virtual ",
			`"adminState":"UNLOCKED","discoveredDevice":{"profileName":"climate","adminState":"LOCKED"`, "system device add virtual ",
			`"interval":"1h","onChange":true`, "system deviceprofile update virtual ", "system provisionwatcher update virtual ",
			"system provisionwatcher update device-rest ", "system deviceservice update virtual ",
			"received edgex/events/core/virtual/climate/d/hum", "received edgex/events/core/core-data/climate/unknown/hum", "event {",
			`"value":"2"`, "received edgex/events/core/device-rest/sample-image/cam/jpeg", `"mediaType":"image/jpeg"`,
			"system device delete virtual ", "system provisionwatcher delete device-rest ", "system deviceprofile delete core-metadata ",
			"system deviceservice delete virtual ",
		} {
			c.want(want)
		}
	}
	wantMetric(t, p, `ledge_edgex_published_total{result="published"} 17`)
}

package metadata

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/handlerstest"
)

const (
	profileID = "c3d02974-0a51-4c67-adb2-62a5532aff41"
	deviceID  = "5c518d51-1ecd-486a-9f58-6a1e8c81648a"
	requestID = "6623c328-0620-5a9d-8127-b348c5933d07"
)

// mustMetadata returns core-metadata with a service, a profile and a device.
func mustMetadata(tb testing.TB, change ...func(*handlers.Options)) (http.Handler, *handlerstest.Log) {
	tb.Helper()
	log := handlerstest.NewLog()
	return mustServe(tb, log, handlerstest.Transparency{Log: log}, change...), log
}

// mustServe returns core-metadata as mustMetadata does, on a log with a transparency log.
func mustServe(tb testing.TB, log *handlerstest.Log, tree Transparency, change ...func(*handlers.Options)) http.Handler {
	tb.Helper()
	o := handlerstest.Options("core-metadata")
	for _, f := range change {
		f(&o)
	}
	log.Given(tb,
		domain.AddService{Service: domain.DeviceService{
			ID: "d52b26b5-1e62-52d0-b2c9-9781a1393aea", Name: "device-rest", BaseAddress: "http://localhost:59986",
			AdminState: "UNLOCKED", Created: 1, Modified: 1,
		}},
		domain.AddProfile{Profile: domain.Profile{
			ID: profileID, Name: "camera", Manufacturer: "mf", Model: "md", Labels: []string{"indoor"}, Description: "a camera",
			DeviceResources: []domain.DeviceResource{{
				Name: "jpeg", Description: "d", Properties: domain.ResourceProperties{ValueType: "Binary", ReadWrite: "R", MediaType: "image/jpeg"},
			}, {
				Name: "zoom", Properties: domain.ResourceProperties{ValueType: "Int32", ReadWrite: "RW"},
			}},
			DeviceCommands: []domain.DeviceCommand{{
				Name: "c1", ReadWrite: "R", ResourceOperations: []domain.ResourceOperation{{DeviceResource: "zoom"}},
			}},
			Created: 2, Modified: 2,
		}},
		domain.AddDevice{Device: domain.Device{
			ID: deviceID, Name: "cam-1", Description: "first", AdminState: "UNLOCKED", OperatingState: "UP",
			Labels: []string{"indoor", "north"}, ServiceName: "device-rest", ProfileName: "camera", ProtocolName: "rest",
			Protocols: map[string]map[string]string{"other": {}}, Created: 3, Modified: 3,
		}},
	)
	ledger := Ledger{Past: log.Past(), Events: log.Events(), Tree: tree, Replays: handlerstest.NewReplays(log)}
	return contract.Watch(tb, New(o, log.View, log, handlerstest.Identities{Log: log}, ledger))
}

// device is a device in JSON with fields changed or, with an empty value, left out: device("name", `"x"`).
func device(changes ...string) string {
	fields := []string{
		"name", `"cam-2"`, "adminState", `"UNLOCKED"`, "operatingState", `"UP"`, "serviceName", `"device-rest"`,
		"profileName", `"camera"`, "protocolName", `"rest"`, "protocols", `{"other":{}}`,
	}
	return object(fields, changes)
}

func object(fields, changes []string) string {
	for i := 0; i < len(changes); i += 2 {
		at := -1
		for j := 0; j < len(fields); j += 2 {
			if fields[j] == changes[i] {
				at = j
			}
		}
		if at < 0 {
			fields = append(fields, changes[i], changes[i+1])
		} else {
			fields[at+1] = changes[i+1]
		}
	}
	var parts []string
	for i := 0; i < len(fields); i += 2 {
		if fields[i+1] != "" {
			parts = append(parts, `"`+fields[i]+`":`+fields[i+1])
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// batch wraps entities in v2 envelopes.
func batch(key string, entities ...string) string {
	for i, e := range entities {
		entities[i] = `{"apiVersion":"v2","` + key + `":` + e + `}`
	}
	return "[" + strings.Join(entities, ",") + "]"
}

func mustMarshal(tb testing.TB, v any) {
	tb.Helper()
	if _, err := json.Marshal(v); err != nil {
		tb.Errorf("marshal: %v", err)
	}
}

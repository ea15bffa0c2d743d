package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
)

// TestRecordedDeviceREST repeats what clients asked EdgeX's device-rest, which does not look at the state of devices.
func TestRecordedDeviceREST(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	replayAll(t, p, p.DeviceREST, p.Metadata, readExchanges(t, "testdata/exchanges/devicerest.jsonl"), deviceRESTGiven())
}

// TestDeviceIsChecked holds that values are refused by the state of their device, which the setting above turns off.
func TestDeviceIsChecked(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	p.AddDevice("cam-9")
	p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/device", `[{"apiVersion":"v2","device":{"name":"cam-9","adminState":"LOCKED"}}]`, http.StatusOK)
	if a := p.Call(http.MethodPost, p.DeviceREST+"/api/v2/resource/cam-9/jpeg", "image/jpeg", "x"); a.Status != http.StatusLocked {
		t.Errorf("got %d %s, want 423", a.Status, a.Body)
	}
}

// deviceRESTGiven is the device that values were posted to, with a resource of each kind. A posted value that failed its
// assertion made it DOWN.
func deviceRESTGiven() []given {
	const device = `[{"apiVersion":"v2","device":{"name":"ref-zdbec7d9-rest",%s}}]`
	set := func(before int, states string) given {
		return given{before, http.MethodPatch, "device", fmt.Sprintf(device, states)}
	}
	return []given{
		{903, http.MethodPost, "deviceprofile", recordedRESTProfile()},
		{903, http.MethodPost, "device", fmt.Sprintf(device, `"adminState":"UNLOCKED","operatingState":"UP","serviceName":"device-rest","profileName":"ref-zdbec7d9-restprof","protocolName":"rest","protocols":{"other":{}}`)},
		set(1113, `"operatingState":"DOWN"`),
		set(1115, `"operatingState":"UP"`),
		set(1141, `"adminState":"LOCKED"`),
		set(1146, `"adminState":"UNLOCKED","operatingState":"DOWN"`),
		{1151, http.MethodDelete, "device/name/ref-zdbec7d9-rest", ""},
	}
}

// recordedRESTProfile is the profile of the recording.
func recordedRESTProfile() string {
	resource := func(name, properties string) string {
		return fmt.Sprintf(`{"name":%q,"properties":{%s}}`, name, properties)
	}
	var resources []string
	for valueType := range strings.FieldsSeq("Bool String Uint8 Uint16 Uint32 Uint64 Int8 Int16 Int32 Int64 Float32 Float64 BoolArray StringArray Int32Array Float64Array") {
		resources = append(resources, resource("v"+valueType, fmt.Sprintf(`"valueType":%q,"readWrite":"R","mediaType":"text/plain","units":"U"`, valueType)))
	}
	resources = append(resources,
		resource("jpeg", `"valueType":"Binary","readWrite":"R","mediaType":"image/jpeg"`),
		resource("nomedia", `"valueType":"Binary","readWrite":"R"`),
		resource("obj", `"valueType":"Object","readWrite":"R","mediaType":"application/json"`),
		resource("ranged", `"valueType":"Int32","readWrite":"R","minimum":"0","maximum":"10"`),
		resource("scaled", `"valueType":"Float64","readWrite":"R","scale":"2","offset":"1"`),
		resource("scaledint", `"valueType":"Int16","readWrite":"R","scale":"100","offset":"1"`),
		resource("asserted", `"valueType":"String","readWrite":"R","assertion":"good"`),
		resource("wonly", `"valueType":"Int32","readWrite":"W"`),
	)
	return fmt.Sprintf(`[{"apiVersion":"v2","profile":{"name":"ref-zdbec7d9-restprof","manufacturer":"m","model":"m","deviceResources":[%s],`+
		`"deviceCommands":[{"name":"both","readWrite":"R","resourceOperations":[{"deviceResource":"vInt8"},{"deviceResource":"vBool"}]}]}}]`, strings.Join(resources, ","))
}

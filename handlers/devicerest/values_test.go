package devicerest

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/handlerstest"
)

// mustSensor returns device-rest with a device "sensor-1" that is UP, whose values are transformed, asserted and mapped.
func mustSensor(tb testing.TB, change ...func(*handlers.Options)) (http.Handler, *handlerstest.Log, *memory) {
	tb.Helper()
	h, log, payloads := mustDeviceREST(tb, change...)
	r := func(name, valueType string, set func(*domain.ResourceProperties)) domain.DeviceResource {
		p := domain.ResourceProperties{ValueType: valueType, ReadWrite: "R"}
		set(&p)
		return domain.DeviceResource{Name: name, Properties: p}
	}
	plain := func(*domain.ResourceProperties) {}
	log.Given(tb,
		domain.AddProfile{Profile: domain.Profile{
			ID: handlerstest.ID(910), Name: "typed",
			DeviceResources: []domain.DeviceResource{
				r("level", "Float32", plain), r("count", "Uint8", plain), r("list", "Float64Array", plain), r("words", "StringArray", plain),
				r("scaled", "Int16", func(p *domain.ResourceProperties) { p.Scale, p.Offset = "100", "1" }),
				r("bounded", "Uint8", func(p *domain.ResourceProperties) { p.Minimum, p.Maximum = "10", "20" }),
				r("faulty", "Int16", func(p *domain.ResourceProperties) { p.Scale = "ten" }),
				r("asserted", "String", func(p *domain.ResourceProperties) { p.Assertion = "good" }),
				r("mapped", "Object", plain), r("long", "Bool", plain),
			},
			DeviceCommands: []domain.DeviceCommand{{Name: "maps", ReadWrite: "R", ResourceOperations: []domain.ResourceOperation{
				{DeviceResource: "mapped", Mappings: map[string]string{"map[on:true]": "ON"}},
				{DeviceResource: "long", Mappings: map[string]string{"true": strings.Repeat("t", domain.MaxHeader+1)}},
			}}},
		}},
		domain.AddDevice{Device: domain.Device{
			ID: handlerstest.ID(911), Name: "sensor-1", AdminState: "UNLOCKED", OperatingState: "UP", ServiceName: "device-rest", ProfileName: "typed",
			ProtocolName: "rest", Protocols: map[string]map[string]string{"other": {}},
		}},
	)
	return h, log, payloads
}

const sensor = "/api/v2/resource/sensor-1/"

func TestPostedValuesAreConverted(t *testing.T) {
	h, log, _ := mustSensor(t)
	for _, tt := range []struct {
		resource, body             string
		valueType, mediaType, text string
	}{
		{"level", "12.5", "Float32", "text/plain", "1.250000e+01"},
		{"level", "1.250000e+01", "Float32", "text/plain", ""},
		{"count", "46", "Uint8", "text/plain", ""},
		{"count", "0x10", "Uint8", "text/plain", "16"},
		{"list", "[1,2.5]", "Float64Array", "application/json", "[1.000000e+00, 2.500000e+00]"},
		{"words", "[\"a\\r\\nce-id: x\",\"ü\"]", "StringArray", "application/json", "[a\r\nce-id:, x, ü]"},
		{"scaled", "3", "Int16", "text/plain", "301"},
		{"scaled", "1000", "String", "text/plain", "overflow"},
		{"bounded", "21", "Uint8", "text/plain", ""}, // device-sdk-go 2.3 looks at minimum and maximum only where a command writes
		{"asserted", "good", "String", "text/plain", ""},
		{"mapped", `{"on":true}`, "String", "application/json", "ON"},
		{"mapped", `{"on":false}`, "Object", "application/json", ""},
	} {
		handlerstest.Run(t, h, log, []handlerstest.Scenario{post(tt.resource+" "+tt.body, sensor+tt.resource, "application/json", tt.body, 200, "")})
		got := last(log)
		want := domain.Reading{
			ID: got.ID, Event: got.Event, Profile: "typed", Device: "sensor-1", Resource: tt.resource, Origin: handlerstest.Now.UnixNano(),
			ValueType: tt.valueType, MediaType: tt.mediaType, Size: int64(len(tt.body)), Text: tt.text,
		}
		if got.Reading != want || string(got.Value) != tt.body {
			t.Errorf("%s %s: got %+v, want %+v", tt.resource, tt.body, got, want)
		}
	}
}

func last(log *handlerstest.Log) domain.ReadingPosted {
	events := log.Recorded()
	return events[len(events)-1].Event.(domain.ReadingPosted)
}

// A text that is too long for a header is kept in place of the body, with it or in a file.
func TestLongTexts(t *testing.T) {
	h, log, payloads := mustSensor(t, func(o *handlers.Options) { o.InlineBytes = 2 * domain.MaxHeader })
	ones := func(n int) string { return "[" + strings.Repeat("1,", n-1) + "1]" }
	text := func(n int) string { return "[" + strings.Repeat("1.000000e+00, ", n-1) + "1.000000e+00]" }
	list := func(n int) domain.ReadingPosted {
		handlerstest.Run(t, h, log, []handlerstest.Scenario{post("list", sensor+"list", "", ones(n), 200, "")})
		return last(log)
	}
	if got := list(256); len(got.Text) != 3584 || string(got.Value) != ones(256) || got.MediaType != "application/json" {
		t.Errorf("in a header: got %+v", got.Reading)
	}
	if got := list(300); got.Text != "" || string(got.Value) != text(300) || got.MediaType != "text/plain" || got.Size != int64(len(text(300))) || got.Digest != "" {
		t.Errorf("in the message: got %+v", got.Reading)
	}
	sum := sha256.Sum256([]byte(text(600)))
	if got := list(600); got.Text != "" || len(got.Value) != 0 || got.Size != int64(len(text(600))) || got.Digest != hex.EncodeToString(sum[:]) || string(payloads.kept[0]) != text(600) {
		t.Errorf("in a file: got %+v", got.Reading)
	}
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		post("mapped to a long text", sensor+"long", "", "1", 200, ""),
		post("more than is held in memory", sensor+"list", "", ones(2*domain.MaxHeader), 413,
			"resource 'list': a value of type Float64Array that is converted, asserted or mapped has at most 8192 bytes; send less\n"),
		post("asserted, and too long", sensor+"asserted", "", strings.Repeat("x", 2*domain.MaxHeader+1), 413, ""),
	})
	if got := last(log); got.ValueType != "String" || len(got.Value) != domain.MaxHeader+1 {
		t.Errorf("mapped: got %+v", got.Reading)
	}
}

func TestValuesThatAreRefused(t *testing.T) {
	h, log, _ := mustSensor(t)
	before := len(log.Recorded())
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		post("faulty profile", sensor+"faulty", "", "1", 400, "resource \"faulty\": the profile's scale, \"ten\", is not a number; correct it there\n"),
		post("faulty profile and value", sensor+"faulty", "", "one", 400, "resource \"faulty\": \"one\" is no Int16; write one value in plain text\n"),
		post("list of others", sensor+"list", "", `[1,"2"]`, 400, "resource \"list\": the body is no Float64Array: element 1 is \"\\\"2\\\"\"; write a JSON array of values of type Float64\n"),
	})
	if events := log.Recorded(); len(events) != before {
		t.Errorf("got %+v", events[before:])
	}
}

func TestFailedAssertion(t *testing.T) {
	const answer = "resource \"asserted\": the value \"bad\" fails the assertion \"good\", and the device's operatingState is DOWN; mend the device or the profile and set it UP\n"
	for _, key := range []string{"", "k-1"} {
		h, log, _ := mustSensor(t)
		before := len(log.Recorded())
		failing := post("assertion", sensor+"asserted", "", "bad", 400, answer)
		failing.Submits = 1
		if key != "" {
			failing = keyed(failing, key, 2) // one looks for an earlier answer
		}
		handlerstest.Run(t, h, log, []handlerstest.Scenario{failing, failing}) // the second changes nothing
		events := log.Recorded()[before:]
		if len(events) != 1 {
			t.Fatalf("key %q: got %d events, want 1", key, len(events))
		}
		got := events[0].Event.(domain.DevicePatched)
		if got.Name != "sensor-1" || string(got.Changes["operatingState"].Is) != `"DOWN"` || len(got.Changes) != 1 || got.Modified != handlerstest.Now.UnixMilli() {
			t.Errorf("key %q: got %+v", key, got)
		}
		log.Fail = domain.Errorf(domain.Full, "the disk is full; free some of it")
		full := post("full", sensor+"asserted", "", "bad", 507, "the disk is full; free some of it\n")
		full.Submits = 1
		handlerstest.Run(t, h, log, []handlerstest.Scenario{full})
	}
	h, log, _ := mustSensor(t)
	failing := post("assertion", sensor+"asserted", "", "bad", 400, answer)
	failing.Submits = 1
	handlerstest.Run(t, h, log, []handlerstest.Scenario{failing, post("what comes after it", sensor+"asserted", "", "good", 200, "")})
}

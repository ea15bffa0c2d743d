package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
)

// TestRecordedData repeats what clients asked EdgeX's core-data.
func TestRecordedData(t *testing.T) {
	all := recordedData(t, func(x exchange) bool { return !isStored(x) })
	p := ledgetest.Start(t, t.TempDir())
	replayAll(t, p, p.CoreData, p.CoreData, all, dataGiven())
}

// TestRecordedReadings reads back what was posted to device-rest, as EdgeX's core-data answered it.
func TestRecordedReadings(t *testing.T) {
	all := recordedData(t, isStored)
	p := ledgetest.Start(t, t.TempDir())
	for _, g := range deviceRESTGiven()[:2] { // the profile and the device
		p.PostJSON(g.method, p.Metadata+"/api/v2/"+g.path, strings.ReplaceAll(g.body, `"readWrite":"W"`, `"readWrite":"RW"`), http.StatusCreated) // Ledge takes no values for write-only resources
	}
	for _, one := range recordedValues() {
		url := p.DeviceREST + "/api/v2/resource/ref-zdbec7d9-rest/" + one.resource
		if a := p.Call(http.MethodPost, url, "text/plain", one.value); a.Status != http.StatusOK {
			t.Fatalf("%s %s: got %d %s", one.resource, one.value, a.Status, a.Body)
		}
	}
	replayAll(t, p, p.CoreData, p.CoreData, all, nil)
}

func recordedData(t *testing.T, keep func(exchange) bool) []exchange {
	t.Helper()
	all := slices.DeleteFunc(readExchanges(t, "testdata/exchanges/data.jsonl"), func(x exchange) bool { return !keep(x) })
	if len(all) == 0 {
		t.Fatal("there are no exchanges")
	}
	return all
}

func isStored(x exchange) bool { return strings.HasPrefix(x.Case, "rest/stored-") }

// dataGiven are the events that later exchanges ask for.
func dataGiven() []given {
	event := func(before int, id string, origin int64, reading, tags string) given {
		return given{before, http.MethodPost, "event/ref-zdbec7d9-prof/ref-zdbec7d9-evdev/r1", fmt.Sprintf(`{"apiVersion":"v2","event":{"apiVersion":"v2","id":%q,"deviceName":"ref-zdbec7d9-evdev",`+
			`"profileName":"ref-zdbec7d9-prof","sourceName":"r1","origin":%d,"readings":[{"deviceName":"ref-zdbec7d9-evdev","profileName":"ref-zdbec7d9-prof",%s}]%s}}`, id, origin, reading, tags)}
	}
	return []given{
		event(796, "099512b5-581a-5411-8cca-0aac5f44a2d7", 1700000000000000000, `"origin":1700000000001000000,"resourceName":"r1","valueType":"Int32","value":"5"`, `,"tags":{"Gateway":"g","n":5}`),
		event(801, "27e9b94b-5713-59d6-ab9c-d868478f0419", 1700000000007000000, `"origin":1700000000007000000,"resourceName":"jpeg","valueType":"Binary","binaryValue":"/9j/4GFiYw==","mediaType":"image/jpeg"`, ""),
	}
}

type postedValue struct{ resource, value string }

// recordedValues are what was posted to device-rest, in order, as far as it was read back; the rest is of another
// resource.
func recordedValues() (all []postedValue) {
	post := func(resource, values string) {
		for value := range strings.FieldsSeq(values) {
			all = append(all, postedValue{resource, value})
		}
	}
	post("vString", strings.Repeat("x ", 60))
	post("vUint64", "0 0x10 010 +5 1_000")
	post("vInt8", "0 127 -128 -1 -128 127 16 8 5 -24")
	post("vInt32", "0 2147483647 -2147483648 -1 -2147483648 2147483647 0x10 010 +5 1_000")
	post("vFloat32", "1.5 -3")
	post("vInt32", "42")
	post("scaled", "10")
	post("vInt32", "43")
	post("wonly", "5")
	post("vInt32", "44 45")
	return all
}

package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"ledge/bridge/commandtest"
	"ledge/cmd/internal/services"
	"ledge/cmd/ledgetest"
	"ledge/domain"
	"ledge/handlers/handlerstest"
)

// commandNode is a node with the devices of EdgeX's device-virtual, which a device service of the test carries.
type commandNode struct {
	*ledgetest.Node
	service *commandtest.Service
	url     string // of core-command
}

// startCommands starts a node that has the devices of device-virtual and no others.
func startCommands(t *testing.T, dir string) *commandNode {
	t.Helper()
	n := &commandNode{Node: ledgetest.Start(t, dir), service: commandtest.Start(t)}
	n.url = n.URLs[services.Command]
	var all struct{ Devices []struct{ Name string } }
	if err := json.Unmarshal([]byte(n.Call(http.MethodGet, n.Metadata+"/api/v2/device/all?limit=-1", "", "").Body), &all); err != nil {
		t.Fatal(err)
	}
	for _, d := range all.Devices {
		n.Call(http.MethodDelete, n.Metadata+"/api/v2/device/name/"+d.Name, "", "")
	}
	n.PostJSON(http.MethodPost, n.Metadata+"/api/v2/deviceservice",
		fmt.Sprintf(`[{"apiVersion":"v2","service":{"name":"device-virtual","baseAddress":%q,"adminState":"UNLOCKED"}}]`, n.service.URL),
		http.StatusCreated)
	binary := domain.Profile{DeviceResources: []domain.DeviceResource{{Name: "Binary",
		Properties: domain.ResourceProperties{ValueType: "Binary", ReadWrite: "R", MediaType: "random"}}}}
	n.addDevice("Binary", binary)
	n.addDevice("Boolean", commandtest.Profile("", "Bool", "BoolArray"))
	n.addDevice("UnsignedInteger", commandtest.Profile("", "Uint8", "Uint16", "Uint32", "Uint64", "Uint8Array", "Uint16Array",
		"Uint32Array", "Uint64Array"))
	n.addDevice("Integer", commandtest.Profile("", "Int8", "Int16", "Int32", "Int64", "Int8Array", "Int16Array", "Int32Array",
		"Int64Array"))
	n.addDevice("Float", commandtest.Profile("", "Float32", "Float64", "Float32Array", "Float64Array"))
	return n
}

// addDevice adds a device of device-virtual with a profile.
func (n *commandNode) addDevice(kind string, p domain.Profile) {
	n.TB.Helper()
	name := "Random-" + kind + "-Device"
	text, err := json.Marshal(map[string]any{"name": name, "deviceResources": p.DeviceResources, "deviceCommands": p.DeviceCommands})
	if err != nil {
		n.TB.Fatal(err)
	}
	if p.DeviceCommands == nil {
		text = bytes.Replace(text, []byte(`"deviceCommands":null,`), nil, 1)
	}
	n.PostJSON(http.MethodPost, n.Metadata+"/api/v2/deviceprofile", fmt.Sprintf(`[{"apiVersion":"v2","profile":%s}]`, text),
		http.StatusCreated)
	n.PostJSON(http.MethodPost, n.Metadata+"/api/v2/device", fmt.Sprintf(`[{"apiVersion":"v2","device":{"name":%q,`+
		`"adminState":"UNLOCKED","operatingState":"UP","serviceName":"device-virtual","profileName":%q,"protocols":{"other":{}}}}]`, name,
		name), http.StatusCreated)
}

// set patches the device Random-Integer-Device, or the service device-virtual.
func (n *commandNode) set(what, fields string) {
	n.TB.Helper()
	key, name := "device", "Random-Integer-Device"
	if what == "deviceservice" {
		key, name = "service", "device-virtual"
	}
	n.PostJSON(http.MethodPatch, n.Metadata+"/api/v2/"+what, fmt.Sprintf(`[{"apiVersion":"v2",%q:{"name":%q,%s}}]`, key, name, fields),
		http.StatusOK)
}

// varying are the parts of answers that are another each time, each with its replacement.
var varying = []struct {
	text *regexp.Regexp
	by   string
}{
	{uuids, "UUID"},
	{regexp.MustCompile(`"origin":\d{19}`), `"origin":1`},
	{regexp.MustCompile(`"value":"[^"]*"`), `"value":"v"`},
	{regexp.MustCompile(`"timestamp":"[^"]*"`), `"timestamp":"t"`},
	{regexp.MustCompile(`,"errors":\[.*\]`), ""}, // Ledge's own, beside the message
	{regexp.MustCompile(`,"ledgeVersion":"[^"]*"`), ""},
}

func maskVarying(text string) string {
	for _, v := range varying {
		text = v.text.ReplaceAllString(text, v.by)
	}
	return text
}

// oneCommand is a whole command in a list, which may be cut off behind it.
var oneCommand = regexp.MustCompile(`\{"name":"[^"]*",(?:"get":true,)?(?:"set":true,)?"path":"[^"]*","url":"[^"]*",` +
	`"parameters":\[[^\]]*\]\}`)

// TestRecordedCommand repeats requests of clients to EdgeX's core-command, with a device service beside it. It holds that Ledge answers the
// same to the byte, but for varying parts. Lists, whose order is random in EdgeX, have the same commands and the same length.
func TestRecordedCommand(t *testing.T) {
	n := startCommands(t, t.TempDir())
	given := map[string]func(){
		"get-locked":     func() { n.set("device", `"adminState":"LOCKED"`) },
		"get-down":       func() { n.set("device", `"adminState":"UNLOCKED","operatingState":"DOWN"`) },
		"set-svc-locked": func() { n.set("device", `"operatingState":"UP"`); n.set("deviceservice", `"adminState":"LOCKED"`) },
		"get-svc-away":   func() { n.set("deviceservice", `"adminState":"UNLOCKED"`); n.service.Close() },
		"get-back": func() {
			n.service = commandtest.Start(t)
			n.set("deviceservice", fmt.Sprintf(`"baseAddress":%q`, n.service.URL))
		},
	}
	all := readExchanges(t, "testdata/exchanges/command.jsonl")
	for _, x := range all {
		if f := given[x.Case]; f != nil {
			f()
			delete(given, x.Case)
		}
		n.repeat(x)
	}
	if len(all) != 38 || len(given) > 0 {
		t.Errorf("%d exchanges, and %d states that none had", len(all), len(given))
	}
}

// repeat holds that an exchange has the answer that was recorded.
func (n *commandNode) repeat(x exchange) {
	n.TB.Helper()
	r, err := http.NewRequestWithContext(n.TB.Context(), x.Method, n.url+x.Path, strings.NewReader(x.Body))
	if err != nil {
		n.TB.Fatal(err)
	}
	for name, value := range x.Headers {
		r.Header.Set(name, value)
	}
	if strings.Contains(x.Path, "foo=") { // which no document has
		r = handlerstest.Loose(r)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		n.TB.Fatalf("%v: %v\n%s", x, err, n.Log)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		n.TB.Fatalf("%v: %v", x, err)
	}
	got, want := maskVarying(strings.ReplaceAll(string(text), n.url, "http://localhost:59882")), maskVarying(x.Answer)
	wrong := resp.StatusCode != x.Status || x.Type != "" && resp.Header.Get("Content-Type") != x.Type
	if id := x.Headers["X-Correlation-ID"]; id != "" && resp.Header.Get("X-Correlation-ID") != id {
		wrong = true
	}
	switch {
	case x.Len > 0: // a list, of which the beginning was recorded
		wrong = wrong || len(got) != x.Len
		for _, one := range oneCommand.FindAllString(want, -1) {
			wrong = wrong || !strings.Contains(got, one)
		}
	case x.Status == http.StatusMethodNotAllowed && x.Answer == "": // EdgeX has no body
	case x.Type != "application/json": // Ledge adds the right address
		wrong = wrong || !strings.HasPrefix(got, want)
	default:
		wrong = wrong || got != want
	}
	if wrong {
		n.TB.Errorf("%v\nsent %s\ngot  %d %s %d bytes %s\nwant %d %s %d bytes %s", x, x.Body, resp.StatusCode,
			resp.Header.Get("Content-Type"), len(got), got, x.Status, x.Type, x.Len, want)
	}
}

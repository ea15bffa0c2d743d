package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ledge/bridge/commandtest"
	"ledge/bridge/porttest"
	"ledge/cmd/internal/services"
	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// issued is a command on record, with the status and the message of its outcome.
type issued struct {
	Device, Service, Command, Message string
	Value                             json.RawMessage
	Status                            int
	Seq, Prev                         uint64
	Answered                          uint64 // the event of the outcome; 0 if there is none
}

// commandsOnRecord returns the commands that `ledge log` prints of a device.
func commandsOnRecord(t *testing.T, dir, device string) (all []issued) {
	t.Helper()
	out, stderr, code := ledgetest.Run(t, "log", "--json", "--data-dir", dir, "--from", "1", "--device", device, "--type", "command.*")
	if code != 0 {
		t.Fatalf("log: exit code %d, %s", code, stderr)
	}
	for text := range strings.Lines(out) {
		var line struct {
			Actor, Type string
			Seq         uint64
			Data        struct {
				issued
				Issued uint64
			}
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		data := line.Data
		if !strings.HasPrefix(line.Actor, "anonymous@127.0.0.1") {
			t.Errorf("the actor is %q", line.Actor)
		}
		if line.Type == "command.issued/2" {
			data.Seq = line.Seq
			all = append(all, data.issued)
			continue
		}
		i := slices.IndexFunc(all, func(one issued) bool { return one.Seq == data.Issued && one.Answered == 0 })
		if i < 0 || line.Type != "command.answered/1" || data.Command != all[i].Command {
			t.Fatalf("%s is not the outcome of a command: %+v", text, all)
		}
		all[i].Answered, all[i].Status, all[i].Message = line.Seq, data.Status, data.Message
	}
	return all
}

// A command and its outcome are on record when it is answered, and NATS clients hear them. A restart and a rebuild fold it.
func TestCommandIsRecorded(t *testing.T) {
	const device = "Random-Integer-Device"
	dir := t.TempDir()
	n := startCommands(t, dir)
	hidden := commandtest.Profile("", "Int8", "Int16")
	hidden.DeviceResources[2].Attributes = map[string]any{"hideValue": true}
	n.addDevice("Hidden", hidden)
	heard := n.SubscribeNATS(t, "ledge.event.command.>")
	put := func(n *ledgetest.Node, device, command, body string, status int) {
		t.Helper()
		if a := n.Call(http.MethodPut, n.URLs[services.Command]+"/api/v2/device/name/"+device+"/"+command, "application/json",
			body); a.Status != status {
			t.Errorf("%s: got %d %s, want %d", command, a.Status, a.Body, status)
		}
	}
	put(n.Node, device, "Int8", `{ "Int8": "12" }`, http.StatusOK)
	put(n.Node, "Random-Hidden-Device", "Int8", `{"Int8":"5","Int16":"4711"}`, http.StatusOK)
	n.Call(http.MethodGet, n.url+"/api/v2/device/name/"+device+"/Int8", "", "")
	n.set("device", `"adminState":"LOCKED"`)
	put(n.Node, device, "Int16", `{}`, http.StatusLocked)
	const counted = `ledge_http_requests_total{method="GET",route="/api/v2/device/name/:name/:command",` +
		`service="core-command",status="200"} 1`
	if a := n.Call(http.MethodGet, n.url+"/metrics", "", ""); !strings.Contains(a.Body, counted) {
		t.Errorf("the GET is not counted: %s", a.Body)
	}
	hear := func(subject, kind, text string) {
		t.Helper()
		m := heard.Next(t)
		if m.Subject != "ledge.event.command."+subject || m.Header.Get("ce-type") != kind || !strings.Contains(string(m.Data), text) ||
			strings.Contains(string(m.Data), "4711") {
			t.Errorf("a NATS client has %s %v %s, want %s", m.Subject, m.Header, m.Data, text)
		}
	}
	hear(device+".issued", "command.issued/2", `"value":{"Int8":"12"}`)
	hear(device+".answered", "command.answered/1", `"status":200`)
	hear("Random-Hidden-Device.issued", "command.issued/2", `"value":{"Int16":"(hidden)","Int8":"5"}`)
	hear("Random-Hidden-Device.answered", "command.answered/1", `"status":200`)
	hear(device+".issued", "command.issued/2", `"status":423`)
	text, _, _ := ledgetest.Run(t, "log", "--data-dir", dir, "--device", device)
	for _, want := range []string{
		`command.issued/2  command Random-Integer-Device issued  by anonymous@127.0.0.1`, `  Int8 {"Int8":"12"}` + "\n",
		`command.answered/1  command Random-Integer-Device answered  by anonymous@127.0.0.1`, ` answered 200` + "\n",
		`  Int16 {} answered 423` + "\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the log has %s, want %s", text, want)
		}
	}
	n.Kill()
	again := ledgetest.Start(t, dir)
	put(again, device, "Int32", `{}`, http.StatusLocked)
	if code := again.Stop(); code != 0 {
		t.Errorf("stop: exit code %d", code)
	}
	if _, stderr, code := ledgetest.Run(t, "rebuild", "--data-dir", dir); code != 0 {
		t.Errorf("rebuild: exit code %d, %s", code, stderr)
	}
	third := ledgetest.Start(t, dir)
	put(third, device, "Int64", `{}`, http.StatusLocked)
	third.Stop()
	all := commandsOnRecord(t, dir, device)
	if len(all) != 4 {
		t.Fatalf("on record: %+v", all)
	}
	prev := uint64(0)
	for i, want := range []string{`Int8 {"Int8":"12"} 200`, "Int16 {} 423", "Int32 {} 423", "Int64 {} 423"} {
		got := all[i]
		if text := fmt.Sprintf("%s %s %d", got.Command, got.Value, got.Status); text != want || got.Prev != prev ||
			got.Service != "device-virtual" || (got.Answered != 0) != (got.Status == http.StatusOK) {
			t.Errorf("%d: got %+v, want %s after event %d", i, got, want, prev)
		}
		prev = max(got.Seq, got.Answered)
	}
}

// A command is on record before the device service has it. A kill -9 leaves it there, and no outcome.
func TestCommandOutlivesKill(t *testing.T) {
	const device = "Random-Integer-Device"
	dir := t.TempDir()
	n := startCommands(t, dir)
	ended := make(chan error, 1)
	go func() {
		_, err := ledgetest.TryCall(http.MethodPut, n.url+"/api/v2/device/name/"+device+"/Slow", "application/json", `{"Int8":"12"}`)
		ended <- err
	}()
	ledgetest.Until(t, "the device service to have the command", func() bool { return len(n.service.Calls()) == 1 })
	n.Kill()
	if err := <-ended; err == nil {
		t.Error("the command is answered")
	}
	again := ledgetest.Start(t, dir)
	all := commandsOnRecord(t, dir, device)
	if len(all) != 1 || all[0].Command != "Slow" || string(all[0].Value) != `{"Int8":"12"}` || all[0].Answered != 0 {
		t.Fatalf("on record: %+v", all)
	}
	page := again.NewRole(t, domain.Operator).Get("/devices/" + device + "/commands")
	ledgetest.Want(page, t, http.StatusOK, "Slow", `{"Int8":"12"}`, "outcome unknown")
	if a := again.Call(http.MethodPut, again.URLs[services.Command]+"/api/v2/device/name/"+device+"/Int8", "application/json",
		`{}`); a.Status != http.StatusOK {
		t.Errorf("the next command: got %d %s", a.Status, a.Body)
	}
	if next := commandsOnRecord(t, dir, device); len(next) != 2 || next[1].Prev != all[0].Seq || next[1].Status != http.StatusOK {
		t.Errorf("on record: %+v", next)
	}
}

// A command that cannot be recorded, because the disk is full, is not sent.
func TestFullDiskSendsNothing(t *testing.T) {
	const device = "Random-Integer-Device"
	dir := t.TempDir()
	n := startCommands(t, dir)
	n.Stop()
	full := ledgetest.Start(t, dir, "--disk-reserve", strconv.FormatInt(2*ledgetest.FreeSpace(t, dir), 10))
	a := full.Call(http.MethodPut, full.URLs[services.Command]+"/api/v2/device/name/"+device+"/Int8", "application/json", `{"Int8":"12"}`)
	if a.Status != http.StatusInsufficientStorage ||
		!strings.Contains(a.Body, "the command is not sent, because its record failed: the disk is full") {
		t.Errorf("got %d %s", a.Status, a.Body)
	}
	if calls, all := n.service.Calls(), commandsOnRecord(t, dir, device); len(calls) > 0 || len(all) > 0 {
		t.Errorf("sent %+v, on record %+v", calls, all)
	}
}

// A slow device service takes nothing from the others. A stop ends its commands, and has them on record.
func TestSlowDeviceService(t *testing.T) {
	const device = "Random-Integer-Device"
	dir := t.TempDir()
	n := startCommands(t, dir)
	quick := commandtest.Start(t)
	n.PostJSON(http.MethodPost, n.Metadata+"/api/v2/deviceservice",
		fmt.Sprintf(`[{"apiVersion":"v2","service":{"name":"device-quick","baseAddress":%q,"adminState":"UNLOCKED"}}]`, quick.URL),
		http.StatusCreated)
	n.PostJSON(http.MethodPatch, n.Metadata+"/api/v2/device", `[{"apiVersion":"v2","device":{"name":"Random-Boolean-Device",`+
		`"serviceName":"device-quick"}}]`, http.StatusOK)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const most = 8 + 64 // under way and waiting
	ended := make(chan int, most)
	for i := range most {
		method := []string{http.MethodPut, http.MethodGet}[min(i, 1)]
		go func() {
			ended <- func() int {
				r, err := http.NewRequestWithContext(ctx, method, n.url+"/api/v2/device/name/"+device+"/Slow",
					strings.NewReader(map[string]string{http.MethodPut: "{}"}[method]))
				if err != nil {
					return 0
				}
				resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
				if err != nil {
					return 0
				}
				defer resp.Body.Close()
				return resp.StatusCode
			}()
		}()
		if i == 0 { // it is not the one that finds no place
			ledgetest.Until(t, "the PUT to be under way", func() bool { return len(n.service.Calls()) == 1 })
		}
	}
	ledgetest.Until(t, "as many commands as may be to be under way", func() bool { return len(n.service.Calls()) == 8 })
	ledgetest.Until(t, "as many commands as may be to wait", func() bool {
		short, stop := context.WithCancel(t.Context())
		defer stop()
		r, err := http.NewRequestWithContext(short, http.MethodGet, n.url+"/api/v2/device/name/"+device+"/Int8", nil)
		if err != nil {
			return false
		}
		answered := make(chan int, 1)
		go func() {
			resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
			if err != nil {
				answered <- 0
				return
			}
			resp.Body.Close()
			answered <- resp.StatusCode
		}()
		for range 20 { // other requests, until this one is answered
			if a := n.Call(http.MethodGet, n.url+"/api/v2/device/name/Random-Boolean-Device/Bool", "", ""); a.Status != http.StatusOK {
				t.Errorf("another device service: got %d %s", a.Status, a.Body)
			}
			select {
			case status := <-answered:
				return status == http.StatusServiceUnavailable
			default:
			}
		}
		return false
	})
	if code := n.Stop(); code != 0 {
		t.Errorf("stop: exit code %d\n%s", code, n.Log)
	}
	for range most {
		if status := <-ended; status != http.StatusServiceUnavailable {
			t.Errorf("a command at the stop: got %d", status)
		}
	}
	all := commandsOnRecord(t, dir, device)
	if len(all) != 1 || all[0].Status != http.StatusServiceUnavailable || !strings.HasPrefix(all[0].Message, "the server is stopping") {
		t.Errorf("on record: %+v", all)
	}
}

// The answers of a hostile device service take no memory beyond the bounds, and show nothing of this machine.
func TestHostileDeviceService(t *testing.T) {
	n := startCommands(t, t.TempDir())
	for command, want := range map[string]string{
		"Endless": "it is longer than 16777216 bytes", "Large-17000000": "it is longer than 16777216 bytes",
		"Many-5000000": "bytes of memory",
		"Text":         "it is not an answer of EdgeX 2", "Other": "it is not an answer of EdgeX 2",
		"Secret": "(answers of this machine are not shown)", "Redirect": "correct baseAddress", "Status-401": "status code: 401",
	} {
		a := n.Call(http.MethodGet, n.url+"/api/v2/device/name/Random-Integer-Device/"+command, "", "")
		if a.Status != http.StatusInternalServerError || !strings.Contains(a.Body, want) || strings.Contains(a.Body, "hunter2") ||
			strings.Contains(a.Body, "192.0.2.1") {
			t.Errorf("%s: got %d %.300s, want %s", command, a.Status, a.Body, want)
		}
	}
	if a := n.Call(http.MethodGet, n.url+"/api/v2/device/name/Random-Integer-Device/Object", "", ""); a.Status != http.StatusOK ||
		strings.Contains(a.Body, "hunter2") {
		t.Errorf("got %d %s", a.Status, a.Body)
	}
	n.set("deviceservice", fmt.Sprintf(`"baseAddress":%q`, n.DeviceREST))
	a := n.Call(http.MethodGet, n.url+"/api/v2/device/name/Random-Integer-Device/Int8", "", "")
	if a.Status != http.StatusServiceUnavailable || !strings.Contains(a.Body,
		"failed to send a http request: baseAddress of device service") || !strings.Contains(a.Body, "is Ledge's own, for device-rest") {
		t.Errorf("to Ledge itself: got %d %s", a.Status, a.Body)
	}
}

// TestCommandsOfEdgeXDeviceService has a device service on EdgeX's own SDK carry out commands. It answers a binary value in CBOR.
func TestCommandsOfEdgeXDeviceService(t *testing.T) {
	t.Parallel()
	path := ledgetest.BuildOnEdgeX(t, sdkFolder)
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	s := startSDKService(p, t, path, porttest.Hold(t))
	s.awaits("added room-1 UNLOCKED")
	resource := func(name, properties string) string {
		return fmt.Sprintf(`{"name":%q,"properties":{%s}}`, name, properties)
	}
	profile := fmt.Sprintf(`[{"apiVersion":"v2","profile":{"name":"cam","deviceResources":[%s,%s,%s,%s],"deviceCommands":[%s]}}]`,
		resource("picture", `"valueType":"Binary","readWrite":"R","mediaType":"image/jpeg"`), resource("state",
			`"valueType":"Object","readWrite":"RW"`),
		resource("target", `"valueType":"Float32","readWrite":"RW"`), resource("pin", `"valueType":"Int16","readWrite":"W"`),
		`{"name":"both","readWrite":"R","resourceOperations":[{"deviceResource":"picture"},{"deviceResource":"state"}]}`)
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/deviceprofile", profile, http.StatusCreated)
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/device", `[{"apiVersion":"v2","device":{"name":"cam-1","adminState":"UNLOCKED",`+
		`"operatingState":"UP","serviceName":"device-sdk","profileName":"cam","protocols":{"other":{}}}}]`, http.StatusCreated)
	s.awaits("added cam-1 UNLOCKED")

	call := func(method, command, body string, status int, want ...string) {
		t.Helper()
		contentType := map[string]string{http.MethodPut: "application/json"}[method]
		a := p.Call(method, p.URLs[services.Command]+"/api/v2/device/name/cam-1/"+command, contentType, body)
		for _, one := range want {
			if a.Status != status || !strings.Contains(a.Body, one) {
				t.Errorf("%s %s: got %d %s, want %d %s", method, command, a.Status, a.Body, status, one)
			}
		}
	}
	call(http.MethodGet, "target", "", http.StatusOK, `"valueType":"Float32","value":"2.150000e+01"}]}}`+"\n",
		`{"apiVersion":"v2","statusCode":200,"event":{`)
	call(http.MethodGet, "picture", "", http.StatusOK, `"binaryValue":"/9j/2Q==","mediaType":"image/jpeg"`)
	call(http.MethodGet, "state", "", http.StatusOK, `"objectValue":{"fan":"on","speed":3}`)
	call(http.MethodGet, "both", "", http.StatusOK, `"binaryValue":"/9j/2Q=="`, `"objectValue":{"fan":"on","speed":3}`,
		`"sourceName":"both"`)
	call(http.MethodGet, "target?ds-returnevent=no", "", http.StatusOK, "")
	call(http.MethodGet, "nosuch", "", http.StatusNotFound, `{\"apiVersion\":\"v2\",\"message\":\"deviceResource nosuch not found\",`+
		`\"statusCode\":404}`)
	call(http.MethodGet, "pin", "", http.StatusMethodNotAllowed, `deviceResource pin is marked as write-only`)
	call(http.MethodPut, "picture", `{"picture":"x"}`, http.StatusMethodNotAllowed, `deviceResource picture is marked as read-only`)
	call(http.MethodPut, "target", `{"target":"22.5"}`, http.StatusOK, `{"apiVersion":"v2","statusCode":200}`+"\n")
	s.awaits("wrote cam-1 target 22.5")
	call(http.MethodPut, "pin", `{"pin":"abc"}`, http.StatusInternalServerError, "failed to convert set parameter abc to ValueType Int16")
	if all := commandsOnRecord(t, dir, "cam-1"); len(all) != 3 || all[0].Status != 405 || all[1].Status != 200 || all[2].Status != 500 {
		t.Errorf("on record: %+v", all)
	}
	p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/deviceservice",
		`[{"apiVersion":"v2","service":{"name":"device-sdk","adminState":"LOCKED"}}]`, http.StatusOK)
	call(http.MethodGet, "target", "", http.StatusLocked, "service locked")
}

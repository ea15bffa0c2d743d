package command

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/handlerstest"
)

const pump = "/api/v2/device/name/pump-1/"

// failedWith is the envelope of a refusal.
func failedWith(status int, message string) string {
	text, _ := json.Marshal(handlers.Envelope{APIVersion: "v2", Message: message, StatusCode: status})
	return string(text) + "\n"
}

// wrappedMessage is the message for an error of a device service.
func wrappedMessage(status int, message string) string {
	return fmt.Sprintf(`request failed, status code: %d, err: {"apiVersion":"v2","message":%q,"statusCode":%d}`, status, message, status)
}

func scenarioOf(name, method, path, body string, status int, message string) handlerstest.Scenario {
	s := handlerstest.Scenario{Name: name, Method: method, Path: path, Body: body, Status: status, WantBody: failedWith(status, message)}
	if status == 400 { // with errors beside the message
		s.Contains, s.WantBody = []string{strings.TrimSuffix(s.WantBody, "}\n") + `,"errors":[{"path":`}, ""
	}
	return s
}

func setStates(adminState, operatingState string) domain.Command {
	return domain.UpdateDevice{Patch: domain.PatchOf[domain.Device]("name", "pump-1", "adminState", adminState, "operatingState",
		operatingState)}
}

func setService(adminState, baseAddress string) domain.Command {
	return domain.UpdateService{Patch: domain.PatchOf[domain.DeviceService]("name", "device-pump", "adminState", adminState,
		"baseAddress", baseAddress)}
}

func TestLists(t *testing.T) {
	p := mustCommand(t, 0)
	get := func(name, query string, status int, message string) handlerstest.Scenario {
		return scenarioOf(name, "GET", "/api/v2/device/all"+query, "", status, message)
	}
	handlerstest.Run(t, p, p.log, []handlerstest.Scenario{
		{
			Name: "page", Method: "GET", Path: "/api/v2/device/all?offset=1&limit=1", Status: 200,
			Contains: []string{`{"apiVersion":"v2","statusCode":200,"totalCount":2,"deviceCoreCommands":[{"deviceName":"post-1",` +
				`"profileName":"pump","coreCommands":[` +
				`{"name":"WriteInt8Value","set":true,"path":"/api/v2/device/name/post-1/WriteInt8Value",` +
				`"url":"http://localhost:59882","parameters":[{"resourceName":"Int8","valueType":"Int8"},` +
				`{"resourceName":"EnableRandomization_Int8","valueType":"Bool"}]},`,
				`{"name":"Int16","get":true,"set":true,"path":"/api/v2/device/name/post-1/Int16","url":"http://localhost:59882",` +
					`"parameters":[{"resourceName":"Int16","valueType":"Int16"}]}]}]}` + "\n"},
		},
		{Name: "none", Method: "GET", Path: "/api/v2/device/all?limit=0", Status: 200,
			WantBody: `{"apiVersion":"v2","statusCode":200,"totalCount":2,"deviceCoreCommands":[]}` + "\n"},
		get("not a number", "?limit=x", 400, `failed to parse querystring limit's value x into integer. Error:strconv.Atoi: parsing `+
			`"x": invalid syntax`),
		get("out of range", "?offset=-1", 400, "querystring offset's value -1 is out of min 0 ~ max 2147483647 range."),
		get("behind the end", "?offset=9", 416, `request failed, status code: 416, err: {"apiVersion":"v2","message":"query objects `+
			`bounds out of range. length:2","statusCode":416}`+"\n"),
		scenarioOf("of an unknown device", "GET", "/api/v2/device/name/a%20b", "", 404, wrappedMessage(404,
			"fail to query device by name a b")+"\n"),
	})
	w := handlerstest.Serve(p, "GET", "/api/v2/device/name/pump-1", "")
	if got := w.Body.String(); strings.Contains(got, `"EnableRandomization_Int8",`) && !strings.Contains(got,
		`"resourceName":"EnableRandomization_Int8"`) || !strings.HasPrefix(got,
		`{"apiVersion":"v2","statusCode":200,"deviceCoreCommand":{"deviceName":"pump-1",`) {
		t.Errorf("got %s", got)
	}
	if w = handlerstest.Serve(p, "GET", "/api/v2/device/all", ""); strings.Count(w.Body.String(), `"name":`) != 10 {
		t.Errorf("got %s, want ten commands", w.Body)
	}
}

// A GET is answered as the device service answers, with the members that EdgeX has.
func TestReads(t *testing.T) {
	p := mustCommand(t, 0)
	handlerstest.Run(t, p, p.log, []handlerstest.Scenario{
		{Name: "without the event", Method: "GET", Path: pump + "Int8?ds-returnevent=no&ds-pushevent=", Status: 200,
			WantHeader: []string{"Content-Type: application/json", "Content-Length: 0"}, Loose: "an empty word"},
		{Name: "binary", Method: "GET", Path: pump + "Binary", Status: 200,
			WantBody: `{"apiVersion":"v2","statusCode":200,"event":{"apiVersion":"v2","id":"e","deviceName":"d","profileName":"p",` +
				`"sourceName":"Binary","origin":7,` +
				`"readings":[{"id":"r","origin":7,"deviceName":"d","resourceName":"Binary","profileName":"p","valueType":"Binary",` +
				`"binaryValue":"/9g=","mediaType":"image/jpeg"}],"tags":{"site":"north"}}}` + "\n"},
		{Name: "object", Method: "GET", Path: pump + "Object", Status: 200,
			WantBody: `{"apiVersion":"v2","statusCode":200,"event":{"apiVersion":"v2","id":"e","deviceName":"d","profileName":"p",` +
				`"sourceName":"Object","origin":7,` +
				`"readings":[{"id":"r","origin":7,"deviceName":"d","resourceName":"Object","profileName":"p","valueType":"Object",` +
				`"objectValue":{"n":12345678901234567890}}]}}` + "\n"},
		scenarioOf("another word", "GET", pump+"Int8?ds-returnevent=true", "", 400, "invalid query parameter, true has to be yes or no"),
		scenarioOf("malformed", "GET", pump+"Int8?a=%25zz&%zz", "", 400,
			`the query is malformed: invalid URL escape "%zz"; escape `+
				`characters that a URL cannot have`),
		scenarioOf("of an unknown device", "GET", "/api/v2/device/name/nosuch/Int8", "", 404, wrappedMessage(404,
			"fail to query device by name nosuch")+"\n"),
		scenarioOf("unknown", "GET", pump+"Int%5Cd%2B", "", 404, wrappedMessage(404, `deviceResource Int\d+ not found`)),
		scenarioOf("write-only", "GET", pump+"WriteInt8Value", "", 405, wrappedMessage(405,
			"deviceCommand WriteInt8Value is marked as write-only")),
		scenarioOf("of device-rest", "GET", "/api/v2/device/name/post-1/Int8", "", 500,
			"device 'post-1' only sends values, to /api/v2/resource/post-1/…; Ledge cannot read from it"),
		scenarioOf("a text", "GET", pump+"Text", "", 500, `the answer of the device service "device-pump" cannot be read: it is not an `+
			`answer of EdgeX 2; correct its baseAddress or the service`),
		scenarioOf("another program", "GET", pump+"Other", "", 500, `the answer of the device service "device-pump" cannot be read: it is `+
			`not an answer of EdgeX 2; correct its baseAddress or the service`),
		scenarioOf("a secret", "GET", pump+"Secret", "", 500, "request failed, status code: 500, err: (answers of this machine are "+
			"not shown)"),
		scenarioOf("too large", "GET", pump+"Large-17000000", "", 500,
			`the answer of the device service "device-pump" cannot be read: it is `+
				`longer than 16777216 bytes; correct its baseAddress or the service`),
		scenarioOf("without an end", "GET", pump+"Endless", "", 500,
			`the answer of the device service "device-pump" cannot be read: it is `+
				`longer than 16777216 bytes; correct its baseAddress or the service`),
		scenarioOf("redirected", "GET", pump+"Redirect", "", 500, `request failed, status code: 302, err: redirected to "(answers of this `+
			`machine are not shown)"; redirects are followed to the same scheme, host and port and with the same method only, 3 `+
			`times: correct baseAddress`),
	})
	for _, size := range []int{16 << 10, 100 << 10, 5 << 20} {
		if w := handlerstest.Serve(p, "GET", fmt.Sprint(pump, "Large-", size), ""); w.Code != 200 || strings.Count(w.Body.String(),
			"x") < size {
			t.Errorf("%d bytes: got %d with %d bytes", size, w.Code, w.Body.Len())
		}
	}
	if w := handlerstest.Serve(p, "GET", pump+"Many-1000000", ""); w.Code != 500 || !strings.Contains(w.Body.String(), "bytes of memory") {
		t.Errorf("many readings: got %d %.200s", w.Code, w.Body)
	}
	for _, status := range []int{400, 404, 405, 409, 423, 500, 501, 503} {
		for _, method := range []string{"GET", "PUT"} {
			w := handlerstest.Serve(p, method, fmt.Sprint(pump, "Status-", status), map[string]string{"PUT": "{}"}[method])
			if want := failedWith(status, wrappedMessage(status, fmt.Sprint("device service says ", status))); w.Code != status ||
				w.Body.String() != want {
				t.Errorf("%s: %d: got %d %s, want %s", method, status, w.Code, w.Body, want)
			}
		}
	}
	for _, status := range []int{401, 403, 407, 413, 502} {
		if w := handlerstest.Serve(p, "GET", fmt.Sprint(pump, "Status-", status), ""); w.Code != 500 {
			t.Errorf("%d: got %d %s, want 500", status, w.Code, w.Body)
		}
	}
	w := handlerstest.Serve(p, "GET", pump+"Int8?ds-pushevent=yes&ds-returnevent=yes", "", "X-Correlation-ID: c-7")
	calls := p.service.Calls()
	last := calls[len(calls)-1]
	if w.Code != 200 || last.URI != pump+"Int8?ds-pushevent=yes&ds-returnevent=yes" || last.Header.Get("X-Correlation-ID") != "c-7" ||
		last.Body != "" {
		t.Errorf("got %d %s; sent %+v", w.Code, w.Body, last)
	}
	for _, e := range p.log.Recorded()[5:] {
		if c, ok := e.Event.(domain.CommandIssued); ok && !strings.HasPrefix(c.Command, "Status-") {
			t.Errorf("a GET is on record: %+v", c)
		}
	}
}

// A PUT and its outcome are on record before it is answered.
func TestWritesAreRecorded(t *testing.T) {
	p := mustCommand(t, 0)
	write := func(name, command, body string, status int, message string) handlerstest.Scenario {
		s := scenarioOf(name, "PUT", pump+command, body, status, message)
		s.Submits = 2
		if status == 200 {
			s.WantBody = `{"apiVersion":"v2","statusCode":200}` + "\n"
		}
		return s
	}
	const unread = `the answer of the device service "device-pump" cannot be read: it is not an answer of EdgeX 2; correct its ` +
		`baseAddress or the service`
	bad := wrappedMessage(500, `failed to create CommandValue -> failed to convert set parameter abc to ValueType Int8 -> `+
		`strconv.ParseInt: `+
		`parsing "abc": invalid syntax`)
	scenarios := []handlerstest.Scenario{
		write("a resource", "Int8", `{"Int8":"12"}`, 200, ""),
		write("a command", "WriteInt8Value", `{"EnableRandomization_Int8":false,"Int8":12}`, 200, ""),
		write("nothing", "Int8", `{}`, 200, ""),
		write("null", "Int8", `null`, 200, ""),
		write("with more behind it", "Int8", `{"zz":"1"} and more`, 200, ""),
		write("a bad value", "Int8", `{"Int8":"abc"}`, 500, strings.ReplaceAll(bad, ">", `\u003e`)),
		write("a hidden value", "WriteInt8Value", `{"Int16":"1234","Int8":"5"}`, 200, ""),
		write("a hidden value beside a bad one", "Int8", `{"Int16":"1234","Int8":"abc"}`, 500, strings.ReplaceAll(bad, ">", `\u003e`)),
		write("unknown", "nosuch", `{}`, 404, wrappedMessage(404, "deviceResource nosuch not found")),
		write("a text", "Text", `{}`, 500, unread),
		write("another program", "Other", `{}`, 500, unread),
		write("without an end", "Endless", `{}`, 500, strings.Replace(unread, "it is not an answer of EdgeX 2",
			"it is longer than 65536 bytes", 1)),
	}
	handlerstest.Run(t, p, p.log, scenarios)
	want := []domain.CommandIssued{
		{Command: "Int8", Value: json.RawMessage(`{"Int8":"12"}`), Status: 200},
		{Command: "WriteInt8Value", Value: json.RawMessage(`{"EnableRandomization_Int8":false,"Int8":12}`), Status: 200},
		{Command: "Int8", Value: json.RawMessage(`{}`), Status: 200},
		{Command: "Int8", Status: 200},
		{Command: "Int8", Value: json.RawMessage(`{"zz":"1"}`), Status: 200},
		{Command: "Int8", Value: json.RawMessage(`{"Int8":"abc"}`), Status: 500, Message: strings.ReplaceAll(bad, ">", `\u003e`)},
		{Command: "WriteInt8Value", Value: json.RawMessage(`{"Int16":"(hidden)","Int8":"5"}`), Status: 200},
		{Command: "Int8", Value: json.RawMessage(`{"Int16":"(hidden)","Int8":"abc"}`), Status: 500},
		{Command: "nosuch", Value: json.RawMessage(`{}`), Status: 404, Message: wrappedMessage(404, "deviceResource nosuch not found")},
		{Command: "Text", Value: json.RawMessage(`{}`), Status: 500, Message: unread},
		{Command: "Other", Value: json.RawMessage(`{}`), Status: 500, Message: unread},
		{Command: "Endless", Value: json.RawMessage(`{}`), Status: 500, Message: strings.Replace(unread, "it is not an answer of EdgeX 2",
			"it is longer than 65536 bytes", 1)},
	}
	recorded := p.log.Recorded()
	if len(recorded) != 5+2*len(want) {
		t.Fatalf("%d events, want %d", len(recorded), 5+2*len(want))
	}
	for i, w := range want {
		issued, answered := recorded[5+2*i], recorded[6+2*i]
		w.Device, w.Service = "pump-1", "device-pump"
		outcome := domain.CommandAnswered{Device: w.Device, Command: w.Command, Issued: issued.Seq, Status: w.Status, Message: w.Message,
			Prev: issued.Seq}
		if w.Status, w.Message = 0, ""; i > 0 {
			w.Prev = issued.Seq - 1
		}
		if got, want := fmt.Sprintf("%+v, %+v", issued.Event, answered.Event), fmt.Sprintf("%+v, %+v", w, outcome); got != want {
			t.Errorf("%d: got  %s\nwant %s", i, got, want)
		}
		if issued.EventID == answered.EventID || issued.CorrelationID != answered.CorrelationID || issued.Actor != answered.Actor ||
			!strings.HasPrefix(issued.Actor, "anonymous@") {
			t.Errorf("%d: the stamps are %+v and %+v", i, issued.Stamp, answered.Stamp)
		}
	}
	calls := p.service.Calls()
	if c := calls[6]; c.Body != `{"Int16":"1234","Int8":"5"}` || c.Method != "PUT" {
		t.Errorf("sent %+v", c)
	}
	if c := calls[4]; c.Body != `{"zz":"1"}` {
		t.Errorf("sent %+v", c)
	}
}

// A request that is wrong in itself is not issued, and not on record.
func TestRefusedWrites(t *testing.T) {
	p := mustCommand(t, 0)
	const unread = "failed to parse request body"
	handlerstest.Run(t, p, p.log, []handlerstest.Scenario{
		scenarioOf("no body", "PUT", pump+"Int8", "", 500, unread),
		scenarioOf("ends early", "PUT", pump+"Int8", "{", 500, unread),
		scenarioOf("an array", "PUT", pump+"Int8", `["x"]`, 500, unread),
		scenarioOf("to an unknown device", "PUT", "/api/v2/device/name/nosuch/Int8", "{}", 404, wrappedMessage(404,
			"fail to query device by name nosuch")+"\n"),
		{Name: "too long", Method: "PUT", Path: pump + "Int8", Body: `{"a":"` + strings.Repeat("x", 256<<10) + `"}`, Status: 413,
			Contains: []string{"over the limit of 262144 bytes"}},
	})
	if calls := p.service.Calls(); len(calls) > 0 {
		t.Errorf("sent %+v", calls)
	}
}

// The states are looked at here, as EdgeX's device SDK does it, before the device service is asked. A refused PUT is on record.
func TestStates(t *testing.T) {
	p := mustCommand(t, 0)
	for _, c := range []struct {
		given   domain.Command
		message string
	}{
		{setStates("LOCKED", "DOWN"), "device pump-1 locked"},
		{setStates("UNLOCKED", "DOWN"), "device pump-1 OperatingState is DOWN"},
		{setService("LOCKED", p.service.URL), "service locked"},
	} {
		p.log.Given(t, c.given)
		put := scenarioOf(c.message, "PUT", pump+"Int8", `{}`, 423, wrappedMessage(423, c.message))
		put.Submits = 1
		handlerstest.Run(t, p, p.log, []handlerstest.Scenario{scenarioOf(c.message, "GET", pump+"nosuch", "", 423, wrappedMessage(423,
			c.message)), put})
	}
	put := scenarioOf("to device-rest", "PUT", "/api/v2/device/name/post-1/Int8", `{}`, 500,
		"device 'post-1' only sends values, to /api/v2/resource/post-1/…; Ledge cannot write to it")
	put.Submits = 1
	handlerstest.Run(t, p, p.log, []handlerstest.Scenario{put})
	if calls := p.service.Calls(); len(calls) > 0 {
		t.Errorf("sent %+v", calls)
	}
	if e := p.log.Recorded(); e[len(e)-1].Event.(domain.CommandIssued).Status != 500 {
		t.Errorf("got %+v", e[len(e)-1])
	}
}

func TestAway(t *testing.T) {
	p := mustCommand(t, 0)
	const away = "failed to send a http request"
	p.service.Close()
	put := scenarioOf("write", "PUT", pump+"Int8", `{}`, 503, away)
	put.Submits = 2
	handlerstest.Run(t, p, p.log, []handlerstest.Scenario{scenarioOf("read", "GET", pump+"Int8", "", 503, away), put})
}

// A slow device service is given up with the answer of EdgeX's core-command.
func TestSlow(t *testing.T) {
	p := mustCommand(t, 100*time.Millisecond)
	want := handlerstest.Scenario{Name: "read", Method: "GET", Path: pump + "Slow", Status: 503, WantBody: "HTTP request timeout",
		WantHeader: []string{"Content-Type: text/plain; charset=utf-8"}}
	put := want
	put.Name, put.Method, put.Body, put.Submits = "write", "PUT", `{}`, 2
	handlerstest.Run(t, p, p.log, []handlerstest.Scenario{want, put})
	e := p.log.Recorded()
	if got := e[len(e)-1].Event.(domain.CommandAnswered); got.Status != 503 || got.Message != "HTTP request timeout" {
		t.Errorf("got %+v", got)
	}
}

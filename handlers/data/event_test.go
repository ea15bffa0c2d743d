package data

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/handlerstest"
)

var (
	temperatureJSON = `{"id":"00000000-0000-7000-8000-000000000501","origin":1700000000000000001,"deviceName":"hall-1","resourceName":"temperature","profileName":"climate","valueType":"Float32","units":"°C","value":"2.150000e+01"}`
	pictureJSON     = `{"id":"1cf4a2f6-5566-4d14-a992-79fbb18d8d4b","origin":1700000000000000002,"deviceName":"hall-1","resourceName":"image","profileName":"climate","valueType":"Binary","binaryValue":"` + base64.StdEncoding.EncodeToString(picture) + `","mediaType":"image/jpeg","value":""}`
	stateJSON       = `{"id":"00000000-0000-7000-8000-000000000503","origin":1700000000000000003,"deviceName":"hall-1","resourceName":"state","profileName":"climate","valueType":"Object","value":"","objectValue":{"fan":"on"}}`
	eventJSON       = `{"apiVersion":"v2","id":"6877ff35-5566-5d14-a992-79fbb18d8d4a","deviceName":"hall-1","profileName":"climate","sourceName":"everything","origin":1700000000000000000,"readings":[` +
		temperatureJSON + `,` + pictureJSON + `,` + stateJSON + `],"tags":{"site":"north"}}`
)

func get(name, path, want string) handlerstest.Scenario {
	return handlerstest.Scenario{Name: name, Method: "GET", Path: api + path, Status: 200, WantBody: want + "\n"}
}

func TestGetEvent(t *testing.T) {
	f := mustData(t)
	one := get("one", "/event/id/"+eventID, `{"apiVersion":"v2","statusCode":200,"event":`+eventJSON+`}`)
	one.WantHeader = []string{`ETag: "1"`, "Content-Type: application/json", "Vary: Accept", "Content-Length: 1013"}
	handlerstest.Run(t, f, f.log, []handlerstest.Scenario{
		one,
		{Name: "unchanged", Method: "GET", Path: api + "/event/id/" + eventID, Header: []string{`If-None-Match: "1"`}, Status: 304, WantHeader: []string{`ETag: "1"`}},
		{Name: "unknown", Method: "GET", Path: api + "/event/id/" + readingID, Status: 404, Contains: []string{"does not exist; correct the id"}},
		{Name: "no UUID", Method: "GET", Path: api + "/event/id/x", Status: 400, Contains: []string{"is no UUID"}},
	})
	if *f.reads != 1 {
		t.Errorf("the log was read %d times, want once for one event", *f.reads)
	}
}

// An event of the log is read once for all of its values.
func TestEventIsReadOnce(t *testing.T) {
	f := mustData(t)
	small := `"valueType":"Binary","mediaType":"a/b","binaryValue":"////"`
	handlerstest.Serve(f, "POST", path, posted(handlerstest.ID(700), small, five, small, small))
	if w := handlerstest.Serve(f, "GET", api+"/event/all", ""); w.Code != 200 || strings.Count(w.Body.String(), small[:20]) != 4 || *f.reads != 2 {
		t.Errorf("got %d %s, read %d times, want one for each event", w.Code, w.Body, *f.reads)
	}
}

func TestListEvents(t *testing.T) {
	f := mustData(t)
	page := func(total int, list string) string {
		return fmt.Sprintf(`{"apiVersion":"v2","statusCode":200,"totalCount":%d,"events":[%s]}`, total, list)
	}
	counted := func(n int) string { return fmt.Sprintf(`{"apiVersion":"v2","statusCode":200,"Count":%d}`, n) }
	handlerstest.Run(t, f, f.log, []handlerstest.Scenario{
		get("all", "/event/all", page(1, eventJSON)),
		get("only their number", "/event/all?limit=0", page(1, "")),
		get("of the device", "/event/device/name/hall-1", page(1, eventJSON)),
		get("of another device", "/event/device/name/hall-2", page(0, "")),
		get("within a time", "/event/start/1700000000000000000/end/1700000000000000000", page(1, eventJSON)),
		get("before it", "/event/start/0/end/1699999999999999999", page(0, "")),
		{Name: "swapped", Method: "GET", Path: api + "/event/start/2/end/1", Status: 400, Contains: []string{"swap them"}},
		{Name: "start in seconds", Method: "GET", Path: api + "/event/start/1700000000/end/1800000000000000000", Status: 400, Contains: []string{
			"start: 1700000000 is a time in seconds, and not in nanoseconds; send 1700000000000000000"}},
		{Name: "end in seconds", Method: "GET", Path: api + "/event/start/0/end/4000000000", Status: 400, Contains: []string{"send 4000000000000000000"}},
		get("in the first second", "/event/start/0/end/999999999", page(0, "")),
		{Name: "no time", Method: "GET", Path: api + "/event/start/x/end/1", Status: 400, Contains: []string{"give one, in nanoseconds"}},
		{Name: "beyond", Method: "GET", Path: api + "/event/all?offset=2", Status: 416},
		get("count", "/event/count", counted(1)),
		get("count of a device", "/event/count/device/name/hall-1", counted(1)),
		get("count of another", "/event/count/device/name/hall-2", counted(0)),
		{Name: "put", Method: "PUT", Path: api + "/event", Status: 404},
		{Name: "preflight", Method: "OPTIONS", Path: api + "/event/all", Status: 405},
	})
}

func TestAddEvent(t *testing.T) {
	f := mustData(t)
	id := handlerstest.ID(700)
	post := func(name, body string, status int, says ...string) handlerstest.Scenario {
		s := handlerstest.Scenario{Name: name, Method: "POST", Path: path, Body: body, Status: status, Contains: says}
		if status == 201 || status == 409 {
			s.Submits = 1
		}
		return s
	}
	change := func(old, with string) string { return strings.Replace(posted(id, five), old, with, 1) }
	first := post("first", strings.Replace(posted(id, five), `"v2"`, `"V2","requestId":"6623c328-0620-5a9d-8127-b348c5933d07"`, 1), 201)
	first.WantBody = `{"apiVersion":"v2","requestId":"6623c328-0620-5a9d-8127-b348c5933d07","statusCode":201,"id":"` + id + `"}` + "\n"
	first.WantHeader = []string{`ETag: "2"`, "Content-Type: application/json"}
	conditional := post("on a condition", posted(handlerstest.ID(701), five), 400, "adds something new")
	conditional.Header = []string{`If-Match: "1"`}
	otherPath := post("another path", posted(id, five), 400, `event.sourceName: \"everything\" is not the \"x\" of the path`)
	otherPath.Path = api + "/event/climate/hall-1/x"
	marked := post("a byte order mark", "\ufeff"+posted(handlerstest.ID(705), five), 201)
	marked.Loose = "the document has JSON"
	text := post("as text", posted(handlerstest.ID(702), five), 201)
	text.Header = []string{"Content-Type: text/plain"}
	handlerstest.Run(t, f, f.log, []handlerstest.Scenario{
		first,
		post("again", posted(id, five), 409, "exists already"),
		post("its reading again", posted(handlerstest.ID(703), `"id":"`+readingID+`",`+five), 409, "exists already"),
		conditional, otherPath, text,
		post("an array without spaces", posted(handlerstest.ID(704), strings.Replace(strings.Replace(five, `"Int32"`, `"Int32Array"`, 1), `"5"`, `"[1,2,3]"`, 1)), 201),
		marked,
		post("no body", "", 400, "the body is empty; send one object"),
		post("no JSON", "{\n @", 400, "the body is no JSON: invalid character '@' looking for beginning of object key string at line 2, column 2 (byte 3); send one object"),
		post("null", "null", 400, "apiVersion: is missing"),
		post("an array", "[]", 400, "body: a JSON array is not possible here"),
		post("a number as origin", change("1700000000000000099", `"x"`), 400, "event.origin: a JSON string is not possible here"),
		post("without apiVersion", `{"event":{}}`, 400, "apiVersion: is missing"),
		post("empty event", `{"apiVersion":"v2","event":{}}`, 400, "event.apiVersion: is missing", "event.id: ", "event.readings: is missing"),
		post("no UUID", change(id, "x"), 400, `event.id: \"x\" is no UUID`),
		post("another device", change(`"deviceName":"hall-1"`, `"deviceName":"hall-2"`), 400, `event.deviceName: \"hall-2\" is not the \"hall-1\" of the path`),
		post("no readings", posted(id), 400, "event.readings: is missing"),
		post("no value", posted(id, `"valueType":"Int32"`), 400, "event.readings[0].value: is missing"),
		post("no number", posted(id, `"valueType":"Int32","value":"abc"`), 400, `event.readings[0].value: \"abc\" is no Int32`),
		post("no base64", posted(id, `"valueType":"Binary","binaryValue":"@@","mediaType":"image/jpeg"`), 400, `event.readings[0].binaryValue: \"@@\" is not base64: illegal base64 data at input byte 0; send the bytes in base64`),
		post("no base64 in a later one", posted(id, five, `"valueType":"Binary","binaryValue":"`+strings.Repeat("A", 1001)+`","mediaType":"image/jpeg"`), 400,
			`event.readings[1].binaryValue: \"`+strings.Repeat("A", 80)+`\" is not base64: illegal base64 data at input byte 1000`),
		post("a number as base64", posted(id, `"valueType":"Binary","binaryValue":1,"mediaType":"image/jpeg"`), 400, "event.readings[0].binaryValue: a JSON number is not possible here; give a string in base64"),
		post("no object", posted(id, `"valueType":"Object","objectValue":null`), 400, "event.readings[0].objectValue: is missing"),
		post("unknown type", posted(id, `"valueType":"Text","value":"x"`), 400, `event.readings[0].valueType: \"Text\" is unknown`),
		post("tags that are not an object", change(`"readings"`, `"tags":[1],"readings"`), 400, "event.tags: "),
	})
}

// What is posted is answered as EdgeX writes it.
func TestEventThatIsTooLong(t *testing.T) {
	f := mustData(t, func(o *handlers.Options) { o.BodyBytes = 100 })
	if w := handlerstest.Serve(f, "POST", path, posted(handlerstest.ID(700), five)); w.Code != 413 || !strings.Contains(w.Body.String(), "100 bytes, which is the limit; send less") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestValuesOfAllTypes(t *testing.T) {
	for valueType, c := range map[string]struct{ sent, got string }{
		"Int32":        {five, `"valueType":"Int32","value":"5"`},
		"case":         {`"valueType":"int32ARRAY","value":"[1, 2]"`, `"valueType":"Int32Array","value":"[1, 2]"`},
		"String":       {`"valueType":"String","value":"a<\"ü\"","units":"U"`, `"valueType":"String","units":"U","value":"a\u003c\"ü\""`},
		"other fields": {`"valueType":"Int8","value":"1","mediaType":"x","binaryValue":"eA==","objectValue":1`, `"valueType":"Int8","value":"1"`},
		"Binary":       {`"valueType":"Binary","binaryValue":"eA==","mediaType":"a/b"`, `"valueType":"Binary","binaryValue":"eA==","mediaType":"a/b","value":""`},
		"Object":       {`"valueType":"Object","objectValue":{ "a" : [1, null] }`, `"valueType":"Object","value":"","objectValue":{"a":[1,null]}`},
		"no object":    {`"valueType":"Object","objectValue":false`, `"valueType":"Object","value":"","objectValue":false`},
		"long text":    {`"valueType":"String","value":"` + strings.Repeat("é", 600) + `"`, `"valueType":"String","value":"` + strings.Repeat("é", 600) + `"`},
		"long object":  {`"valueType":"Object","objectValue":["` + strings.Repeat("é", 600) + `"]`, `"valueType":"Object","value":"","objectValue":["` + strings.Repeat("é", 600) + `"]`},
		"text beside":  {`"valueType":"String","value":"x` + strings.Repeat("é", 6000) + `"`, `"valueType":"String","value":"x` + strings.Repeat("é", 6000) + `"`},
		"array beside": {`"valueType":"Object","objectValue":["` + strings.Repeat("é", 6000) + `"]`, `"valueType":"Object","value":"","objectValue":["` + strings.Repeat("é", 6000) + `"]`},
	} {
		t.Run(valueType, func(t *testing.T) {
			f := mustData(t)
			id := handlerstest.ID(700)
			post := handlerstest.Scenario{Name: "post", Method: "POST", Path: path, Body: posted(id, c.sent), Status: http.StatusCreated, Submits: 1}
			if valueType == "case" {
				post.Loose = "the document has value types in their proper case"
			}
			handlerstest.Run(t, f, f.log, []handlerstest.Scenario{post})
			got := handlerstest.Serve(f, "GET", api+"/event/id/"+id, "").Body.String()
			if want := `"profileName":"climate",` + c.got + `}]}}` + "\n"; !strings.HasSuffix(got, want) {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// What is no UTF-8 is in no event and in no answer: who reads them could not go on.
func TestObjectsThatAreNoUTF8(t *testing.T) {
	f := mustData(t)
	id := handlerstest.ID(700)
	body := strings.Replace(posted(id, "\"valueType\":\"Object\",\"objectValue\":{\"a\xff\":\"\xfe\"}"), `"readings":`, "\"tags\":{\"t\":\"\xff\"},\"readings\":", 1)
	if w := handlerstest.Serve(f, "POST", path, body); w.Code != http.StatusCreated {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	if e := f.log.Recorded()[1].Event.(domain.DataEventAdded); !utf8.Valid(e.Event.Tags) || !utf8.Valid(e.Readings[0].Object) {
		t.Errorf("recorded %q and %q", e.Event.Tags, e.Readings[0].Object)
	}
	f.log.Given(t, domain.PostReading{Reading: domain.ReadingPosted{
		Reading: readingOf(8, "state", "Object", func(r *domain.Reading) { r.Event, r.Size = handlerstest.ID(701), 9 }), Value: []byte("{\"b\":\"\xff\"}"),
	}})
	for _, path := range []string{"/event/all", "/event/id/" + id, "/reading/all?limit=2"} {
		if got := handlerstest.Serve(f, "GET", api+path, "").Body.String(); !utf8.ValidString(got) || !strings.Contains(got, "\ufffd") {
			t.Errorf("%s: got %q", path, got)
		}
	}
}

// Values that are too long for the event are beside the log, and held until the outcome is known.
func TestLargeValues(t *testing.T) {
	big := `"valueType":"Binary","mediaType":"a/b","binaryValue":"` + strings.Repeat("////", inlineBytes) + `"`
	small := `"valueType":"Binary","mediaType":"a/b","binaryValue":"////"`
	for name, c := range map[string]struct {
		fail         error
		status       int
		held, unused int
	}{
		"recorded": {nil, 201, 0, 0},
		"in doubt": {&domain.Error{Code: domain.Unavailable, Message: "the log failed", InDoubt: true}, 503, 1, 0},
		"stopping": {domain.Errorf(domain.Unavailable, "stopping"), 503, 0, 1},
		"broken":   {errors.New("boom"), 500, 0, 1},
		"refused":  {domain.Errorf(domain.Full, "the disk is full"), 507, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := mustData(t)
			f.log.Fail = c.fail
			w := handlerstest.Serve(f, "POST", path, posted(handlerstest.ID(700), small, big))
			if w.Code != c.status || len(f.payloads.held) != c.held || len(f.payloads.kept) != 1 {
				t.Errorf("got %d %s, %d held", w.Code, w.Body, len(f.payloads.held))
			}
			if want := 1 - c.held - c.unused; f.payloads.used != want {
				t.Errorf("%d used, want %d", f.payloads.used, want)
			}
		})
	}
	f := mustData(t)
	f.payloads.fail = domain.Errorf(domain.Full, "the disk is full")
	other := strings.Replace(big, "////", "AAAA", 1)
	if w := handlerstest.Serve(f, "POST", path, posted(handlerstest.ID(700), big, other)); w.Code != 507 || len(f.payloads.held) != 0 || len(f.payloads.kept) != 1 {
		t.Errorf("no room for the second: got %d %s, %d held, %d kept", w.Code, w.Body, len(f.payloads.held), len(f.payloads.kept))
	}
}

// The values of one event stay below what a message may hold together.
func TestValuesTogether(t *testing.T) {
	f := mustData(t, func(o *handlers.Options) { o.InlineBytes = 1 << 20 })
	big := `"valueType":"Binary","mediaType":"a/b","binaryValue":"` + strings.Repeat("////", 1<<18) + `"`
	if w := handlerstest.Serve(f, "POST", path, posted(handlerstest.ID(700), big, big, big, big, big, five)); w.Code != 201 || f.payloads.used != 1 {
		t.Errorf("got %d %.200s, %d beside the log, want 1", w.Code, w.Body, f.payloads.used)
	}
}

func TestAddEventOnce(t *testing.T) {
	f := mustData(t)
	const key = "Idempotency-Key: k-1"
	body := posted(handlerstest.ID(700), five)
	first := handlerstest.Serve(f, "POST", path, body, key)
	again := handlerstest.Serve(f, "POST", path, body, key)
	if first.Code != 201 || again.Body.String() != first.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" || len(f.log.Recorded()) != 2 {
		t.Errorf("got %d %s, then %s, %d events", first.Code, first.Body, again.Body, len(f.log.Recorded()))
	}
	if other := handlerstest.Serve(f, "POST", path, " "+body, key); other.Code != 422 {
		t.Errorf("another body: got %d %s", other.Code, other.Body)
	}
}

func TestRemoveEvent(t *testing.T) {
	f := mustData(t)
	remove := func(name, id, match string, status, submits int) handlerstest.Scenario {
		s := handlerstest.Scenario{Name: name, Method: "DELETE", Path: api + "/event/id/" + id, Status: status, Submits: submits}
		if match != "" {
			s.Header = []string{"If-Match: " + match}
		}
		return s
	}
	handlerstest.Run(t, f, f.log, []handlerstest.Scenario{
		remove("no UUID", "x", "", 400, 0),
		remove("unknown", readingID, "", 404, 1),
		remove("stale", eventID, `"7"`, 412, 1),
		remove("there", eventID, `"1"`, 200, 1),
		remove("gone", eventID, "", 404, 1),
		get("readings", "/reading/count", `{"apiVersion":"v2","statusCode":200,"Count":0}`),
		{Name: "value", Method: "GET", Path: api + "/reading/id/" + readingID + "/binary", Status: 404},
	})
}

func TestRemoveEvents(t *testing.T) {
	f := mustData(t)
	now := handlerstest.Now.UnixNano()
	for _, c := range []struct {
		path string
		want domain.Cleanup
	}{
		{"/event/age/1000", domain.Cleanup{Kind: "events", Until: now - 1000}},
		{"/event/age/0", domain.Cleanup{Kind: "events", Until: now}},
		{"/event/age/-9223372036854775808", domain.Cleanup{Kind: "events", Until: math.MaxInt64}},
		{"/event/device/name/hall-1", domain.Cleanup{Kind: "device:hall-1"}},
	} {
		handlerstest.Run(t, f, f.log, []handlerstest.Scenario{
			{Name: c.path, Method: "DELETE", Path: api + c.path, Status: 202, Submits: 1, WantBody: `{"apiVersion":"v2","statusCode":202}` + "\n"},
		})
		recorded := f.log.Recorded()
		if got, want := recorded[len(recorded)-1].Event, (domain.CleanupRequested{Cleanup: c.want}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", c.path, got, want)
		}
	}
	handlerstest.Run(t, f, f.log, []handlerstest.Scenario{
		{Name: "no age", Method: "DELETE", Path: api + "/event/age/x", Status: 400, Contains: []string{"give one, in nanoseconds"}},
		{Name: "no name", Method: "DELETE", Path: api + "/event/device/name/a.b", Status: 400, Contains: []string{"name: "}},
	})
}

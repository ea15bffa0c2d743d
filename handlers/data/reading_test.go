package data

import (
	"encoding/csv"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ledge/domain"
	"ledge/handlers/data/aggregate"
	"ledge/handlers/handlerstest"
)

func TestListReadings(t *testing.T) {
	f := mustData(t)
	f.log.Given(t, domain.PostReading{Reading: domain.ReadingPosted{Value: []byte("7"), Reading: domain.Reading{
		ID: handlerstest.ID(800), Event: handlerstest.ID(801), Profile: "p", Device: "hall-2", Resource: "temperature", ValueType: "Int8", MediaType: "text/plain", Size: 1, Origin: origin + 9,
	}}})
	const otherJSON = `{"id":"00000000-0000-7000-8000-000000000800","origin":1700000000000000009,"deviceName":"hall-2","resourceName":"temperature","profileName":"p","valueType":"Int8","value":"7"}`
	page := func(total int, list ...string) string {
		return fmt.Sprintf(`{"apiVersion":"v2","statusCode":200,"totalCount":%d,"readings":[%s]}`, total, strings.Join(list, ","))
	}
	const all, first = "/start/0/end/1800000000000000000", "/start/1700000000000000001/end/1700000000000000001"
	asking := func(name, path, body, want string) handlerstest.Scenario {
		s := get(name, path, want)
		s.Body = body
		return s
	}
	handlerstest.Run(t, f, f.log, []handlerstest.Scenario{
		get("all", "/reading/all", page(4, otherJSON, stateJSON, pictureJSON, temperatureJSON)),
		get("a page", "/reading/all?offset=1&limit=2", page(4, stateJSON, pictureJSON)),
		get("of a device", "/reading/device/name/hall-1", page(3, stateJSON, pictureJSON, temperatureJSON)),
		get("of a resource", "/reading/resourceName/temperature", page(2, otherJSON, temperatureJSON)),
		get("of an unknown resource", "/reading/resourceName/nosuch", page(0)),
		get("of both", "/reading/device/name/hall-1/resourceName/temperature", page(1, temperatureJSON)),
		get("within a time", "/reading"+first, page(1, temperatureJSON)),
		get("of a resource within a time", "/reading/resourceName/temperature"+all, page(2, otherJSON, temperatureJSON)),
		get("of a resource, within no time", "/reading/resourceName/image"+first, page(0)),
		get("of both within a time", "/reading/device/name/hall-1/resourceName/temperature"+first, page(1, temperatureJSON)),
		get("of a device within a time", "/reading/device/name/hall-1"+first, page(1, temperatureJSON)),
		asking("of resources", "/reading/device/name/hall-1"+all, `{"resourceNames":["image","state"]}`, page(2, stateJSON, pictureJSON)),
		asking("of no resources", "/reading/device/name/hall-1"+all, `{"resourceNames":[]}`, page(3, stateJSON, pictureJSON, temperatureJSON)),
		asking("of as many as may be", "/reading/device/name/hall-1"+all, `{"resourceNames":[`+strings.Repeat(`"a",`, domain.MaxTags-1)+`"image"]}`, page(1, pictureJSON)),
		asking("of null", "/reading/device/name/hall-1"+all, `null`, page(3, stateJSON, pictureJSON, temperatureJSON)),
		get("count", "/reading/count", `{"apiVersion":"v2","statusCode":200,"Count":4}`),
		get("count of a device", "/reading/count/device/name/hall-1", `{"apiVersion":"v2","statusCode":200,"Count":3}`),
		{Name: "names that are none", Method: "GET", Path: api + "/reading/device/name/hall-1" + all, Body: `{"resourceNames":"image"}`, Status: 400, Contains: []string{"body.resourceNames: a JSON string is not possible here; give an array"}},
		{Name: "no JSON", Method: "GET", Path: api + "/reading/device/name/hall-1" + all, Body: "{\n}}", Status: 400, Contains: []string{"at line 2, column 2 (byte 3); send one object"}},
		{Name: "in seconds", Method: "GET", Path: api + "/reading/start/1700000000/end/1800000000", Status: 400, Contains: []string{"send 1700000000000000000"}},
		{Name: "of a resource in seconds", Method: "GET", Path: api + "/reading/resourceName/r/start/0/end/1800000000", Status: 400, Contains: []string{"send 1800000000000000000"}},
		{Name: "of a device in seconds", Method: "GET", Path: api + "/reading/device/name/d/start/0/end/1800000000", Status: 400, Contains: []string{"send 1800000000000000000"}},
		{Name: "too many", Method: "GET", Path: api + "/reading/device/name/hall-1" + all, Body: `{"resourceNames":[` + strings.Repeat(`"a",`, domain.MaxTags) + `"a"]}`, Status: 400, Contains: []string{"has 257 entries"}},
	})
}

// What retention has removed from the log is left out, and a value whose reading is removed while it is asked for. A value
// beside the log that is missing although its reading is there is damage.
func TestValuesThatAreGone(t *testing.T) {
	f := mustData(t)
	id := handlerstest.ID(700)
	big := `"valueType":"Binary","mediaType":"a/b","binaryValue":"` + strings.Repeat("////", inlineBytes) + `"`
	if w := handlerstest.Serve(f, "POST", path, posted(id, five, big)); w.Code != 201 {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	f.gone[1] = true
	for digest := range f.payloads.kept {
		if w := handlerstest.Serve(f, "GET", api+"/reading/all", ""); w.Code != 200 {
			t.Errorf("all is there: got %d %s", w.Code, w.Body)
		}
		f.payloads.kept = nil
		for _, list := range []string{"/reading/all", "/event/id/" + id, "/reading/id/" + handlerstest.ID(3) + "/binary"} {
			if w := handlerstest.Serve(f, "GET", api+list, ""); w.Code != 500 || !strings.Contains(w.Body.String(), "payloads/"+digest) {
				t.Errorf("%s with a file missing: got %d %s", list, w.Code, w.Body)
			}
		}
	}
	f.payloads.missing = func() { f.log.Given(t, domain.RemoveDataEvent{ID: id}) }
	reading := `{"id":"00000000-0000-7000-8000-000000000002","origin":1700000000000000099,"deviceName":"hall-1","resourceName":"r","profileName":"climate",` + five + `}`
	handlerstest.Run(t, f, f.log, []handlerstest.Scenario{
		get("of an event", "/event/id/"+id, `{"apiVersion":"v2","statusCode":200,"event":{"apiVersion":"v2","id":"`+id+`","deviceName":"hall-1","profileName":"climate","sourceName":"everything","origin":1700000000000000099,"readings":[`+reading+`]}}`),
		get("of readings", "/reading/all", `{"apiVersion":"v2","statusCode":200,"totalCount":3,"readings":[`+stateJSON+`,`+temperatureJSON+`]}`),
		{Name: "itself", Method: "GET", Path: api + "/reading/id/" + readingID + "/binary", Status: 404},
	})
}

// TestAggregate asks for aggregates; package aggregate has the tests of the sums.
func TestAggregate(t *testing.T) {
	f := mustData(t)
	const of = "/reading/aggregate/device/name/hall-1/resourceName/"
	answer := func(resource, text string) string {
		return `{"apiVersion":"v2","statusCode":200,"aggregate":{"deviceName":"hall-1","resourceName":"` + resource + `",` + text + `}}`
	}
	refused := func(name, path, says string) handlerstest.Scenario {
		return handlerstest.Scenario{Name: name, Method: "GET", Path: api + path, Status: 400, Contains: []string{says}}
	}
	handlerstest.Run(t, f, f.log, []handlerstest.Scenario{
		get("all", of+"temperature", answer("temperature", `"valueType":"Float32","units":"°C","start":1700000000000000001,`+
			`"end":1700000000000000001,"interval":1,"totalCount":1,`+
			`"buckets":[{"start":1700000000000000001,"count":1,"min":21.5,"max":21.5,"mean":21.5}]`)),
		get("of a time", of+"temperature/start/1700000000000000000/end/1700000000000000999?buckets=10",
			answer("temperature", `"valueType":"Float32","units":"°C","start":1700000000000000000,"end":1700000000000000999,`+
				`"interval":100,"totalCount":1,"buckets":[{"start":1700000000000000000,"count":1,"min":21.5,"max":21.5,"mean":21.5}]`)),
		get("not of numbers", of+"image", answer("image", `"valueType":"Binary","start":1700000000000000002,"end":1700000000000000002,`+
			`"interval":1,"totalCount":1,"buckets":[{"start":1700000000000000002,"count":1,"others":1}]`)),
		get("of no resource", of+"nosuch", answer("nosuch", `"start":0,"end":0,"interval":0,"totalCount":0,"buckets":[]`)),
		refused("no bucket", of+"temperature?buckets=0", `buckets: \"0\" is not a whole number from 1 to 1000; correct it or leave it out`),
		refused("too many buckets", of+"temperature?buckets=1001", `buckets: \"1001\" is not a whole number from 1 to 1000`),
		refused("half a bucket", of+"temperature?buckets=1.5", `buckets: \"1.5\" is not a whole number`),
		refused("in seconds", of+"temperature/start/1700000000/end/1800000000", "send 1700000000000000000"),
		refused("backwards", of+"temperature/start/2/end/1", "end: 1 is before start, which is 2; swap them"),
	})
}

// TestReadingsAsCSV has a row for each reading, and no cell that a spreadsheet would run.
func TestReadingsAsCSV(t *testing.T) {
	f := mustData(t)
	post := func(n int, resource, valueType, text string) {
		f.log.Given(t, domain.PostReading{Reading: domain.ReadingPosted{Value: []byte(text), Reading: domain.Reading{
			ID: handlerstest.ID(800 + n), Event: handlerstest.ID(900 + n), Profile: "p", Device: "hall-2",
			Resource: resource, ValueType: valueType, MediaType: "text/plain", Size: int64(len(text)), Origin: origin + int64(1000+n),
		}}})
	}
	post(1, "depth", "Int8", "-5")
	post(2, "name", "String", `=HYPERLINK("http://x")`)
	post(3, "name", "String", "@"+strings.Repeat(`a"`, 3000))
	const (
		at    = "2023-11-14T22:13:20.000Z,"
		zero  = "00000000-0000-7000-8000-000000000"
		names = "time,deviceName,resourceName,value,units,valueType,mediaType,origin,id\r\n"
		depth = at + "hall-2,depth,-5,,Int8,text/plain,1700000000000001001," + zero + "801\r\n"
		name  = at + "hall-2,name,\"'=HYPERLINK(\"\"http://x\"\")\",,String,text/plain,1700000000000001002," + zero + "802\r\n"
		warm  = at + "hall-1,temperature,2.150000e+01,°C,Float32,,1700000000000000001," + zero + "501\r\n"
		image = at + "hall-1,image,,,Binary,image/jpeg,1700000000000000002," + readingID + "\r\n"
		state = at + "hall-1,state,\"{\"\"fan\"\":\"\"on\"\"}\",,Object,,1700000000000000003," + zero + "503\r\n"
	)
	long := at + "hall-2,name,\"'@" + strings.Repeat(`a""`, 3000) + "\",,String,text/plain,1700000000000001003," + zero + "803\r\n"
	for _, one := range []struct{ path, accept, want string }{
		{"/reading/all", "text/csv", names + long + name + depth + state + image + warm},
		{"/reading/all?limit=1&offset=2", "text/csv;header=absent", depth},
		{"/reading/resourceName/temperature", "text/csv, application/json;q=0.9", names + warm},
		{"/reading/device/name/hall-1/start/0/end/1700000000000000002", "text/csv; header=present", names + image + warm},
		{"/reading/device/name/nosuch", "text/csv", names},
	} {
		w := handlerstest.Serve(f, "GET", api+one.path, "", "Accept: "+one.accept)
		kind := "text/csv; charset=utf-8; header=present"
		if strings.Contains(one.accept, "absent") {
			kind = "text/csv; charset=utf-8; header=absent"
		}
		got, head := w.Body.String(), w.Header()
		if w.Code != 200 || got != one.want || head.Get("Content-Type") != kind || head.Get("Content-Disposition") != "attachment" {
			t.Errorf("%s as %s: got %d %v\n%s\nwant\n%s", one.path, one.accept, w.Code, head, got, one.want)
		}
		if rows, err := csv.NewReader(w.Body).ReadAll(); err != nil || len(rows) != strings.Count(one.want, "\r\n") {
			t.Errorf("%s: %d rows, %v", one.path, len(rows), err)
		}
	}
	for _, accept := range []string{"text/csv;q=0.5, application/json", "text/csv;q=0", "*/*", "text/plain"} {
		w := handlerstest.Serve(f, "GET", api+"/reading/all", "", "Accept: "+accept)
		if w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("Accept: %s: got %s", accept, w.Header().Get("Content-Type"))
		}
	}
}

// crowded are lists of a resource that has too many values.
type crowded struct{ domain.Lists }

func (crowded) Readings(domain.Page, ...domain.Filter) ([]domain.Reading, int, error) {
	return []domain.Reading{{Origin: origin}}, aggregate.MostValues + 1, nil
}

func TestAggregateOfTooMany(t *testing.T) {
	f := mustData(t)
	state := func() (domain.View, func()) {
		view, done := f.log.View()
		view.Lists = crowded{view.Lists}
		return view, done
	}
	h := contract.Watch(t, New(handlerstest.Options("core-data"), state, f.log, f.at, f.payloads))
	for _, within := range []string{"", "/start/0/end/1800000000000000000"} {
		w := handlerstest.Serve(h, "GET", api+"/reading/aggregate/device/name/hall-1/resourceName/temperature"+within, "")
		const says = `has 5000001 values of this time; ask for a shorter time, with at most 5000000 values`
		if w.Code != 413 || !strings.Contains(w.Body.String(), says) {
			t.Errorf("got %d %s", w.Code, w.Body)
		}
	}
}

// TestAggregatesTakeTurns holds that a client has one aggregate at a time, and that others are served meanwhile.
func TestAggregatesTakeTurns(t *testing.T) {
	o := handlerstest.Options("core-data")
	o.WriteTimeout = 50 * time.Millisecond // the longest wait for a turn
	f := mustData(t)
	var asked atomic.Bool
	reading, read := make(chan bool), make(chan bool)
	state := func() (domain.View, func()) {
		if !asked.Swap(true) {
			close(reading)
			<-read
		}
		return f.log.View()
	}
	h := New(o, state, f.log, f.at, f.payloads)
	ask := func(client string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", api+"/reading/aggregate/device/name/hall-1/resourceName/temperature", nil)
		r.RemoteAddr = client + ":1"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	slow := make(chan int)
	go func() { slow <- ask("192.0.2.1").Code }()
	<-reading
	const says = "too many aggregates of readings are being made, 2 at a time"
	if w := ask("192.0.2.1"); w.Code != 503 || !strings.Contains(w.Body.String(), says) {
		t.Errorf("a second one of the client: got %d %s", w.Code, w.Body)
	}
	if w := ask("192.0.2.2"); w.Code != 200 {
		t.Errorf("another client: got %d %s", w.Code, w.Body)
	}
	close(read)
	if code := <-slow; code != 200 {
		t.Errorf("the first one: got %d", code)
	}
}

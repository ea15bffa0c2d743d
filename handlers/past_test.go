package handlers_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ledge/domain"
	"ledge/domain/history"
	"ledge/handlers"
	"ledge/handlers/entities"
	"ledge/handlers/handlerstest"
	"ledge/handlers/metadata"
	"ledge/handlers/notifications"
	"ledge/projections"
)

var (
	histories = flag.Int("histories", 40, "random histories of TestPast; one in 40 has its state in a file")
	firstSeed = flag.Uint64("seed", uint64(time.Now().UnixNano()), "seed of the first history")
)

// TestPast holds that a GET with asOf is answered byte for byte as it was answered at that time. It asks for random entities and pages
// after each event of random histories, and again at the end: of the same log, and of one with events as older versions wrote them.
func TestPast(t *testing.T) {
	for i := range *histories {
		seed := *firstSeed + uint64(i)
		h := newHistory(t, seed, i%40 == 0)
		for _, kind := range []string{"deviceservice", "deviceprofile", "device", "provisionwatcher", "subscription"} {
			for _, name := range []string{"a", "b"} {
				h.request("POST", kind, name)
			}
		}
		for range 50 + h.IntN(100) {
			h.change()
			h.ask()
		}
		h.compare("as it is")
		h.rewrite()
		h.compare("as older versions wrote it")
		if t.Failed() {
			t.Fatalf("run it again with -run TestPast -histories 1 -seed %d", seed)
		}
	}
}

// randomHistory is a log with services on it. The clock goes on in odd steps, and back now and then.
type randomHistory struct {
	*rand.Rand
	t        *testing.T
	log      *handlerstest.Log
	file     *projections.DB // nil if the state is in memory
	applied  int
	clock    time.Time
	services map[string]http.Handler
	asked    []answered
}

// answered is the answer to a GET at an event.
type answered struct {
	service, path string
	seq           int
	at            time.Time
	text          string
}

func newHistory(t *testing.T, seed uint64, inFile bool) *randomHistory {
	h := &randomHistory{Rand: rand.New(rand.NewPCG(seed, 1)), t: t, log: handlerstest.NewLog(), clock: handlerstest.Now}
	if inFile {
		h.openFile()
	}
	h.serve()
	return h
}

func (h *randomHistory) openFile() {
	var err error
	h.file, err = projections.Open(projections.Options{Path: filepath.Join(h.t.TempDir(), "state.db"), Tables: projections.Events})
	if err != nil {
		h.t.Fatal(err)
	}
	h.applied = 0
	h.t.Cleanup(func() { _ = h.file.Close() })
}

// serve makes the services on the log.
func (h *randomHistory) serve() {
	past := h.log.Past()
	state := entities.Reader(h.log.View)
	if h.file != nil {
		source := past.Source
		state = func() (domain.View, func()) {
			v, done := h.file.View()
			return domain.View{State: v.State, Lists: v}, done
		}
		source.State = state
		past = handlers.NewPast(history.NewPast(source))
	}
	options := func(service string) handlers.Options {
		o := handlerstest.Options(service)
		o.Now = func() time.Time { return h.clock }
		return o
	}
	h.services = map[string]http.Handler{
		"metadata":      metadata.New(options("core-metadata"), state, h, nil, metadata.Ledger{Past: past}),
		"notifications": notifications.New(options("support-notifications"), state, h, past, h.log.View, h.log, noChannels{}, nil, nil),
	}
}

// Submit implements handlers.Submitter.
func (h *randomHistory) Submit(ctx context.Context, reqs ...domain.Request) ([]domain.Outcome, error) {
	outcomes, err := h.log.Submit(ctx, reqs...)
	if h.file != nil {
		h.apply()
	}
	return outcomes, err
}

func (h *randomHistory) apply() {
	all := h.log.Recorded()
	if err := h.file.Apply(all[h.applied:]); h.applied < len(all) && err != nil {
		h.t.Fatal(err)
	}
	h.applied = len(all)
}

func (h *randomHistory) call(service, method, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(h.t.Context(), method, "/api/v2/"+path, strings.NewReader(body))
	h.services[service].ServeHTTP(w, r)
	return w
}

func pickOne(h *randomHistory, of ...string) string { return of[h.IntN(len(of))] }

// fields returns a JSON object of a name and of some fields.
func (h *randomHistory) fields(name string, all map[string][]string) string {
	text := fmt.Sprintf(`{"name":%q`, name)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if h.IntN(3) > 0 || strings.HasSuffix(key, "!") {
			text += fmt.Sprintf(`,%q:%s`, strings.TrimSuffix(key, "!"), pickOne(h, all[key]...))
		}
	}
	return text + "}"
}

var (
	someLabels  = []string{`[]`, `["a"]`, `["b","a"]`, `["a","b","é<&>"]`, `["c","c"]`}
	someTexts   = []string{`""`, `"x"`, `"é <&> \u2028 \"quoted\""`, `"y"`}
	someStates  = []string{`"LOCKED"`, `"UNLOCKED"`}
	resourceOne = `{"name":"r1","properties":{"valueType":"Int8","readWrite":"RW","minimum":"1"},` +
		`"attributes":{"n":5,"deep":{"a":[1,"x",null]}}}`
	resourceTwo = `{"name":"r2","description":"d","properties":{"valueType":"Binary","readWrite":"R","mediaType":"image/jpeg"}}`
	commandOne  = `{"name":"c1","readWrite":"RW","resourceOperations":[{"deviceResource":"r1","mappings":{"on":"1"}}]}`
	channelOne  = `{"type":"REST","host":"127.0.0.1","port":80,"path":"/x","httpMethod":"POST"}`
	channelTwo  = `{"type":"ZeroMQ","host":"*","port":5564,"topic":"t","clientKeys":["wQmbA3Dm6zY.v@mEV+WT98:2i3u6R.3rF57PVf.m"]}`
)

// change makes a random request. Some change nothing or are refused.
func (h *randomHistory) change() {
	h.clock = h.clock.Add(time.Duration(h.IntN(5)-1) * 700 * time.Microsecond)
	if h.IntN(30) == 0 {
		h.clock = h.clock.Add(time.Duration(h.IntN(9)-4) * time.Second)
	}
	kind := pickOne(h, "device", "device", "device", "deviceprofile", "deviceservice", "provisionwatcher", "subscription")
	method := pickOne(h, "POST", "POST", "PATCH", "PATCH", "PATCH", "PATCH", "PATCH", "DELETE")
	if (kind == "deviceprofile" || kind == "deviceservice") && h.IntN(3) > 0 {
		method = "PATCH"
	}
	h.request(method, kind, pickOne(h, "a", "b", "c"))
}

// request adds, changes or removes an entity.
func (h *randomHistory) request(method, kind, name string) {
	if method == "DELETE" {
		h.call(serviceOf(kind), method, kind+"/name/"+name, "")
		return
	}
	key := map[string]string{"device": "device", "deviceprofile": "profile", "deviceservice": "service",
		"provisionwatcher": "provisionWatcher", "subscription": "subscription"}[kind]
	wanted := map[string][]string{}
	for field, values := range h.fieldsOf(kind) {
		if method == "PATCH" {
			field = strings.TrimSuffix(field, "!")
		}
		wanted[field] = values
	}
	path := kind
	if kind == "deviceprofile" && method == "PATCH" {
		method, path, key, wanted = h.changeProfile(name, wanted)
	}
	body := fmt.Sprintf(`[{"apiVersion":"v2",%q:%s}]`, key, h.fields(name, wanted))
	switch path {
	case "deviceprofile/resource":
		body = fmt.Sprintf(`[{"apiVersion":"v2","profileName":%q,"resource":%s}]`, name, pickOne(h, resourceOne, resourceTwo))
	case "deviceprofile/deviceCommand":
		body = fmt.Sprintf(`[{"apiVersion":"v2","profileName":%q,"deviceCommand":%s}]`, name, commandOne)
	}
	h.call(serviceOf(kind), method, path, body)
}

// changeProfile returns a request that changes a profile or a part of it.
func (h *randomHistory) changeProfile(name string, all map[string][]string) (method, path, key string, wanted map[string][]string) {
	switch h.IntN(5) {
	case 0:
		return "PUT", "deviceprofile", "profile", all
	case 1:
		return "POST", "deviceprofile/resource", "", nil
	case 2:
		return "POST", "deviceprofile/deviceCommand", "", nil
	case 3:
		return "DELETE", "deviceprofile/name/" + name + "/" + pickOne(h, "resource/r2", "deviceCommand/c1"), "", nil
	}
	delete(all, "deviceResources")
	delete(all, "deviceCommands")
	return "PATCH", "deviceprofile/basicinfo", "basicinfo", all
}

func (h *randomHistory) fieldsOf(kind string) map[string][]string {
	names := []string{`"a"`, `"b"`}
	switch kind {
	case "device":
		return map[string][]string{
			"adminState!": someStates, "operatingState!": {`"UP"`, `"DOWN"`},
			"labels": someLabels, "description": someTexts,
			"serviceName!": names, "profileName!": names, "protocolName": {`"rest"`},
			"protocols!":    {`{"other":{}}`, `{"other":{},"http":{"port":"1"}}`, `{"http":{"port":"2","host":"h"}}`},
			"location":      {`{"lat":48.20}`, `[1.50,null]`, `"<x>"`, `null`, `0`},
			"lastConnected": {"0", "7", "8"}, "notify": {"true", "false"},
			"autoEvents": {
				`[]`, `[{"interval":"10s","onChange":true,"sourceName":"r1"}]`,
				`[{"interval":"9s","sourceName":"r1"},{"interval":"10s","sourceName":"r1"}]`,
			},
		}
	case "deviceprofile":
		return map[string][]string{
			"labels": append(someLabels, "null"), "description": someTexts, "manufacturer": {`""`, `"m1"`, `"m2"`}, "model": {`"x"`, `"y"`},
			"deviceResources": {`[]`, "[" + resourceOne + "]", "[" + resourceOne + "," + resourceTwo + "]"},
			"deviceCommands":  {`[]`, `null`},
		}
	case "deviceservice":
		return map[string][]string{
			"baseAddress!": {`"http://localhost:1"`, `"http://localhost:2"`}, "adminState!": someStates,
			"labels": someLabels, "description": someTexts, "lastConnected": {"0", "5"},
		}
	case "provisionwatcher":
		return map[string][]string{
			"identifiers!": {`{"a":"1"}`, `{"a":"1","b":"2"}`}, "autoEvents": {`[]`},
			"blockingIdentifiers": {`{}`, `{"a":["1"]}`, `{"a":["2","3"],"b":[]}`},
			"serviceName!":        names, "profileName!": names, "adminState!": someStates, "labels": someLabels,
		}
	}
	return map[string][]string{
		"receiver!": {`"r1"`, `"r2"`}, "adminState!": someStates, "labels": someLabels,
		"categories!": {`["x"]`, `["x","y"]`, `["z"]`},
		"channels!":   {"[" + channelOne + "]", "[" + channelOne + "," + channelTwo + "]"}, "description": someTexts,
		"resendInterval": {`"10s"`}, "resendLimit": {"0", "3"},
	}
}

func serviceOf(kind string) string {
	if kind == "subscription" {
		return "notifications"
	}
	return "metadata"
}

// pastPaths are the GETs that take asOf.
var pastPaths = map[string][]string{
	"metadata": {
		"device/name/N", "device/check/name/N", "device/all", "device/all?labels=L", "device/all?labels=L,a", "device/profile/name/N",
		"device/service/name/N", "deviceprofile/name/N", "deviceprofile/all", "deviceprofile/all?labels=L", "deviceprofile/manufacturer/M",
		"deviceprofile/manufacturer/M/model/x", "deviceprofile/model/x", "deviceresource/profile/N/resource/r1",
		"deviceservice/name/N",
		"deviceservice/all", "deviceservice/all?labels=L", "provisionwatcher/name/N", "provisionwatcher/all",
		"provisionwatcher/all?labels=L",
		"provisionwatcher/profile/name/N", "provisionwatcher/service/name/N",
	},
	"notifications": {
		"subscription/name/N", "subscription/all", "subscription/category/x", "subscription/category/z", "subscription/label/L",
		"subscription/receiver/r1",
	},
}

// get returns the answer to a GET with its ETag.
func (h *randomHistory) get(service, path string) string {
	w := h.call(service, http.MethodGet, path, "")
	return fmt.Sprint(w.Code, " ", w.Header().Get("ETag"), " ", w.Body)
}

// ask keeps the answer to a random GET.
func (h *randomHistory) ask() {
	service := pickOne(h, "metadata", "metadata", "metadata", "notifications")
	path := pickOne(h, pastPaths[service]...)
	name, label, maker := pickOne(h, "a", "b", "c", "d"), pickOne(h, "a", "b", "c"), pickOne(h, "m1", "m2")
	path = strings.NewReplacer("N", name, "L", label, "M", maker).Replace(path)
	if !strings.Contains(path, "?") {
		path += "?x=1"
	}
	if h.IntN(2) == 0 {
		path += fmt.Sprintf("&offset=%d&limit=%d", h.IntN(4), h.IntN(4)-1)
	}
	h.asked = append(h.asked, answered{service, path, len(h.log.Recorded()), h.clock, h.get(service, path)})
}

// compare asks again for all answers that were kept, in random order.
func (h *randomHistory) compare(which string) {
	for _, i := range h.Perm(len(h.asked)) {
		a := h.asked[i]
		if a.seq == 0 {
			continue
		}
		if got := h.get(a.service, fmt.Sprintf("%s&asOf=%d", a.path, a.seq)); got != a.text {
			h.t.Errorf("%s: %s as of event %d of %d\n got %s\nwant %s", which, a.path, a.seq, len(h.log.Recorded()), got, a.text)
		}
	}
}

// rewrite makes of the log one with events as older versions wrote them: updates with the whole entity, and events that do not name the
// one before.
func (h *randomHistory) rewrite() {
	state := domain.NewMapState()
	all := h.log.Recorded()
	for i, r := range all {
		if h.IntN(2) == 0 {
			all[i].Event = newOlder(state, r.Event)
		}
		domain.Evolve(state, &r)
	}
	h.log = handlerstest.LogOf(all)
	if h.file != nil {
		h.openFile()
		h.apply()
	}
	h.serve()
}

// newOlder returns an event as an older version wrote it.
func newOlder(before domain.State, e domain.Event) domain.Event {
	switch e := e.(type) {
	case domain.DevicePatched:
		return olderUpdate(before, e)
	case domain.DeviceAdded:
		e.Prev = 0
		return e
	case domain.DeviceRemoved:
		e.Prev = 0
		return e
	case domain.SubscriptionRemoved:
		e.Prev = 0
		return e
	}
	return domain.Whole(before, e)
}

func olderUpdate(before domain.State, e domain.DevicePatched) domain.Event {
	if e.Modified%2 == 0 {
		return e
	}
	return domain.Whole(before, e)
}

// noChannels are channels of which nothing is reserved.
type noChannels struct{}

func (noChannels) Reserve([]domain.Channel) (func(uint64), error) { return func(uint64) {}, nil }
func (noChannels) ServerKey() string                              { return "key" }

// TestPastIsBounded holds that a list of the past is refused if too many events came since, or if too much has changed, and that a single
// entity is found all the same.
func TestPastIsBounded(t *testing.T) {
	log := handlerstest.NewLog()
	device := func(i int, description string) domain.Device {
		return domain.Device{
			ID: handlerstest.ID(i), Name: fmt.Sprint("d-", i), Description: description, AdminState: "UNLOCKED", OperatingState: "UP",
			ServiceName: "s", ProfileName: "p", ProtocolName: "rest", Protocols: map[string]map[string]string{"other": {}},
		}
	}
	service := domain.DeviceService{ID: handlerstest.ID(901), Name: "s", BaseAddress: "http://h:1", AdminState: "UNLOCKED"}
	log.Given(t, domain.AddService{Service: service},
		domain.AddProfile{Profile: domain.Profile{ID: handlerstest.ID(902), Name: "p"}}, domain.AddDevice{Device: device(0, "first")})
	then := uint64(len(log.Recorded()))
	large := strings.Repeat("x", history.MostFormerBytes/8)
	for i := 1; i <= 9; i++ {
		log.Given(t, domain.AddDevice{Device: device(i, large)})
	}
	between := uint64(len(log.Recorded()))
	for i := range 10 {
		log.Given(t, domain.RemoveDevice{Name: fmt.Sprint("d-", i)})
	}
	source := log.Past().Source
	wantRefused := func(which string, seq uint64, says string) {
		t.Helper()
		at := history.NewPast(source).AsOf(t.Context(), seq)
		if _, err := at.List(domain.ListDevices); domain.CodeOf(err) != domain.Invalid || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want %q", which, err, says)
		}
		read, err := at.Entity(domain.ListDevices, "d-0")
		if err != nil {
			t.Fatal(err)
		}
		view, done := read()
		defer done()
		if d, ok := view.State.Devices.Get("d-0"); !ok || d.Description != "first" {
			t.Errorf("%s: got %v of d-0", which, d)
		}
	}
	wantRefused("memory", between, "takes more than 33554432 bytes; use `ledge log` or `ledge diff`")
	source.Last = func() uint64 { return then + history.MostTakenBack + 1 }
	wantRefused("events", then, "200001 events were recorded since, and an answer takes back 200000 at most; use `ledge log`")
}

// TestWrongMoments holds that a moment that is none, or is not recorded yet, is refused.
func TestWrongMoments(t *testing.T) {
	h := newHistory(t, 1, false)
	h.request("POST", "deviceservice", "a")
	for query, want := range map[string]string{
		"asOf=":                     "400 use the sequence of an event",
		"asOf=yesterday":            "400 is neither a sequence nor a time; write it as 4711",
		"asOf=0":                    "400 is neither",
		"asOf=-2h":                  "400 is neither",
		"asOf=2":                    "400 event 2 is not recorded yet, the last one is 1",
		"asOf=2099-01-01T00:00:00Z": "400 is in the future",
		"asOf=1":                    `200 "totalCount":1`,
		"asOf=2001-01-01":           `200 "totalCount":0`,
		"asOf=2026-11-21T07:42:07Z": `200 "totalCount":1`,
		"asOf=100w":                 `200 "totalCount":0`,
	} {
		h.clock = handlerstest.Now.Add(time.Minute)
		got := h.get("metadata", "deviceservice/all?"+query)
		code, says, _ := strings.Cut(want, " ")
		if !strings.HasPrefix(got, code) || !strings.Contains(got, says) {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
}

// blockedWriter is a client that does not read yet.
type blockedWriter struct {
	*httptest.ResponseRecorder
	entered, read chan struct{}
}

// Write implements http.ResponseWriter.
func (w blockedWriter) Write(b []byte) (int, error) {
	w.entered <- struct{}{}
	<-w.read
	return w.ResponseRecorder.Write(b)
}

// TestPastTurns holds that a client that does not read an answer of the past holds no turn: further requests of it are answered.
func TestPastTurns(t *testing.T) {
	h := newHistory(t, 1, false)
	h.request("POST", "deviceservice", "a")
	for _, path := range []string{"deviceservice/name/a?asOf=1", "deviceservice/all?asOf=1"} {
		w := blockedWriter{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
		done := make(chan struct{})
		go func() {
			defer close(done)
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v2/"+path, nil)
			h.services["metadata"].ServeHTTP(w, r)
		}()
		<-w.entered
		if got := h.get("metadata", path); !strings.HasPrefix(got, "200 ") {
			t.Errorf("%s: %s", path, got)
		}
		close(w.read)
		go func() {
			for range w.entered { // further parts
			}
		}()
		<-done
		close(w.entered)
	}
}

package delivery

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"ledge/cmd/ledgetest"
)

const meteredProfile = `
name: metered
deviceResources:
  - {name: heat, properties: {valueType: Float32, readWrite: R, units: "°C"}}
  - {name: text, properties: {valueType: String, readWrite: R}}
  - {name: view, properties: {valueType: Binary, readWrite: R, mediaType: image/png}}
`

// readingsClient gets the messages of readings and notes the headers.
type readingsClient struct {
	*ledgetest.Node
	*ledgetest.NATSClient
	seen map[string]bool
}

// headers are those that say something about a value and can be known before.
type headers map[string]string

// TestDocumentedReadings holds that the messages of readings are as docs/reference/nats.md has them, with these headers and no others.
func TestDocumentedReadings(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	if a := p.Upload("file", meteredProfile); a.Status != http.StatusCreated {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/device", "["+strings.Replace(ledgetest.DeviceJSON("m-1"), "sample-image", "metered", 1)+"]", http.StatusCreated)
	r := &readingsClient{p, p.SubscribeNATS(t, "ledge.reading.>"), map[string]bool{}}

	picture, long := ledgetest.LargePicture(1), strings.Repeat("ü", 5000)
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte(picture)))
	r.posts("heat", "text/plain", "1.5", "1.5", headers{"ce-valuetype": "Float32", "content-type": "text/plain", "ce-size": "3", "ce-units": "%C2%B0C", "ce-value": "1.500000e+00"})
	r.posts("text", "text/plain", long, long, headers{"ce-valuetype": "String", "content-type": "text/plain", "ce-size": "10000"})
	r.posts("view", "image/png", "small", "small", headers{"ce-valuetype": "Binary", "content-type": "image/png", "ce-size": "5"})
	large := r.posts("view", "image/png", picture, "", headers{"ce-valuetype": "Binary", "content-type": "image/png", "ce-size": "600000", "ce-digest": digest})
	r.holdsValue(large.Header.Get("ce-dataref"), picture, digest)
	r.holdsDocument(t)

	gone := large.Header.Get("ce-eventid")
	p.Call(http.MethodDelete, p.CoreData+"/api/v2/event/id/"+gone, "", "")
	if m := r.Next(t); m.Header.Get("ce-type") != "events.removed/1" || m.Subject != "ledge.reading.event."+gone+".removed" || string(m.Data) != `{"events":["`+gone+`"]}` {
		t.Errorf("got %s %s", m.Subject, m.Data)
	}
	if got := ledgetest.Ask(p, p.CoreData+large.Header.Get("ce-dataref"), "*/*"); got.Status != http.StatusNotFound {
		t.Errorf("after its removal: got %d", got.Status)
	}
	r.holdsEvent(picture, digest)
	r.holdsLargeEvent()
	r.removesDevice()
}

// posts posts a value and holds the message of it.
func (r *readingsClient) posts(resource, contentType, body, payload string, want headers) *nats.Msg {
	t := r.TB
	t.Helper()
	if a := r.Call(http.MethodPost, r.DeviceREST+"/api/v2/resource/m-1/"+resource, contentType, body); a.Status != http.StatusOK {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	m, got := r.Next(t), headers{}
	for name := range m.Header {
		r.seen[name] = true
		switch name {
		case "ce-specversion", "ce-id", "ce-type", "ce-source", "ce-time", "ce-subject": // CloudEvents' own
		case "ce-readingid", "ce-eventid", "ce-origin", "ce-dataref": // the program's choice
		default:
			if strings.HasPrefix(name, "ce-") || name == "content-type" {
				got[name] = m.Header.Get(name)
			}
		}
	}
	if !maps.Equal(got, want) || m.Header.Get("ce-type") != "reading.posted/1" {
		t.Errorf("%s: got %v of %s\nwant %v", resource, got, m.Header.Get("ce-type"), want)
	}
	if m.Subject != "ledge.reading.metered.m-1."+resource || m.Header.Get("ce-subject") != "metered/m-1/"+resource || string(m.Data) != payload {
		t.Errorf("%s: got %s, %s with %d bytes, want %d", resource, m.Subject, m.Header.Get("ce-subject"), len(m.Data), len(payload))
	}
	var known struct {
		Event struct{ Readings []struct{ ID string } }
	}
	_ = json.Unmarshal([]byte(ledgetest.Ask(r.Node, r.CoreData+"/api/v2/event/id/"+m.Header.Get("ce-eventid"), "application/json").Body), &known)
	if len(known.Event.Readings) != 1 || known.Event.Readings[0].ID != m.Header.Get("ce-readingid") {
		t.Errorf("%s: core-data has %+v, the message %v", resource, known, m.Header)
	}
	return m
}

// holdsValue fetches a large value as docs/reference/nats.md says, whole and from the middle.
func (r *readingsClient) holdsValue(ref, want, digest string) {
	r.TB.Helper()
	whole := ledgetest.Ask(r.Node, r.CoreData+ref, "*/*")
	rest := ledgetest.Ask(r.Node, r.CoreData+ref, "*/*", "Range", "bytes=1000-", "If-Range", `"`+digest+`"`)
	if whole.Body != want || whole.Header.Get("ETag") != `"`+digest+`"` || rest.Status != http.StatusPartialContent || rest.Body != want[1000:] {
		r.TB.Errorf("%s: got %d with %d bytes, %d with %d", ref, whole.Status, len(whole.Body), rest.Status, len(rest.Body))
	}
}

// holdsDocument holds that docs/reference/nats.md names the headers that were seen, and of those of CloudEvents no others.
func (r *readingsClient) holdsDocument(t *testing.T) {
	t.Helper()
	text := ledgetest.MustRead(t, "../../../docs/reference/nats.md")
	for name := range r.seen {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("docs/reference/nats.md does not name %s", name)
		}
	}
	for _, m := range regexp.MustCompile("`(ce-[a-z]+)`").FindAllStringSubmatch(text, -1) {
		if !r.seen[m[1]] && m[1] != "ce-idempotency" {
			t.Errorf("docs/reference/nats.md names %s, which no message has", m[1])
		}
	}
}

// holdsEvent posts an event of several readings and holds the message of it.
func (r *readingsClient) holdsEvent(picture, digest string) {
	t := r.TB
	t.Helper()
	const id = "6877ff35-5566-5d14-a992-000000000001"
	ledgetest.PostPictureEvent(r.Node, id, "small", picture)
	m := r.Next(t)
	var got struct {
		Event    map[string]any
		Readings []map[string]any
	}
	if err := json.Unmarshal(m.Data, &got); err != nil || m.Subject != "ledge.reading.watch.hall.all" || m.Header.Get("ce-type") != "event.added/1" || len(got.Readings) != 3 {
		t.Fatalf("%s: %v, %s", m.Subject, err, m.Data)
	}
	if got.Event["id"] != id || got.Event["source"] != "all" || got.Event["device"] != "hall" || got.Event["profile"] != "watch" || got.Event["origin"] != 1.0 {
		t.Errorf("got %v", got.Event)
	}
	if small, large, number := got.Readings[0], got.Readings[1], got.Readings[2]; small["data"] != "c21hbGw=" || small["size"] != 5.0 ||
		large["digest"] != digest || large["data"] != nil || large["size"] != 600000.0 || number["text"] != "5" || number["resource"] != "count" {
		t.Errorf("got %v", got.Readings)
	}
	r.holdsValue(fmt.Sprintf("/api/v2/reading/id/%s/binary", got.Readings[1]["id"]), picture, digest)
}

// holdsLargeEvent posts an event whose message has no payload, and fetches it by the header ce-dataref.
func (r *readingsClient) holdsLargeEvent() {
	r.TB.Helper()
	const id = "6877ff35-5566-5d14-a992-000000000002"
	part := strings.Repeat("p", 200<<10)
	ledgetest.PostPictureEvent(r.Node, id, part, part, part)
	m := r.Next(r.TB)
	got := ledgetest.Ask(r.Node, r.CoreData+m.Header.Get("ce-dataref"), "application/json")
	if len(m.Data) != 0 || got.Status != http.StatusOK || !strings.Contains(got.Body, `"id":"`+id+`"`) ||
		!strings.Contains(got.Body, `"value":"5"`) {
		r.TB.Errorf("a message with %d bytes and %v leads to %d %.300s", len(m.Data), m.Header, got.Status, got.Body)
	}
}

// removesDevice removes the events of a device and holds the message of it.
func (r *readingsClient) removesDevice() {
	r.TB.Helper()
	r.Call(http.MethodDelete, r.CoreData+"/api/v2/event/device/name/m-1", "", "")
	for _, want := range []struct{ verb, event, has string }{
		{"requested", "cleanup.requested/1", ""}, {"removed", "events.removed/1", `{"cleanup":"device:m-1","events":["`}, {"finished", "cleanup.finished/1", ""},
	} {
		m := r.Next(r.TB)
		if m.Subject != "ledge.reading.cleanup.device:m-1."+want.verb || m.Header.Get("ce-type") != want.event || !strings.Contains(string(m.Data), want.has) {
			r.TB.Errorf("got %s %s %s", m.Subject, m.Header.Get("ce-type"), m.Data)
		}
	}
}

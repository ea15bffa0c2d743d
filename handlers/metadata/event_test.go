package metadata

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/domain/eventlog"
	"ledge/handlers"
	"ledge/handlers/eventstream"
	"ledge/handlers/handlerstest"
)

// readEvents returns each event of a page as its sequence and its type.
func readEvents(t *testing.T, h http.Handler, query string) (lines []string, answer eventsAnswer) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/api/v2/ledger/event?"+query, nil))
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s: %v", query, w.Code, w.Body, err)
	}
	for _, e := range answer.Events {
		lines = append(lines, fmt.Sprint(e.Sequence, " ", e.Type))
	}
	return lines, answer
}

// givenEvents records 4 more events: two of cam-1, one of the profile, and the removal of cam-1.
func givenEvents(t *testing.T, log *handlerstest.Log) {
	t.Helper()
	patch := func(description string) domain.Command {
		return domain.UpdateDevice{Patch: domain.PatchOf[domain.Device]("name", "cam-1", "description", description), At: 9}
	}
	log.Given(t, patch("second"), patch("third"),
		domain.UpdateProfileInfo{Patch: domain.PatchOf[domain.Profile]("name", "camera", "description", "new"), At: 9},
		domain.RemoveDevice{Name: "cam-1"})
}

// TestEvents reads pages with filters.
func TestEvents(t *testing.T) {
	h, log := mustMetadata(t)
	givenEvents(t, log)
	all := "1 service.added/1 | 2 profile.added/1 | 3 device.added/1 | 4 device.updated/2 | 5 device.updated/2 | " +
		"6 profile.updated/2 | 7 device.removed/1"
	of := "3 device.added/1 | 4 device.updated/2 | 5 device.updated/2 | 7 device.removed/1"
	for _, tt := range []struct {
		query, want string
		next        uint64
	}{
		{"", all, 8},
		{"limit=-1", all, 8},
		{"limit=2", "1 service.added/1 | 2 profile.added/1", 3},
		{"from=3&to=4", "3 device.added/1 | 4 device.updated/2", 5},
		{"from=8", "", 8},
		{"from=18446744073709551615", "", 18446744073709551615},
		{"type=device.*", of, 8},
		{"type=*.updated/2&limit=1", "4 device.updated/2", 5},
		{"entity=device&name=cam-1", of, 8},
		{"entity=device&name=cam-1&limit=2", "3 device.added/1 | 4 device.updated/2", 5},
		{"entity=device&name=cam-1&from=5", "5 device.updated/2 | 7 device.removed/1", 8},
		{"entity=device&name=cam-1&from=4&to=6", "4 device.updated/2 | 5 device.updated/2", 7},
		{"entity=device&name=cam-1&type=device.updated", "4 device.updated/2 | 5 device.updated/2", 8},
		{"entity=device&name=cam-9", "", 8},
		{"entity=profile&name=cam*", "2 profile.added/1 | 6 profile.updated/2", 8},
		{"actor=nobody", "", 8},
		{"name=" + strings.Repeat("*", 256) + "&type=device.added", "3 device.added/1", 8},
		{"to=2026-11-21", all, 8}, // the log of tests has no times
		{"log=readings&from=7", "7 device.removed/1", 8},
	} {
		lines, answer := readEvents(t, h, tt.query)
		if got := strings.Join(lines, " | "); got != tt.want || answer.Next != tt.next || answer.Last != 7 {
			t.Errorf("%s: got %s, next %d of %d, want %s and %d", tt.query, got, answer.Next, answer.Last, tt.want, tt.next)
		}
	}
	_, answer := readEvents(t, h, "from=3&limit=1")
	e := answer.Events[0]
	if !strings.Contains(string(e.Data), `"name":"cam-1"`) || e.Size == 0 || e.Subject != "ledge.event.device.cam-1.added" {
		t.Errorf("the event is %+v", e)
	}
}

// TestEventsGrow reads pages while others write: each event is there once, and the answer says how to continue at the end.
func TestEventsGrow(t *testing.T) {
	h, log := mustMetadata(t)
	var seen []string
	query := "limit=2"
	for i := range 10 {
		lines, answer := readEvents(t, h, query)
		seen = append(seen, lines...)
		query = fmt.Sprint("limit=2&from=", answer.Next)
		log.Given(t, domain.UpdateDevice{Patch: domain.PatchOf[domain.Device]("name", "cam-1", "description", fmt.Sprint(i)), At: 9})
	}
	if len(seen) < 10 {
		t.Errorf("10 pages have %d events", len(seen))
	}
	for i, line := range seen {
		if !strings.HasPrefix(line, fmt.Sprint(i+1, " ")) {
			t.Errorf("event %d is %s", i+1, line)
		}
	}
}

func TestOneEvent(t *testing.T) {
	h, _ := mustMetadata(t)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/api/v2/ledger/event/3", nil))
	var answer eventAnswer
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || answer.Event.Sequence != 3 || answer.Event.Log != "changes" ||
		len(answer.Event.Headers) == 0 || len(answer.Event.Chain) != 64 || len(answer.Event.Data) == 0 {
		t.Errorf("got %d %s: %v", w.Code, w.Body, err)
	}
}

func TestEventFaults(t *testing.T) {
	h, _ := mustMetadata(t)
	for path, says := range map[string]string{
		"?from=0":                              "is neither a sequence nor a time",
		"?from=yesterday":                      "is neither a sequence nor a time; write it as 4711",
		"?from=3&to=2":                         "use an earlier one",
		"?from=2026-11-22&to=2026-11-21":       "use an earlier one",
		"?limit=0":                             "use 1 to 1024",
		"?limit=-2":                            "out of min -1 ~ max 1024 range",
		"?offset=1":                            "use from",
		"?type=[a":                             "querystring type: ",
		"?name=" + strings.Repeat("*", 100000): "use a pattern of at most 256",
		"?log=other":                           "use one of changes, notifications, readings",
		"/0":                                   "use a number from 1 on",
		"/x":                                   "use a number from 1 on",
		"/99":                                  "is not on the log of changes, which has 1 to 3",
		"/1?log=other":                         "use one of changes",
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/api/v2/ledger/event"+path, nil))
		if !strings.Contains(w.Body.String(), says) || w.Code < 400 || w.Code > 404 {
			t.Errorf("%.60s: got %d %s, want %q", path, w.Code, w.Body, says)
		}
	}
}

// newStreams returns core-metadata on a log. Nothing keeps its answers, as streams have no end.
func newStreams(log *handlerstest.Log) *handlers.Service {
	o := handlerstest.Options("core-metadata")
	return New(o, log.View, log, handlerstest.Identities{Log: log}, Ledger{Past: log.Past(), Events: log.Events()}).(*handlers.Service)
}

// sse is a stream of events of a test.
type sse struct {
	t      *testing.T
	answer *http.Response
	lines  *bufio.Reader
}

// followEvents opens a stream. It ends with the test.
func followEvents(t *testing.T, url, lastID string) *sse {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return &sse{t, answer, bufio.NewReader(answer.Body)}
}

// next returns the id, the type and the data of the next event.
func (s *sse) next() (id, kind, data string) {
	s.t.Helper()
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			s.t.Fatalf("the stream ended: %v", err)
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			id = value
		case "event":
			kind = value
		case "data":
			data = value
		case "":
			if data != "" {
				return id, kind, data
			}
		}
	}
}

// TestEventStream follows the log from an event, from now, and behind the last event that a client has.
func TestEventStream(t *testing.T) {
	_, log := mustMetadata(t)
	server := httptest.NewServer(newStreams(log))
	t.Cleanup(server.Close)
	url := server.URL + "/api/v2/ledger/event"
	streams := map[string]*sse{
		"from=2&type=device.*": followEvents(t, url+"?from=2&type=device.*", ""), "now": followEvents(t, url, ""),
		"Last-Event-ID": followEvents(t, url+"?from=1", "2"),
	}
	givenEvents(t, log)
	for name, want := range map[string][]string{
		"from=2&type=device.*": {"3 device.added", "4 device.updated", "5 device.updated", "7 device.removed"},
		"now":                  {"4 device.updated", "5 device.updated", "6 profile.updated", "7 device.removed"},
		"Last-Event-ID":        {"3 device.added", "4 device.updated", "5 device.updated", "6 profile.updated", "7 device.removed"},
	} {
		for _, event := range want {
			id, kind, data := streams[name].next()
			if id+" "+kind != event || !strings.HasPrefix(data, `{"sequence":`+id+`,`) {
				t.Errorf("%s: got %s %s %s, want %s", name, id, kind, data, event)
			}
		}
	}
	for query, header := range map[string]string{"?to=5": "", "?from=x": "", "": "x"} {
		if got := followEvents(t, url+query, header).answer.StatusCode; got != http.StatusBadRequest {
			t.Errorf("%s with Last-Event-ID %q: got %d", query, header, got)
		}
	}
}

// TestEventStreamsAreBounded holds that one client gets three quarters of the streams, and that the stop of the service ends them.
func TestEventStreamsAreBounded(t *testing.T) {
	_, log := mustMetadata(t)
	service := newStreams(log)
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	var open []*sse
	refused := 0
	for range 100 {
		s := followEvents(t, server.URL+"/api/v2/ledger/event", "")
		switch s.answer.StatusCode {
		case http.StatusOK:
			open = append(open, s)
		case http.StatusServiceUnavailable:
			refused++
		}
	}
	if len(open) != mostStreams*3/4 || refused != 100-len(open) {
		t.Errorf("%d streams are open, %d are refused", len(open), refused)
	}
	service.Close()
	for _, s := range open {
		for {
			if _, err := s.lines.ReadString('\n'); err != nil {
				break
			}
		}
	}
}

// TestFewEventsOfAStream follows the log from its beginning with a filter that chooses no event. Before the end of the log the client
// learns how far the stream is.
func TestFewEventsOfAStream(t *testing.T) {
	_, log := mustMetadata(t)
	patch := func(description string) domain.Command {
		return domain.UpdateDevice{Patch: domain.PatchOf[domain.Device]("name", "cam-1", "description", description), At: 9}
	}
	log.Given(t, slices.Repeat([]domain.Command{patch("new"), patch("old")}, 12_500)...)
	server := httptest.NewServer(newStreams(log))
	t.Cleanup(server.Close)
	s := followEvents(t, server.URL+"/api/v2/ledger/event?from=1&type=x", "")
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			if id != "20000\n" {
				t.Errorf("got the id %s", id)
			}
			return
		}
	}
}

// partWriter closes a channel after the first write.
type partWriter struct {
	*httptest.ResponseRecorder
	once sync.Once
	gone chan struct{}
}

// SetWriteDeadline implements the interface of http.ResponseController.
func (w *partWriter) SetWriteDeadline(time.Time) error { return nil }

// Write implements http.ResponseWriter.
func (w *partWriter) Write(b []byte) (int, error) {
	defer w.once.Do(func() { close(w.gone) })
	return w.ResponseRecorder.Write(b)
}

// WriteString implements io.StringWriter.
func (w *partWriter) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

// TestPartsOfAStream holds that a stream is checked before each part that it sends, and that a group of large events is not kept in
// memory while the client reads.
func TestPartsOfAStream(t *testing.T) {
	_, log := mustMetadata(t)
	w := &partWriter{ResponseRecorder: httptest.NewRecorder(), gone: make(chan struct{})}
	c, _ := gin.CreateTestContext(w)
	c.Request = httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	api := &handlers.API{Closing: w.gone}
	stream := &eventStream{events: newEvents(api, log.Events()), c: c, out: eventstream.Begin(w, time.Minute)}
	stream.query.Log = eventlog.Changes
	if err := stream.send(make([]byte, 3*streamPart)); !errors.Is(err, errClosing) || w.Body.Len() != streamPart {
		t.Errorf("%d bytes are sent, %v", w.Body.Len(), err)
	}
	group := slices.Repeat([]eventlog.Event{{Seq: 3, Wire: domain.Wire{Data: make([]byte, streamBehindBytes/2)}}}, 3)
	groups := make(chan []eventlog.Event, 2)
	if err := stream.hand(t.Context(), groups, group[:2]); err != nil {
		t.Error(err)
	}
	if err := stream.hand(t.Context(), groups, group); !errors.Is(err, errBehind) {
		t.Errorf("got %v for 3 large events", err)
	}
}

// singleEvents is a log of which only single events may be read.
type singleEvents struct {
	eventlog.Reader
	t     *testing.T
	reads *int
}

// At counts the reads.
func (u singleEvents) At(ctx context.Context, seq uint64) (eventlog.Event, bool, error) {
	*u.reads++
	return u.Reader.At(ctx, seq)
}

func (u singleEvents) Read(ctx context.Context, from, to uint64) iter.Seq2[eventlog.Event, error] {
	u.t.Errorf("the events %d to %d are read", from, to)
	return u.Reader.Read(ctx, from, to)
}

// TestEntityIsFollowed holds that the events of one name are found without a read of others, in both directions and over a removal.
func TestEntityIsFollowed(t *testing.T) {
	_, log := mustMetadata(t)
	givenEvents(t, log)
	source := log.Events()
	reads := 0
	source.Logs[eventlog.Changes] = singleEvents{source.Logs[eventlog.Changes], t, &reads}
	for _, tt := range []struct {
		q    eventlog.Query
		want string
		next uint64
	}{
		{eventlog.Query{Limit: 9}, "[3 4 5 7]", 8},
		{eventlog.Query{Limit: 2, Filter: eventlog.Filter{From: 4}}, "[4 5]", 6},
		{eventlog.Query{Limit: 9, Filter: eventlog.Filter{To: 6}}, "[3 4 5]", 7},
		{eventlog.Query{Limit: 9, Newest: true}, "[7 5 4 3]", 0},
		{eventlog.Query{Limit: 2, Newest: true}, "[7 5]", 4},
		{eventlog.Query{Limit: 2, Newest: true, Filter: eventlog.Filter{To: 4}}, "[4 3]", 2},
		{eventlog.Query{Limit: 9, Newest: true, Filter: eventlog.Filter{To: 6}}, "[5 4 3]", 0},
	} {
		tt.q.Log, tt.q.Entity, tt.q.Name = eventlog.Changes, "device", "cam-1"
		reads = 0
		page, err := source.Read(t.Context(), tt.q)
		var seqs []uint64
		for _, e := range page.Events {
			seqs = append(seqs, e.Seq)
		}
		if got := fmt.Sprint(seqs); err != nil || got != tt.want || page.Next != tt.next {
			t.Errorf("%+v: got %s, next %d, %v; want %s, %d", tt.q, got, page.Next, err, tt.want, tt.next)
		}
		if reads > 4 { // cam-1 has 4 events
			t.Errorf("%+v: %d events are read", tt.q, reads)
		}
	}
}

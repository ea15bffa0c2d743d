package edgex

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// coreData answers as a table says, and notes the requests.
type coreData struct {
	mu     sync.Mutex
	posted []string         // paths with values
	fails  map[string][]int // the statuses of the first answers, by the body
	header http.Header
	after  func(posted int) // is called for each answer, if it is not nil
}

func (c *coreData) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.posted, c.header = append(c.posted, r.URL.Path+" "+string(body)), r.Header
	status := http.StatusCreated
	if next := c.fails[string(body)]; len(next) > 0 {
		status, c.fails[string(body)] = next[0], next[1:]
	}
	if c.after != nil {
		c.after(len(c.posted))
	}
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"message":"answered %d"}`, status)
}

func newTest(c *coreData) (*Readings, *bytes.Buffer) {
	log := &bytes.Buffer{}
	return New(Options{CoreData: c, Logger: slog.New(slog.NewTextHandler(log, nil)), Now: time.Now, Pause: time.Millisecond}), log
}

func newMessage(device, data string) Message {
	return Message{eventSubjects + "P." + device + ".S", newHeaders("v2", typeJSON), []byte(data)}
}

// TestOrder posts the events of each device in their order, also if core-data refuses one for now. A repeated event is done.
func TestOrder(t *testing.T) {
	c := &coreData{fails: map[string][]int{
		"a1": {http.StatusServiceUnavailable, http.StatusInsufficientStorage, http.StatusTooManyRequests}, "a2": {http.StatusConflict},
		"b0": {http.StatusInternalServerError},
	}}
	r, _ := newTest(c)
	var batch []Message
	for i := range 3 {
		batch = append(batch, newMessage("a", fmt.Sprint("a", i)), newMessage("b", fmt.Sprint("b", i)))
	}
	batch = append(batch, Message{"edgex.telemetry.s.m", nil, []byte("not an event")})
	if err := r.Take(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	for device, want := range map[string]string{"a": "a0 a1 a1 a1 a1 a2", "b": "b0 b0 b1 b2"} {
		var got []string
		for _, one := range c.posted {
			if text, ok := strings.CutPrefix(one, "/api/v2/event/P/"+device+"/S "); ok {
				got = append(got, text)
			}
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("device %s: got %s, want %s", device, text, want)
		}
	}
	if taken, repeated := r.Taken(); taken != 5 || repeated != 1 || len(c.posted) != 10 {
		t.Errorf("%d taken, %d repeated, %d posted", taken, repeated, len(c.posted))
	}
	if got := c.header; got.Get("X-Correlation-Id") != "c-1" || got.Get("Content-Type") != typeJSON {
		t.Errorf("headers %v", got)
	}
}

// TestEnds holds that the end of the context ends the tries.
func TestEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, _ := newTest(&coreData{
		fails: map[string][]int{"x": slices.Repeat([]int{http.StatusServiceUnavailable}, 1000)},
		after: func(posted int) {
			if posted == 5 {
				cancel()
			}
		},
	})
	if err := r.Take(ctx, []Message{newMessage("a", "x")}); err == nil {
		t.Error("the event is done")
	}
}

// TestRefused holds how events that are refused for good are counted, kept and logged.
func TestRefused(t *testing.T) {
	failures := slices.Repeat([]int{http.StatusInternalServerError}, mostFailures)
	c := &coreData{fails: map[string][]int{
		"bad": {http.StatusBadRequest}, "large": {http.StatusRequestEntityTooLarge}, "broken": failures, "odd": {http.StatusForbidden},
	}}
	r, log := newTest(c)
	long := strings.Repeat("x", 1000)
	batch := []Message{
		newMessage("a", "bad"), newMessage("a", "large"), newMessage("a", "broken"), newMessage("a", "odd"), {subject, nil, []byte(long)},
		newMessage("a", "good"),
	}
	if err := r.Take(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	for reason, want := range map[string]uint64{byEvent: 1, bySize: 1, byFailure: 1, byOther: 1, byEnvelope: 1} {
		if got := r.Refusals()[reason]; got != want {
			t.Errorf("%s: %d, want %d", reason, got, want)
		}
	}
	if taken, _ := r.Taken(); taken != 1 {
		t.Errorf("%d taken", taken)
	}
	if n := strings.Count(log.String(), "refused"); n < 2 || strings.Count(log.String(), "subject="+eventSubjects+"P.a.S") != 1 {
		t.Errorf("the log has %s", log)
	}
	for i := range 2 * refusedKept {
		if err := r.Take(t.Context(), []Message{{fmt.Sprint(subject, i), nil, []byte(long)}}); err != nil {
			t.Fatal(err)
		}
	}
	list := r.Refused()
	if len(list) != refusedKept || list[0].Subject != fmt.Sprint(subject, 2*refusedKept-1) || len(list[0].Begin) != refusedBegin {
		t.Errorf("%d are kept, %+v", len(list), list[0])
	}
	if n := strings.Count(log.String(), "\n"); n > loggedMost+2 {
		t.Errorf("%d lines are logged", n)
	}
}

// TestAtOnce holds how many events are posted at a time.
func TestAtOnce(t *testing.T) {
	var mu sync.Mutex
	var once sync.Once
	waiting, most, full := 0, 0, make(chan struct{})
	count := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		waiting += n
		if most = max(most, waiting); waiting == atOnce {
			once.Do(func() { close(full) })
		}
	}
	core := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		count(1)
		<-full
		count(-1)
		w.WriteHeader(http.StatusCreated)
	})
	r := New(Options{CoreData: core, Logger: slog.New(slog.DiscardHandler), Now: time.Now})
	var batch []Message
	for i := range 4 * atOnce {
		batch = append(batch, newMessage(fmt.Sprint("d", i), "x"))
	}
	if err := r.Take(t.Context(), batch); err != nil || most != atOnce {
		t.Errorf("%d at once, want %d; %v", most, atOnce, err)
	}
}

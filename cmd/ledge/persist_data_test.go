package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// TestPersistDataOff posts values and events that reach taps and are not stored, as with EdgeX's PersistData set to false.
func TestPersistDataOff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, "--persist-data=false")
	readings := p.tapSubscribe(t, "ledge.reading.>")
	event := func() answer {
		return p.call(http.MethodPost, p.coreData+"/api/v2/event/sample-numeric/sample-numeric/int32", "application/json", fmt.Sprintf(
			`{"apiVersion":"v2","event":{"apiVersion":"v2","id":%q,"deviceName":"sample-numeric","profileName":"sample-numeric","sourceName":"int32","origin":1,
			"readings":[{"id":%q,"origin":1,"deviceName":"sample-numeric","resourceName":"int32","profileName":"sample-numeric","valueType":"Int32","value":"7"}]}}`, uuid.NewString(), uuid.NewString()))
	}
	short, long, longest := "a picture", strings.Repeat("x", 1<<20), strings.Repeat("y", 9<<20)
	for _, value := range []string{short, long, longest} {
		if got := p.postImage(value); got.status != http.StatusOK {
			t.Fatal(got)
		}
	}
	if got := p.call(http.MethodPost, p.deviceREST+"/api/v2/resource/sample-image/jpeg", "image/jpeg", short, "Idempotency-Key", `"k-1"`); got.status != http.StatusOK {
		t.Fatal(got)
	}
	if got := event(); got.status != http.StatusCreated || got.header.Get("ETag") != "" {
		t.Fatal(got)
	}
	for i, want := range []string{short, long, "", short, `"7"`} {
		m := readings.next(t)
		if got := string(m.Data); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("message %d on %s has %d bytes, want %.40q", i, m.Subject, len(got), want)
		}
		for _, name := range []string{"Nats-Sequence", "Nats-Last-Sequence", "Ledge-Chain"} {
			if m.Header.Get(name) != "" {
				t.Errorf("message %d is not recorded, and has %s: %v", i, name, m.Header)
			}
		}
		if m.Header.Get("ce-id") == "" || m.Header.Get("Nats-Stream") != "LEDGE_READINGS" {
			t.Errorf("message %d has the headers %v", i, m.Header)
		}
	}
	for _, path := range []string{"event", "reading"} {
		if got := p.call(http.MethodGet, p.coreData+"/api/v2/"+path+"/count", "", ""); !strings.Contains(got.body, `"Count":0`) && !strings.Contains(got.body, `"count":0`) {
			t.Errorf("%ss are stored: %s", path, got.body)
		}
	}
	until(t, "the large values to be removed", func() bool { return len(p.payloads()) == 0 })
	p.stop()
	p = start(t, dir)
	readings = p.tapSubscribe(t, "ledge.reading.>")
	if got := p.postImage(short); got.status != http.StatusOK {
		t.Fatal(got)
	}
	if m := readings.next(t); m.Header.Get("Nats-Sequence") != "1" {
		t.Errorf("the first value that is stored has the headers %v", m.Header)
	}
}

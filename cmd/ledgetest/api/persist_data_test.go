package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"ledge/cmd/ledgetest"
)

// TestPersistDataOff posts values and events that reach NATS clients and are not stored, as with EdgeX's PersistData set to false.
func TestPersistDataOff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := ledgetest.Start(t, dir, "--persist-data=false")
	readings := p.SubscribeNATS(t, "ledge.reading.>")
	event := func() ledgetest.Answer {
		return p.Call(http.MethodPost, p.CoreData+"/api/v2/event/sample-numeric/sample-numeric/int32", "application/json", fmt.Sprintf(
			`{"apiVersion":"v2","event":{"apiVersion":"v2","id":%q,"deviceName":"sample-numeric","profileName":"sample-numeric","sourceName":"int32","origin":1,
			"readings":[{"id":%q,"origin":1,"deviceName":"sample-numeric","resourceName":"int32","profileName":"sample-numeric","valueType":"Int32","value":"7"}]}}`, uuid.NewString(), uuid.NewString()))
	}
	short, long, longest := "a picture", strings.Repeat("x", 500<<10), strings.Repeat("y", 1<<20)
	for _, value := range []string{short, long, longest} {
		if got := p.PostImage(value); got.Status != http.StatusOK {
			t.Fatal(got)
		}
	}
	if got := p.Call(http.MethodPost, p.DeviceREST+"/api/v2/resource/sample-image/jpeg", "image/jpeg", short, "Idempotency-Key", `"k-1"`); got.Status != http.StatusOK {
		t.Fatal(got)
	}
	if got := event(); got.Status != http.StatusCreated || got.Header.Get("ETag") != "" {
		t.Fatal(got)
	}
	for i, want := range []string{short, long, "", short, `"7"`} {
		m := readings.Next(t)
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
		if got := p.Call(http.MethodGet, p.CoreData+"/api/v2/"+path+"/count", "", ""); !strings.Contains(got.Body, `"Count":0`) && !strings.Contains(got.Body, `"count":0`) {
			t.Errorf("%ss are stored: %s", path, got.Body)
		}
	}
	ledgetest.Until(t, "the large values to be removed", func() bool { return len(ledgetest.Payloads(p)) == 0 })
	p.Stop()
	p = ledgetest.Start(t, dir)
	readings = p.SubscribeNATS(t, "ledge.reading.>")
	if got := p.PostImage(short); got.Status != http.StatusOK {
		t.Fatal(got)
	}
	if m := readings.Next(t); m.Header.Get("Nats-Sequence") != "1" {
		t.Errorf("the first value that is stored has the headers %v", m.Header)
	}
}

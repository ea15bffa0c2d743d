package bus

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// TestConsumersCannotForge has an auditor make push consumers that deliver to subjects of events, to the subject on which Ledge fills the
// copy, to the API of JetStream, and to the inbox of another client. A viewer hears no event that is not on the log, nothing that
// a consumer repeats has a Nats-Sequence, and the copy stays as it is.
func TestConsumersCannotForge(t *testing.T) {
	t.Parallel()
	s := ledgetest.StartSecured(t)
	viewer, err := s.ConnectNATS(t, s.Tokens[domain.Viewer])
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan *nats.Msg, 1000)
	if _, err := viewer.ChanSubscribe("ledge.>", heard); err != nil || viewer.Flush() != nil {
		t.Fatal(err)
	}
	auditor, err := s.ConnectNATS(t, s.Tokens[domain.Auditor])
	if err != nil {
		t.Fatal(err)
	}
	for i, subject := range []string{
		"ledge.event.device.evil.added", "$LEDGE.feed.event.device.evil.added", "$LEDGE.feed.reading.evil.evil.evil",
		"$JS.API.STREAM.DELETE.LEDGE_EVENTS", "_INBOX.other",
	} {
		name := fmt.Sprint("push-", i)
		request := fmt.Sprintf(`{"stream_name":"LEDGE_EVENTS","config":
			{"name":%q,"durable_name":%q,"deliver_subject":%q,"ack_policy":"none","deliver_policy":"all"}}`, name, name, subject)
		m, err := auditor.Request("$JS.API.CONSUMER.CREATE.LEDGE_EVENTS."+name, []byte(request), ledgetest.Timeout)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.120s", subject, m.Data)
	}
	operator := s.Tokens[domain.Operator]
	for i := range 20 {
		a := s.Send(operator, http.MethodPatch, s.Metadata+"/api/v2/device", "application/json",
			fmt.Sprintf(`[{"apiVersion":"v2","device":{"name":"sample-image","description":"change %d"}}]`, i))
		if a.Status != http.StatusMultiStatus {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	onLog, readings := map[string]bool{}, 0
	for _, f := range ledgetest.Facts(t, s.Dir) {
		if onLog[f.Subject] = true; strings.HasPrefix(f.Subject, "ledge.reading.") {
			readings++
		}
	}
	for changes := 0; changes < 20; {
		select {
		case m := <-heard:
			if !onLog[m.Subject] || strings.Contains(m.Subject, "evil") {
				t.Errorf("heard %s", m.Subject)
			}
			if m.Header.Get("Nats-Sequence") != "" && strings.HasSuffix(m.Subject, "sample-image.updated") {
				changes++
			}
		case <-time.After(ledgetest.Timeout):
			t.Fatalf("%d changes heard", changes)
		}
	}
	var info struct{ State struct{ Messages int } }
	m, err := auditor.Request("$JS.API.STREAM.INFO.LEDGE_READINGS", nil, ledgetest.Timeout)
	if err != nil || json.Unmarshal(m.Data, &info) != nil || info.State.Messages != readings {
		t.Errorf("the copy of the readings has %d messages, and the log %d; %v", info.State.Messages, readings, err)
	}
}
